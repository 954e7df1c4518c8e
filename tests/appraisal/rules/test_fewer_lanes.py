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
        (_copies(13.2), "", "3.0 x16, 4.0 x8 or 5.0 x4"),
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


def test_the_pair_whose_link_is_slower_than_others_is_named() -> None:
    """Exactly half of what the GPU beside it has: lanes, and neither other links nor sockets."""
    appraisal = appraised(nvbandwidth(H100, "host_to_device_memcpy_ce", [["55.31", "27.62"]]))
    assert rules(appraisal) == ["fewer_lanes", "unlike_pairs"]
    said = "host to gpu1 has the rate of PCIe 4.0 x16 or 5.0 x8, and the best pair 55.3 GB/s"
    assert f"Likely: {said}." in lines(appraisal)
    assert "pcie.link.width.current" in appraisal.command


def test_a_kernel_may_be_slower_than_the_link() -> None:
    """At the rate of fewer lanes, too."""
    text = nvbandwidth(H100, "host_to_device_memcpy_sm", [["27.60"]])
    assert rules(appraised(text))[0] == "kernel_copy"
