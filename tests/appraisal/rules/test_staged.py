# SPDX-License-Identifier: Apache-2.0
"""GPU memory in pieces."""

import pytest
from made_tables import MIB, appraised, osu, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (osu("Bandwidth", [(MIB, 1.7e3), (4 * MIB, 1.8e3)], "DD"), "", True),
        (osu("Bandwidth", [(MIB, 1.7e3), (4 * MIB, 1.8e3)], "HD"), "", True),
        (osu("Bandwidth", [(MIB, 1.7e3), (4 * MIB, 1.8e3)]), "", False),  # host memory
        (osu("Bandwidth", [(MIB, 9e3), (4 * MIB, 9e3)], "DD"), "", False),
    ],
)
def test_messages_of_gpu_memory_are_slow(text: str, machine: str, said: bool) -> None:
    assert ("staged" in rules(appraised(text, machine))) is said
