# SPDX-License-Identifier: Apache-2.0
"""Fewer or older lanes of PCIe."""

import pytest
from made_tables import H100, MIB, appraised, nvbandwidth, perftest, rules

from nearpeak.report.appraisals import lines


def _copies(gbs: float) -> str:
    return nvbandwidth(H100, "host_to_device_memcpy_ce", [[f"{gbs:.2f}"]])


@pytest.mark.parametrize(
    ("text", "machine", "lanes"),
    [
        (_copies(24.9), "", "4.0 x16 or 5.0 x8"),
        (_copies(13.2), "", "3.0 x16 or 4.0 x8"),
        (perftest([(MIB, 24_400.0)]), "1x400g", "4.0 x16 or 5.0 x8"),
        (_copies(40.0), "", ""),  # between two rates
        (_copies(54.0), "", ""),
    ],
)
def test_the_rate_of_other_lanes(text: str, machine: str, lanes: str) -> None:
    appraisal = appraised(text, machine)
    assert ("fewer_lanes" in rules(appraisal)) is bool(lanes)
    said = f"Likely: the rate of PCIe {lanes}: see what the link has."
    assert (appraisal.state, said in lines(appraisal)) == ("below", True) if lanes else True
