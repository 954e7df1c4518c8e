# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run` in jobs of a real Slurm: which launcher starts the ranks, and where they run."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.launch import environment
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
def bare(installed: Callable[[str], Any], tmp_path: Path) -> Callable[[str], Path]:
    """The prefix of a library without its launcher."""

    def make(name: str) -> Path:
        library = installed(name)
        build_mpi(library)
        (tmp_path / name).mkdir()
        (tmp_path / name / "lib").symlink_to(library.prefix / "lib")
        if name == "intel":  # its own is not in the wheel: MPICH's stands in for it, at its place
            own = tmp_path / name / "libfabric/lib/libfabric.so.1"
            own.parent.mkdir(parents=True)
            own.symlink_to(environment(library)["I_MPI_OFI_LIBRARY"])
        return tmp_path / name

    return make


def with_srun(folder: Path, offered: str, otherwise: str) -> str:
    """A PATH whose srun offers these types of PMI, and else does what is given: `srun` is the real
    one."""
    real = shutil.which("srun")
    (folder / "srun").write_text(
        f'#!/bin/sh\nsrun() {{ exec {real} "$@"; }}\n'
        f'case "$*" in --mpi=list) echo "{offered}" ;; *) {otherwise} ;; esac\n'
    )
    (folder / "srun").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize("name", ["mpich", "openmpi", "openmpi-4"])
def test_between_the_nodes_of_a_job(slurm: Any, installed: Callable[[str], Any], name: str) -> None:
    library = installed(name)
    build_mpi(library)
    sent = slurm.hosts.bytes_sent()
    done = slurm.run(slurm.job(2, [*RUN, "--mpi", library.name]))
    assert done.returncode == 0, done.stderr
    launcher = library.launcher.name
    assert f"{library.name} is started by {launcher} on nearpeak-a and nearpeak-b of" in done.stderr
    assert "Path host-host two-nodes: nearpeak-a to nearpeak-b" in done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "8"
    assert slurm.hosts.bytes_sent() - sent > 1e4


@pytest.mark.parametrize("name", ["mpich", "openmpi", "openmpi-4"])
def test_a_path_of_one_node_stays_on_it(
    slurm: Any, installed: Callable[[str], Any], name: str
) -> None:
    """A launcher that is told of no hosts starts ranks on all of the job's nodes."""
    name = installed(name).name
    job = ["salloc", "--quiet", "--nodes=2", "--nodelist=nearpeak-a", "--ntasks-per-node=1"]
    done = slurm.run([*job, sys.executable, "-c", WITHIN, name])
    assert done.stdout.split() == [slurm.hosts.names[0]] * 2, done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi", "openmpi-4"])
def test_on_all_nodes_of_a_larger_job(
    slurm: Any, installed: Callable[[str], Any], name: str
) -> None:
    library = installed(name)
    build_mpi(library)
    words = [NEARPEAK, "run", "allreduce", "--sizes", "8", "--slot-ms", "1", "--mpi", library.name]
    done = slurm.run(slurm.job(3, words))
    assert done.returncode == 0, done.stderr
    started = f"{library.name} is started by {library.launcher.name} on "
    assert f"{started}nearpeak-a, nearpeak-b and nearpeak-c of job " in done.stderr
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


@pytest.mark.parametrize(
    ("name", "pmi"), [("mpich", "pmi2"), ("openmpi", "pmix"), ("intel", "pmi2")]
)
def test_srun_starts_what_has_no_launcher(
    slurm: Any, bare: Callable[[str], Path], name: str, pmi: str
) -> None:
    done = slurm.run(slurm.job(2, [*RUN, "--mpi", str(bare(name))]))
    assert done.returncode == 0, done.stderr
    assert f" is started by srun --mpi={pmi} on nearpeak-a and nearpeak-b of job " in done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "8"


def test_srun_starts_it_on_one_node_too(slurm: Any, bare: Callable[[str], Path]) -> None:
    done = slurm.run(slurm.job(1, [*RUN, "--mpi", str(bare("mpich"))]))
    assert done.returncode == 0, done.stderr
    assert " is started by srun --mpi=pmi2 on nearpeak-a of job " in done.stderr


@pytest.mark.parametrize(
    ("name", "offered", "otherwise", "said"),
    [
        ("mpich", "pmi2", "echo srun: error: no steps today >&2; exit 1", "no steps today"),
        ("openmpi", "pmi2", 'srun "$@"', "srun --mpi=pmi2: "),  # which it was built without
    ],
)
def test_what_does_not_start_is_bad_input(
    slurm: Any,
    bare: Callable[[str], Path],
    tmp_path: Path,
    name: str,
    offered: str,
    otherwise: str,
    said: str,
) -> None:
    path = with_srun(tmp_path, offered, otherwise)
    done = slurm.run(slurm.job(2, [*RUN, "--mpi", str(bare(name))]), PATH=path)
    assert done.returncode == 2, done.stderr
    [last] = [line for line in done.stderr.splitlines() if line.startswith("nearpeak: ")]
    assert last.startswith("nearpeak: nothing starts ")
    assert said in last
    assert last.endswith("docs/how-to/batch-systems.md has what works")
    assert not [
        line
        for host in (0, 1)
        for line in slurm.hosts.processes(host).values()
        if "nearpeak-mpi" in line
    ]


def test_all_nodes_of_a_job_say_what_they_are(slurm: Any) -> None:
    done = slurm.run(slurm.job(3, [NEARPEAK, "machine"]))
    assert done.returncode == 0, done.stderr
    assert f"Hosts that are alike: {', '.join(slurm.hosts.names)}" in done.stdout
    assert "host-host two-nodes" in done.stdout
    shrunk = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/dev/shm"]
    assert slurm.hosts.run(shrunk, host=1).returncode == 0
    try:
        done = slurm.run(slurm.job(3, [NEARPEAK, "machine", "--check", "--json"]))
    finally:
        slurm.hosts.run(["umount", "/dev/shm"], host=1)
    whole = json.loads(done.stdout)
    assert list(whole["nodes"]) == list(slurm.hosts.names)
    assert (whole["differ"], whole["unknown"]) == ({}, {})
    severities = {
        host: {one["id"]: one["severity"] for one in found}["shared-memory"]
        for host, found in whole["nodes"].items()
    }
    first, second, third = slurm.hosts.names
    assert severities == {first: "ok", second: "bad", third: "ok"}
    assert done.returncode == 1
