# SPDX-License-Identifier: Apache-2.0
"""Few repetitions."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(H100, [bus_us(512 * MIB, 100, 8)], iterations=1), "", True),
        (nccl(H100, [bus_us(512 * MIB, 100, 8)], iterations=20), "", False),
    ],
)
def test_a_mean_of_few_is_no_rate(text: str, machine: str, said: bool) -> None:
    assert ("few_iterations" in rules(appraised(text, machine))) is said
