# SPDX-License-Identifier: Apache-2.0
"""perftest at its default size."""

import pytest
from made_tables import MIB, appraised, osu, perftest, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (perftest([(65536, 9e3)]), "4x400g", True),
        (perftest([(65536, 9e3), (MIB, 9e3)]), "4x400g", False),
        (osu("Bandwidth", [(65536, 9e3)]), "", False),
    ],
)
def test_one_size_of_64_kib_is_small(text: str, machine: str, said: bool) -> None:
    assert ("few_bytes" in rules(appraised(text, machine))) is said
