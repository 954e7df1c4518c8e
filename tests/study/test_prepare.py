# SPDX-License-Identifier: Apache-2.0
"""Which paths of a machine a study takes."""

from pathlib import Path

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.machine.model import Machine
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.study.prepare import fitting_path, select_paths

MACHINES = Path(__file__).parent.parent / "machines"


@pytest.fixture(scope="module")
def dgx() -> Machine:
    return from_sysfs(MACHINES / "dgx-h100.txt")


def test_one_path_of_each_kind_or_all_pairs(dgx: Machine) -> None:
    usual = {path.id for path in select_paths(dgx, [], [])}
    assert {"host-host same-numa", "gpu-gpu same-gpu", "gpu-gpu nvlink", "host-gpu near"} <= usual
    assert not [one for one in usual if " pair " in one]
    pairs = [path.id for path in select_paths(dgx, [], [], all_pairs=True)]
    assert sum(one.startswith("gpu-gpu pair ") for one in pairs) == 8 * 7 // 2
    assert all(" pair " in one for one in pairs)


def test_all_pairs_need_gpus(dgx: Machine) -> None:
    bare = msgspec.structs.replace(dgx, gpus=[], gpu_links=[], gpu_notes=["no driver"])
    with pytest.raises(UserError, match=r"there is none to be used \(no driver\)"):
        select_paths(bare, [], [], all_pairs=True)


def test_one_pair_can_be_named(dgx: Machine) -> None:
    (path,) = select_paths(dgx, [], ["gpu-gpu pair 2-5"])
    assert path.ends[0].gpu != path.ends[1].gpu
    with pytest.raises(UserError, match="unknown path 'gpu-gpu pair 2-9'"):
        select_paths(dgx, [], ["gpu-gpu pair 2-9"])


def test_a_launch_takes_the_first_path_that_its_buffers_fit(dgx: Machine) -> None:
    paths = select_paths(dgx, [], [])
    assert fitting_path(paths, "H,H")[0].id == "host-host same-numa"
    path, (one, other) = fitting_path(paths, "D,H")
    assert (path.id, one.memory, other.memory) == ("host-gpu near", "gpu", "host")
    with pytest.raises(UserError, match="buffers M,M need a GPU, and none of the paths host-host"):
        fitting_path(paths[:1], "M,M")
