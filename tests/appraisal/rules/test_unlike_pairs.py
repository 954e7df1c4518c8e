# SPDX-License-Identifier: Apache-2.0
"""Pairs that are unlike."""

import pytest
from made_tables import H100, appraised, nvbandwidth, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nvbandwidth(H100, "host_to_device_memcpy_ce", [["55.00", "25.00"]]), "", True),
        (nvbandwidth(H100, "host_to_device_memcpy_ce", [["30.00", "25.00"]]), "", False),
    ],
)
def test_the_lowest_pair_is_far_behind(text: str, machine: str, said: bool) -> None:
    assert ("unlike_pairs" in rules(appraised(text, machine))) is said


def test_the_ends_of_the_lowest_pair_are_named() -> None:
    """No lanes have this rate."""
    rates = [["55.30"] * 7 + ["18.00"]]
    appraisal = appraised(nvbandwidth(H100, "host_to_device_memcpy_ce", rates))
    assert appraisal.state == "below"
    assert appraisal.reasons[0].text.startswith("host to gpu7 is the lowest pair")
