# SPDX-License-Identifier: Apache-2.0
"""NVLink that may join hosts."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, rules

GB200 = "NVIDIA GB200"


@pytest.mark.parametrize(
    ("text", "machine", "state", "said"),
    [
        (nccl(GB200, [bus_us(512 * MIB, 820, 72)], hosts=18, per_host=4), "", "near", False),
        (nccl(GB200, [bus_us(512 * MIB, 300, 72)], hosts=18, per_host=4), "", "unsure", True),
        (nccl(GB200, [bus_us(512 * MIB, 1200, 144)], hosts=36, per_host=4), "", "unsure", True),
        (nccl(GB200, [bus_us(512 * MIB, 300, 4)], per_host=4), "", "below", False),
        (nccl(H100, [bus_us(512 * MIB, 100, 32)], hosts=4), "8x400g", "below", False),
    ],
)
def test_nvlink_may_join_hosts(text: str, machine: str, state: str, said: bool) -> None:
    appraisal = appraised(text, machine)
    assert ("nvlink_domain" in rules(appraisal)) is said
    assert appraisal.state == state
