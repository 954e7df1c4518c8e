# SPDX-License-Identifier: Apache-2.0
"""Alltoall between hosts."""

import pytest
from made_tables import H100, MIB, appraised, nccl, rules


def _alltoall(gbs: float, hosts: int) -> str:
    size, ranks = 512 * MIB, 8 * hosts
    us = round(size * (ranks - 1) / ranks / gbs / 1e3, 2)
    return nccl(H100, [(size, us)], hosts=hosts, operation="alltoall")


@pytest.mark.parametrize(
    ("text", "state", "said"),
    [
        (_alltoall(54, 6), "near", False),
        (_alltoall(38, 6), "unsure", True),
        (_alltoall(20, 6), "below", False),
        (_alltoall(85, 2), "near", False),  # half of the blocks stay in the host
        (_alltoall(300, 1), "near", False),
    ],
)
def test_alltoall_is_bounded_by_the_nic_of_each_gpu(text: str, state: str, said: bool) -> None:
    appraisal = appraised(text, "" if "node1" not in text else "8x400g")
    assert ("exchange" in rules(appraisal)) is said
    assert appraisal.state == state
