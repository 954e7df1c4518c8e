# SPDX-License-Identifier: Apache-2.0
"""The command lines of each launcher, word for word; real launches are in test_launch.py."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.errors import UserError
from nearpeak.libraries.launch import command_line, launcher_of
from nearpeak.libraries.launchers import srun
from nearpeak.libraries.library import Launch, Library, Rank, Settings
from nearpeak.machine import allocation
from nearpeak.machine.tree import format_list

HERE = [Rank(cpus=[2]), Rank(cpus=[0, 64]), Rank(cpus=[0, 64])]
APART = [Rank(cpus=[2], host="a"), Rank(cpus=[3], host="b"), Rank(cpus=[4], host="a")]
# What binds each rank, of a variable of its environment, and CPU lists, so many.
BOUND = (
    "sh -c i=$((${{{0}:?}} % {1})); for cpus in {2}; do "
    '[ $i = 0 ] && exec taskset -c $cpus "$@"; i=$((i - 1)); done sh p 1'
)
IN_ORDER = [Rank(cpus=[cpu], host=host) for host in "ba" for cpu in (2, 3)]
IN_JOB = allocation.Allocation("7", ("a", "b"), "a")
SETTINGS = Settings(name="x", env={"UCX_TLS": "rc"}, flags=["--flag", "1"])


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


@pytest.fixture
def in_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two nodes, of which this host is the first."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(allocation, "current", lambda: IN_JOB)


def made(family: str, launcher: str, version: str = "5.0.1") -> Library:
    return made_library(
        family,
        family=family,
        version=version,
        prefix=Path("/opt/mpi"),
        launcher=Path(launcher),
        libmpi=Path("/opt/mpi/lib/libmpi.so.12"),
    )


def words(
    family: str,
    launcher: str,
    ranks: list[Rank],
    *,
    version: str = "5.0.1",
    remote_shell: str | None = None,
) -> str:
    library = made(family, launcher, version)
    launch = Launch(program=["p", "1"], ranks=ranks, settings=SETTINGS, remote_shell=remote_shell)
    return " ".join(command_line(library, launch).argv)


@pytest.mark.parametrize(
    ("family", "version", "launcher"),
    [
        ("openmpi", "5.0.11", "prrte"),
        ("openmpi", "6.0.0a1", "prrte"),
        ("openmpi", "10.1", "prrte"),
        ("openmpi", "4.1.4", "orte"),
        ("openmpi", "1.10.7", "orte"),
        ("spectrum", "10.4.0.6", "orte"),
        ("mpich", "4.0.2", "hydra"),
    ],
)
def test_what_starts_a_version(family: str, version: str, launcher: str) -> None:
    assert launcher_of(made(family, "mpirun", version)) == launcher


@pytest.mark.parametrize("root", [True, False])
def test_prrte_here(monkeypatch: pytest.MonkeyPatch, root: bool) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    assert words("openmpi", "mpirun", HERE) == (
        f"mpirun {'--allow-run-as-root ' if root else ''}--map-by slot:OVERSUBSCRIBE "
        "--bind-to none -x LD_LIBRARY_PATH -x UCX_TLS --flag 1 "
        f"-n 3 {BOUND.format('OMPI_COMM_WORLD_RANK', 3, '2 0,64 0,64')}"
    )


def test_prrte_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    bound = BOUND.format("OMPI_COMM_WORLD_RANK", 3, "2 3 4")
    assert words("openmpi", "mpirun", APART, version="5.0.1", remote_shell="/sh") == (
        "mpirun --map-by slot:OVERSUBSCRIBE --bind-to none --prtemca plm_ssh_agent /sh "
        f"-x LD_LIBRARY_PATH -x UCX_TLS --flag 1 -n 1 --host a:2 {bound} : "
        f"-n 1 --host b:1 {bound} : -n 1 --host a:2 {bound}"
    )


def test_prrte_fills_hosts_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    bound = BOUND.format("OMPI_COMM_WORLD_RANK", 2, "2 3")
    line = words("openmpi", "mpirun", [*IN_ORDER, *IN_ORDER[2:]])
    assert line.endswith(f" --flag 1 -n 6 --host b:2,a:4 {bound}")


def test_orte_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert words("openmpi", "mpirun", HERE, version="4.1.6") == (
        "mpirun --map-by slot:OVERSUBSCRIBE --bind-to none -x LD_LIBRARY_PATH -x UCX_TLS --flag 1 "
        f"-n 3 {BOUND.format('OMPI_COMM_WORLD_RANK', 3, '2 0,64 0,64')}"
    )


def test_orte_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one context: in others there would be no variables."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    bound = BOUND.format("OMPI_COMM_WORLD_RANK", 3, "2 3 4")
    assert words("openmpi", "mpirun", APART, version="4.1.6", remote_shell="/sh") == (
        "mpirun --map-by seq:OVERSUBSCRIBE --bind-to none --mca plm_rsh_agent /sh "
        f"-x LD_LIBRARY_PATH -x UCX_TLS --flag 1 -n 3 --host a,b,a {bound}"
    )


def test_hydra() -> None:
    assert words("mpich", "mpiexec", HERE) == (
        f"mpiexec --flag 1 -n 3 {BOUND.format('PMI_RANK', 3, '2 0,64 0,64')}"
    )
    tail = f"-n 3 {BOUND.format('PMI_RANK', 3, '2 3 4')}"
    assert words("mpich", "mpiexec", APART) == f"mpiexec -ppn 1 -hosts a,b,a --flag 1 {tail}"
    assert words("intel", "mpiexec", APART, remote_shell="/sh") == (
        f"mpiexec -launcher rsh -launcher-exec /sh -ppn 1 -hosts a,b,a --flag 1 {tail}"
    )
    assert " -ppn 2 -hosts b,a " in words("mpich", "mpiexec", IN_ORDER)
    with pytest.raises(UserError, match="as many ranks on each host"):
        words("mpich", "mpiexec", IN_ORDER[:3])


def test_unbound_ranks_run_as_they_are() -> None:
    assert words("mpich", "mpiexec", [Rank(cpus=[])] * 2) == "mpiexec --flag 1 -n 2 p 1"


def test_ranks_bound_alike_need_no_list() -> None:
    alike = [Rank(cpus=[64, 0, 1, 2])] * 2
    assert words("mpich", "mpiexec", alike) == "mpiexec --flag 1 -n 2 taskset -c 0-2,64 p 1"


@pytest.mark.parametrize(
    ("family", "launcher"),
    [("openmpi", "mpirun"), ("mpich", "mpiexec"), ("intel", "mpiexec"), ("cray", "srun")],
)
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.usefixtures("in_job")
def test_a_line_of_4096_ranks(family: str, launcher: str, alike: bool) -> None:
    """128 hosts of 32 ranks: bound alike on each, or at most every other way."""
    ranks = [
        Rank(
            cpus=[8 * core, 8 * core + 256] if alike or host % 3 else [core, *range(64, 70)],
            host=f"rack{host // 16:02}-node{host:04}.cluster",
        )
        for host in range(128)
        for core in range(32)
    ]
    line = words(family, launcher, ranks)
    assert len(line) < 100 * 1024
    assert line.count("p 1") == 1
    if alike:
        assert len(line) < 4096


def test_orte_takes_4096_ranks() -> None:
    """The longest word that a program takes is of 128 KiB (execve(2))."""
    names = [f"rack{host // 16:02}-node{host:04}.cluster" for host in range(128)]
    ranks = [Rank(cpus=[core], host=name) for name in names for core in range(32)]
    line = command_line(made("openmpi", "mpirun", "4.1.6"), Launch(program=["p"], ranks=ranks))
    assert max(map(len, line.argv)) < 128 * 1024


@pytest.mark.parametrize(
    ("family", "version", "here", "apart"),
    [
        ("mpich", "4.2", "-launcher fork -hosts localhost", "-launcher slurm -ppn 1 -hosts a,b"),
        ("openmpi", "5.0.1", "--prtemca ras ^slurm", "--prtemca plm slurm"),
        ("openmpi", "4.1.6", "--mca ras ^slurm", "--mca plm slurm"),
    ],
)
@pytest.mark.usefixtures("in_job")
def test_a_librarys_own_launcher_in_a_job(family: str, version: str, here: str, apart: str) -> None:
    """It would start ranks on all nodes of the job, and call others by ssh."""
    assert f" {here} " in words(family, "mpirun", HERE, version=version)
    line = words(family, "mpirun", IN_ORDER[1:3], version=version)
    assert f" {apart.replace('a,b', 'b,a')} " in line
    assert "ssh" not in line
    line = words(family, "mpirun", APART, version=version, remote_shell="/sh")
    assert "slurm" not in line


@pytest.mark.usefixtures("in_job")
def test_steps_of_a_job_do_not_wait_for_others() -> None:
    launch = Launch(program=["p"], ranks=HERE)
    assert command_line(made("mpich", "mpiexec"), launch).env["SLURM_OVERLAP"] == "1"


@pytest.mark.usefixtures("in_job")
def test_srun_stays_on_this_node_and_speaks_what_the_library_does() -> None:
    library = msgspec.structs.replace(made("cray", "srun"), pmi="pmi2")
    argv = command_line(library, Launch(program=["p"], ranks=HERE[:2])).argv
    assert argv[3:6] == ["--ntasks=2", "--mpi=pmi2", "--nodes=1"]
    assert argv[6] == "--nodelist=a"


@pytest.mark.parametrize(
    "listed",
    [
        "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\n"
        "specific pmix plugin versions available: pmix_v4\n",
        "srun: MPI types are...\nsrun: pmix\nsrun: none\nsrun: pmi2\n",
    ],
    ids=["Slurm 22", "Slurm 19"],
)
def test_what_srun_offers(tmp_path: Path, listed: str) -> None:
    stand_in = tmp_path / "srun"
    stand_in.write_text(f"#!/bin/sh\ncat >&2 <<E\n{listed}E\n")
    stand_in.chmod(0o755)
    assert srun.offered(stand_in) == ["pmix", "none", "pmi2"]


@pytest.mark.usefixtures("in_job")
def test_srun() -> None:
    assert words("cray", "srun", APART) == (
        "srun --cpu-bind=none --export=ALL --ntasks=3 --distribution=arbitrary "
        f"--nodelist=a,b,a --nodes=2 --flag 1 {BOUND.format('SLURM_PROCID', 3, '2 3 4')}"
    )
    assert "--nodelist=b*2,a*2 --nodes=2 " in words("cray", "srun", IN_ORDER)
    with pytest.raises(UserError, match="srun takes no remote shell"):
        words("cray", "srun", APART, remote_shell="/sh")


def test_srun_asks_for_no_job_of_its_own() -> None:
    with pytest.raises(UserError, match="srun starts cray in a Slurm job alone, and this is none"):
        words("cray", "srun", APART)


@pytest.mark.usefixtures("in_job")
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
    library = made("cray", str(stand_in))
    ranks = [Rank(cpus=some) for some in (cpus[-1:], cpus[:1], cpus[:2])]
    program = ["grep", "Cpus_allowed_list", "/proc/self/status"]
    argv = command_line(library, Launch(program=program, ranks=ranks)).argv
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    lists = [line.split(":")[1].strip() for line in done.stdout.splitlines()]
    assert lists == [format_list(rank.cpus) for rank in ranks], done.stderr
