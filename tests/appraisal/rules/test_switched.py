# SPDX-License-Identifier: Apache-2.0
"""NVSwitch adds up."""

import pytest
from made_tables import MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl("NVIDIA H800", [bus_us(512 * MIB, 215, 8)]), "", True),
        (nccl("NVIDIA H800", [bus_us(512 * MIB, 150, 8)]), "", False),
        (
            nccl("NVIDIA A100-SXM4-40GB", [bus_us(512 * MIB, 300, 8)]),
            "",
            False,
        ),  # its switch adds nothing up
    ],
)
def test_allreduce_exceeds_rings(text: str, machine: str, said: bool) -> None:
    assert ("switched" in rules(appraised(text, machine))) is said
