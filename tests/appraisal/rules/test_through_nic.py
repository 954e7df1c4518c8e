# SPDX-License-Identifier: Apache-2.0
"""Messages of one host through a NIC."""

import pytest
from made_tables import MIB, appraised, osu, rules

ONE_HOST = "srun -N1 -n2 osu_bw D D\n"


def _rate(gbs: float) -> str:
    return osu("Bandwidth", [(MIB, 1e3 * gbs), (4 * MIB, 1e3 * gbs)], "DD")


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (ONE_HOST + _rate(24.0), "1x200g", True),
        (ONE_HOST + _rate(24.0), "gh200x4-nv6+4x200g", True),
        (ONE_HOST + _rate(80.0), "gh200x4-nv6+4x200g", False),
        (ONE_HOST + _rate(24.0), "", False),
        (_rate(24.0), "1x200g", False),  # perhaps between hosts
    ],
)
def test_one_host_at_the_rate_of_a_nic(text: str, machine: str, said: bool) -> None:
    assert ("through_nic" in rules(appraised(text, machine))) is said
