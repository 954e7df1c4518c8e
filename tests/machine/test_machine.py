# SPDX-License-Identifier: Apache-2.0
"""What follows from the links of a machine, of recorded ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine.machine import Machine
from nearpeak.machine.sysfs import from_sysfs

Recorded = Callable[[str], Path]


def receives(machine: Machine, gpus: int) -> float | None:
    """What one of so many GPUs receives."""
    return machine.gpu_receives_gbs([gpu.uuid for gpu in machine.gpus[:gpus]])


@pytest.mark.parametrize(("name", "gbs"), [("dgx-a100", 300.0), ("dgx-h100", 450.0)])
def test_behind_switches_a_gpu_receives_over_its_own_lanes(
    recorded: Recorded, name: str, gbs: float
) -> None:
    machine = from_sysfs(recorded(name))
    assert [receives(machine, gpus) for gpus in (2, 4, 8)] == [gbs] * 3


def test_links_of_their_own_and_other_links_do_not_limit(recorded: Recorded) -> None:
    summit = from_sysfs(recorded("power9-ac922"))
    assert receives(summit, 2) is receives(summit, len(summit.gpus)) is None
    assert receives(from_sysfs(recorded("pcie-only")), 2) is None
