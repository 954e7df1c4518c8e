# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run` in jobs of a real Flux: what starts the ranks, and where they run."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.libraries.build import build_mpi

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
RUN = [NEARPEAK, "run", "latency", "--sizes", "8", "--slot-ms", "1"]
WITHOUT_PMIX = "Flux has no plug-in for PMIx"
# Prints of each rank of several launches within this one where it ran and what GPUs it may see.
WITHIN = """
import os, subprocess, sys
from pathlib import Path
from made_libraries import made_library
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Rank
library = made_library("mpich", family="mpich", launcher=Path(sys.argv[1]), libmpi=Path("/x/y"))
for number, word in enumerate(sys.argv[2:]):
    said = f'echo "{number} $FLUX_TASK_RANK $(hostname) $CUDA_VISIBLE_DEVICES"'
    hosts = [f"nearpeak-{letter}" for letter in word] or [None, None]
    ranks = [Rank(cpus=[], host=host) for host in hosts]
    line = command_line(library, Launch(program=["sh", "-c", said], ranks=ranks))
    env = {**os.environ, **line.env, "CUDA_VISIBLE_DEVICES": "0,1"}
    subprocess.run(line.argv, env=env, check=True)
"""
# Prints the job that this process is in.
ALLOCATION = """
from nearpeak.machine import allocation
print(allocation.current(), allocation.current().here, allocation.seconds_left())
print(allocation.is_ending(), allocation.why_ending())
"""


@pytest.fixture
def bare(installed: Callable[[str], Any], tmp_path: Path) -> Path:
    """The prefix of MPICH without its launcher."""
    library = installed("mpich")
    build_mpi(library)
    (tmp_path / "lib").symlink_to(library.prefix / "lib")
    return tmp_path


def test_a_job_has_its_nodes(flux: Any) -> None:
    done = flux.run(flux.job(3, ["flux", "run", "--nodes=3", "hostname"]))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == list(flux.hosts.names)


def test_a_job_says_what_it_has(flux: Any) -> None:
    words = [sys.executable, "-c", ALLOCATION]
    nodes = flux.hosts.names[:2]
    done = flux.run(flux.job(2, words))
    assert done.stdout.splitlines()[1] == "False None", done.stderr
    job, named, here, left = done.stdout.splitlines()[0].removeprefix("job ").split()
    assert job.startswith("ƒ")
    assert (named, here, left) == (f"({','.join(nodes)})", nodes[0], "None")
    limited = flux.run(flux.job(2, words, "--time-limit=10m"))
    left = limited.stdout.splitlines()[0].split()[-1]
    assert 0 < float(left) <= 600


def test_all_nodes_of_a_job_say_what_they_are(flux: Any) -> None:
    done = flux.run(flux.job(3, [NEARPEAK, "machine"]))
    assert done.returncode == 0, done.stderr
    assert f"Hosts that are alike: {', '.join(flux.hosts.names)}" in done.stdout


@pytest.mark.parametrize("name", ["mpich", "openmpi", "intel"])
def test_between_the_nodes_of_a_job(flux: Any, installed: Callable[[str], Any], name: str) -> None:
    """A library's own launcher has no ssh."""
    build_mpi(installed(name))
    if name == "openmpi" and flux.run(["flux", "run", "--setopt=pmi=pmix", "true"]).returncode:
        pytest.skip(WITHOUT_PMIX)
    sent = flux.hosts.bytes_sent()
    done = flux.run(flux.job(2, [*RUN, "--mpi", name]))
    assert done.returncode == 0, done.stderr
    assert f"{name} is started by flux on nearpeak-a and nearpeak-b of job " in done.stderr
    assert "Path host-host two-nodes: nearpeak-a to nearpeak-b" in done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "8"
    assert flux.hosts.bytes_sent() - sent > 1e4


def test_flux_starts_it_on_one_node_too(flux: Any, bare: Path) -> None:
    done = flux.run(flux.job(1, [*RUN, "--mpi", str(bare)]))
    assert done.returncode == 0, done.stderr
    assert " is started by flux on nearpeak-a of job " in done.stderr


def test_more_ranks_than_cores(flux: Any, bare: Path) -> None:
    words = [NEARPEAK, "run", "allreduce", "--sizes", "8", "--slot-ms", "1", "--mpi", str(bare)]
    done = flux.run(flux.job(1, [*words, "--ranks", "3", "--oversubscribe"]))
    assert done.returncode == 0, done.stderr


def test_each_rank_runs_on_its_host_and_sees_its_gpus(flux: Any) -> None:
    """That of the launcher without a host. Without gpu-affinity=off Flux hides GPUs that it does
    not have."""
    program = flux.run(["which", "flux"]).stdout.strip()
    helpers = str(Path(__file__).parents[1] / "libraries")
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {helpers!r})\n{WITHIN}"]
    launches = ["", "ab", "ba", "bc", "cab", "bbaa", "abab", "cbaabc"]
    done = flux.run(flux.job(3, [*words, program, *launches]))
    assert done.returncode == 0, done.stderr
    said = sorted(tuple(line.split()) for line in done.stdout.splitlines())
    assert said == [
        (str(number), str(rank), f"nearpeak-{host}", "0,1")
        for number, hosts in enumerate(launches)
        for rank, host in enumerate(hosts or "aa")
    ]


def test_on_all_nodes_of_a_larger_job(flux: Any, installed: Callable[[str], Any]) -> None:
    build_mpi(installed("mpich"))
    words = [NEARPEAK, "run", "allreduce", "--sizes", "8", "--slot-ms", "1", "--mpi", "mpich"]
    done = flux.run(flux.job(3, words))
    assert done.returncode == 0, done.stderr
    assert "mpich is started by flux on nearpeak-a, nearpeak-b and nearpeak-c of" in done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "8"
