# SPDX-License-Identifier: Apache-2.0
"""NICs that read GPU memory."""

import pytest
from made_tables import MIB, appraised, perftest, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (perftest([(MIB, 9e3)], gpu="NVIDIA A30"), "1x200g", True),
        (perftest([(MIB, 22e3)], gpu="NVIDIA A30"), "1x200g", False),
        (perftest([(MIB, 9e3)]), "1x200g", False),  # host memory
    ],
)
def test_gpu_memory_below_the_port(text: str, machine: str, said: bool) -> None:
    assert ("nic_reads_gpu" in rules(appraised(text, machine))) is said
