# SPDX-License-Identifier: Apache-2.0
"""Copies by a kernel."""

import pytest
from made_tables import H100, appraised, nvbandwidth, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nvbandwidth(H100, "host_to_device_memcpy_sm", [["35.00"]]), "", True),
        (nvbandwidth(H100, "host_to_device_memcpy_ce", [["35.00"]]), "", False),
        (
            nvbandwidth(
                H100, "device_to_device_memcpy_read_sm", [["N/A", "90.00"], ["90.00", "N/A"]]
            ),
            "h100x8-nvlink",
            False,
        ),
    ],
)
def test_host_copies_by_a_kernel_are_of_the_kernel(text: str, machine: str, said: bool) -> None:
    assert ("kernel_copy" in rules(appraised(text, machine))) is said
