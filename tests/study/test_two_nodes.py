# SPDX-License-Identifier: Apache-2.0
"""A whole study between two hosts, for real: two network namespaces as two nodes over TCP."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import LIMIT

from nearpeak.errors import UserError
from nearpeak.launching.program_records import EnvironmentRecord, SamplesRecord
from nearpeak.libraries.build import build_mpi
from nearpeak.study.journal import read_records
from nearpeak.study.records import LaunchEndRecord

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))


def test_a_study_between_two_hosts(two_hosts: Any, tmp_path: Path) -> None:
    from nearpeak.libraries.build import build_mpi, build_native
    from nearpeak.libraries.discover import resolve

    for name in ("openmpi", "mpich"):
        try:
            build_mpi(resolve(name))
        except UserError as error:
            pytest.skip(f"{name} is not there: {error}")
    build_native()
    file = tmp_path / "study.toml"
    file.write_text(
        'mpi = ["openmpi", "mpich"]\nbenchmarks = ["latency", "bw", "bibw"]\n'
        'sizes = "8,64K"\nslot_ms = 5\nlaunches = 2\nseed = 1\n'
        'window = 4\nin_flight = "1M"\n'  # the hosts' network is the CPU
    )
    folder = tmp_path / "study"
    hosts = ["--hosts", ",".join(two_hosts.names), "--remote-shell", two_hosts.remote_shell]
    sent = two_hosts.bytes_sent()
    done = two_hosts.run([NEARPEAK, "study", str(file), *hosts, "-o", str(folder)], timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout

    records = list(read_records(folder))
    ends = [record for record in records if isinstance(record, LaunchEndRecord)]
    # 2 blocks of 2 libraries and a ceiling
    assert [(end.status, end.message) for end in ends] == [("ok", "")] * 6
    for record in records:
        if isinstance(record, EnvironmentRecord):
            assert [rank["host"] for rank in record.ranks] == list(two_hosts.names)
    sizes = {record.size_bytes for record in records if isinstance(record, SamplesRecord)}
    assert {8, 65536} <= sizes
    assert two_hosts.bytes_sent() - sent > 1e6
    results = json.loads((folder / "results.json").read_text())
    measured = {results["places"][cell["place"]]["path"] for cell in results["cells"]}
    assert measured == {"host-host two-nodes"}
    assert all(cell["fraction"] is not None for cell in results["cells"])


def test_a_study_on_three_hosts(three_hosts: Any, tmp_path: Path) -> None:
    """Messages between the first two, and operations of all ranks on all of them."""
    from nearpeak.libraries.build import build_mpi, build_native
    from nearpeak.libraries.discover import resolve

    try:
        build_mpi(resolve("mpich"))
    except UserError as error:
        pytest.skip(f"mpich is not there: {error}")
    build_native()
    folder = tmp_path / "study"
    hosts = ["--hosts", ",".join(three_hosts.names), "--remote-shell", three_hosts.remote_shell]
    what = ["--mpi", "mpich", "--benchmarks", "latency,barrier", "--sizes", "8"]
    how = ["--slot-ms", "5", "--launches", "2", "-o", str(folder)]
    done = three_hosts.run([NEARPEAK, "study", *hosts, *what, *how], timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout

    ran = {
        tuple(rank["host"] for rank in record.ranks)
        for record in read_records(folder)
        if isinstance(record, EnvironmentRecord)
    }
    assert ran == {three_hosts.names[:2], three_hosts.names}
    results = json.loads((folder / "results.json").read_text())
    measured = {
        (results["places"][cell["place"]]["path"], cell["case"]["benchmark"]): cell["fraction"]
        for cell in results["cells"]
    }
    assert measured.keys() == {
        ("host-host two-nodes", "latency"),
        ("host-host two-nodes", "barrier"),
        ("host x3 3-nodes", "barrier"),
    }
    # Held against a message between the first two.
    assert measured["host x3 3-nodes", "barrier"] > 0


def test_both_hosts_run_perftest(two_hosts: Any, fake_perftest: Path, tmp_path: Path) -> None:
    """The launch of the ceiling over an RDMA adapter, with stand-ins for perftest's programs."""
    from nearpeak.libraries.build import build_native
    from nearpeak.libraries.discover import resolve
    from nearpeak.libraries.launch import command_line
    from nearpeak.libraries.library import Launch, Rank

    try:
        library = resolve("mpich")
    except UserError as error:
        pytest.skip(f"mpich is not there: {error}")
    jsonl, log = tmp_path / "verbs.jsonl", tmp_path / "log"
    where = ["--peer", two_hosts.names[0], "--port", "20007", "--adapter", "mlx5_0:1"]
    what = ["--sizes", "8,64K", "--window", "4", "--slot-ms", "1", "--jsonl", str(jsonl)]
    ranks = [Rank(cpus=[0], host=name) for name in two_hosts.names]
    program = [str(build_native()), "verbs", *where, *what]
    line = command_line(
        library, Launch(program=program, ranks=ranks, remote_shell=two_hosts.remote_shell)
    )
    env = {"PATH": f"{fake_perftest}:{os.environ['PATH']}", "FAKE_PERFTEST_LOG": str(log)}
    done = two_hosts.run(line.argv, env={**os.environ, **line.env, **env})
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = [json.loads(text) for text in jsonl.read_text().splitlines()]
    hosts = [rank["host"] for rank in lines[0]["ranks"]]
    assert hosts == list(two_hosts.names)
    cases = [record for record in lines if record["record"] == "samples"]
    # 2 ways of latency, 4 of each rate
    assert len(cases) == 2 * (2 + 4 + 4)
    assert all(case["samples"] for case in cases)
    assert not [record for record in lines if record["record"] == "problem"]
    connected = {text.rsplit(" ", 1)[1] for text in log.read_text().splitlines() if "10." in text}
    assert connected == set(two_hosts.addresses)  # for writing one way, for reading the other


def test_hosts_are_named_in_any_order(two_hosts: Any, installed: Callable[[str], Any]) -> None:
    """The one where nearpeak is started is found among them, and is rank 0's."""
    build_mpi(installed("mpich"))
    names = f"{two_hosts.names[1]},{two_hosts.addresses[0]}"
    hosts = ["--hosts", names, "--remote-shell", two_hosts.remote_shell]
    words = ["run", "latency", "--mpi", "mpich", "--sizes", "8", "--slot-ms", "1"]
    done = two_hosts.run([NEARPEAK, *words, *hosts])
    assert done.returncode == 0, done.stderr
    between = f"{two_hosts.addresses[0]} to {two_hosts.names[1]}"
    assert f"Path host-host two-nodes: {between}" in done.stderr


def test_a_host_that_cannot_be_reached_is_bad_input(two_hosts: Any, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    hosts = ["--hosts", f"{two_hosts.names[0]},nowhere", "--remote-shell", two_hosts.remote_shell]
    done = two_hosts.run([NEARPEAK, "study", *hosts, "-o", str(folder)])
    assert done.returncode == 2
    assert done.stderr.startswith("nearpeak: host 'nowhere' cannot be reached (no such host")
    assert done.stderr.count("\n") == 1
    assert not folder.exists()
