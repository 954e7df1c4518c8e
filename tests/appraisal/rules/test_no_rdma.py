# SPDX-License-Identifier: Apache-2.0
"""Messages in host memory far below a NIC."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, osu, rules


def _rate(gbs: float, buffers: str = "") -> str:
    return osu("Bandwidth", [(MIB, 1e3 * gbs), (4 * MIB, 1e3 * gbs)], buffers)


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (_rate(2.5), "1x200g", True),
        (_rate(2.5), "4x200g", True),
        (_rate(9.0), "1x200g", False),
        (_rate(2.5), "", False),
        (_rate(2.5, "DD"), "1x200g", False),  # perhaps staged
        (nccl(H100, [bus_us(512 * MIB, 14, 32)], hosts=4), "8x400g", True),
        (nccl(H100, [bus_us(512 * MIB, 140, 32)], hosts=4), "8x400g", False),
        ("srun -N1 -n2 osu_bw\n" + _rate(2.5), "1x200g", False),
    ],
)
def test_less_than_a_fifth_of_a_nic_is_tcp(text: str, machine: str, said: bool) -> None:
    appraisal = appraised(text, machine)
    assert ("no_rdma" in rules(appraisal)) is said
    assert appraisal.state == "below" or not said
