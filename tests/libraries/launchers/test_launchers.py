# SPDX-License-Identifier: Apache-2.0
"""The command lines of each launcher, word for word; real launches are in test_launch.py."""

import os
import subprocess
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.model import Launch, Library, Rank, Settings

HERE = [Rank(cpus=[2]), Rank(cpus=[0, 64]), Rank(cpus=[0, 64])]
APART = [Rank(cpus=[2], host="a"), Rank(cpus=[3], host="b"), Rank(cpus=[4], host="a")]
SETTINGS = Settings(name="x", env={"UCX_TLS": "rc"}, flags=["--flag", "1"])


def words(
    family: str,
    launcher: str,
    ranks: list[Rank],
    *,
    version: str = "5.0.1",
    remote_shell: str | None = None,
) -> str:
    library = Library(
        name=family,
        family=family,
        version=version,
        version_text="",
        abi="mpich",
        prefix=Path("/opt/mpi"),
        origin="given",
        launcher=Path(launcher),
        libmpi=Path("/opt/mpi/lib/libmpi.so.12"),
    )
    launch = Launch(program=["p", "1"], ranks=ranks, settings=SETTINGS, remote_shell=remote_shell)
    return " ".join(command_line(library, launch).argv)


@pytest.mark.parametrize("root", [True, False])
def test_prrte_here(monkeypatch: pytest.MonkeyPatch, root: bool) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    assert words("openmpi", "mpirun", HERE) == (
        f"mpirun {'--allow-run-as-root ' if root else ''}--map-by slot:OVERSUBSCRIBE "
        "--bind-to none -x LD_LIBRARY_PATH -x UCX_TLS --flag 1 "
        "-n 1 taskset -c 2 p 1 : -n 2 taskset -c 0,64 p 1"
    )


@pytest.mark.parametrize(
    ("version", "agent"),
    [("5.0.1", "--prtemca plm_ssh_agent /sh"), ("4.1.6", "--mca plm_rsh_agent /sh")],
)
def test_prrte_apart(monkeypatch: pytest.MonkeyPatch, version: str, agent: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert words("openmpi", "mpirun", APART, version=version, remote_shell="/sh") == (
        f"mpirun --map-by slot:OVERSUBSCRIBE --bind-to none {agent} "
        "-x LD_LIBRARY_PATH -x UCX_TLS --flag 1 -n 1 --host a:2 taskset -c 2 p 1 : "
        "-n 1 --host b:1 taskset -c 3 p 1 : -n 1 --host a:2 taskset -c 4 p 1"
    )


def test_hydra() -> None:
    assert words("mpich", "mpiexec", HERE) == (
        "mpiexec --flag 1 -n 1 taskset -c 2 p 1 : -n 2 taskset -c 0,64 p 1"
    )
    tail = "-n 1 taskset -c 2 p 1 : -n 1 taskset -c 3 p 1 : -n 1 taskset -c 4 p 1"
    assert words("mpich", "mpiexec", APART) == f"mpiexec -hosts a:1,b:1,a:1 --flag 1 {tail}"
    assert words("intel", "mpiexec", APART, remote_shell="/sh") == (
        f"mpiexec -launcher rsh -launcher-exec /sh -hosts a:1,b:1,a:1 --flag 1 {tail}"
    )


def test_unbound_ranks_run_as_they_are() -> None:
    assert words("mpich", "mpiexec", [Rank(cpus=[])] * 2) == "mpiexec --flag 1 -n 2 p 1"


def test_srun() -> None:
    assert words("cray", "srun", APART) == (
        "srun --cpu-bind=none --export=ALL --ntasks=3 --distribution=arbitrary "
        "--nodelist=a,b,a --nodes=2 --flag 1 sh -c "
        'case "$SLURM_PROCID" in 0) exec taskset -c 2 "$@" ;; 1) exec taskset -c 3 "$@" ;; '
        '2) exec taskset -c 4 "$@" ;; esac sh p 1'
    )
    with pytest.raises(UserError, match="srun takes no remote shell"):
        words("cray", "srun", APART, remote_shell="/sh")


def test_what_srun_starts_binds_itself(tmp_path: Path) -> None:
    """srun itself stands in: it starts its command once a task, as Slurm does."""
    stand_in = tmp_path / "srun"
    stand_in.write_text(
        "#!/bin/bash\n"
        'while [ "$1" != sh ]; do case "$1" in --ntasks=*) n=${1#*=} ;; esac; shift; done\n'
        'for ((i = 0; i < n; i++)); do SLURM_PROCID=$i "$@"; done\n'
    )
    stand_in.chmod(0o755)
    cpus = sorted(os.sched_getaffinity(0))
    library = Library(
        name="cray",
        family="cray",
        version="8",
        version_text="",
        abi="mpich",
        prefix=Path("/opt/mpi"),
        origin="given",
        launcher=stand_in,
        libmpi=Path("/opt/mpi/lib/libmpi.so.12"),
    )
    ranks = [Rank(cpus=cpus[-1:]), Rank(cpus=cpus[:1]), Rank(cpus=[])]
    program = ["grep", "Cpus_allowed_list", "/proc/self/status"]
    argv = command_line(library, Launch(program=program, ranks=ranks)).argv
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    lists = [line.split(":")[1].strip() for line in done.stdout.splitlines()]
    assert lists[:2] == [str(cpus[-1]), str(cpus[0])], done.stderr
    assert len(lists) == 3
