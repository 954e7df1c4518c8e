# SPDX-License-Identifier: Apache-2.0
"""The mpiexec of PALS, with a stand-in that does what is documented of it."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries import launchers

Placed = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def mpiexec(stand_in: Callable[[str, Path], Path], tmp_path: Path) -> Path:
    return stand_in("pals_stand_in.py", tmp_path / "cray" / "pals" / "1.8" / "bin" / "mpiexec")


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBS_JOBID", "7.server")


@pytest.mark.parametrize("hosts", ["ab", "ba", "aabb", "bbaa"])
@pytest.mark.usefixtures("job")
def test_each_rank_runs_on_its_host_and_cpus(mpiexec: Path, placed: Placed, hosts: str) -> None:
    wanted, ran = placed(mpiexec, "cray", list(hosts))
    assert ran == wanted


@pytest.mark.usefixtures("job")
def test_ranks_of_one_host_stay_on_it(mpiexec: Path, placed: Placed) -> None:
    _, ran = placed(mpiexec, "cray", [None, None])
    assert [host for host, _ in ran] == [socket.gethostname()] * 2


@pytest.mark.usefixtures("job")
def test_what_it_cannot_start(
    mpiexec: Path, words: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for hosts in ("aab", "abab"):
        with pytest.raises(UserError, match="as many ranks on each host, one host after the other"):
            words(mpiexec, "cray", list(hosts))
    with pytest.raises(UserError, match="mpiexec takes no remote shell"):
        words(mpiexec, "cray", ["a", "b"], remote_shell="/sh")
    monkeypatch.delenv("PBS_JOBID")
    with pytest.raises(UserError, match="mpiexec starts cray in a PBS job alone"):
        words(mpiexec, "cray", ["a", "b"])


def test_another_mpiexec_is_not_that_of_pals(
    stand_in: Callable[[str, Path], Path], mpiexec: Path, tmp_path: Path
) -> None:
    other = stand_in("pals_stand_in.py", tmp_path / "mpich" / "bin" / "mpiexec")
    assert launchers.of_job(other) is None
    assert launchers.of_job(mpiexec) == "pals"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpiexec").symlink_to(mpiexec)
    assert launchers.of_job(tmp_path / "bin" / "mpiexec") == "pals"
