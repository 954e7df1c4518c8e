# SPDX-License-Identifier: Apache-2.0
"""What a job of Slurm says of itself, by stand-ins for Slurm's commands; tests/slurm has a real
one."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.machine import allocation
from nearpeak.machine.allocation import (
    Allocation,
    current,
    is_ending,
    measuring_seconds,
    parse_left,
    seconds_left,
)

Slurm = Callable[..., None]
HERE = socket.gethostname()


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """Makes this process one of a job of so many nodes, whose commands say what is given."""
    allocation._asked.cache_clear()
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)

    def make(*nodes: str, described: str = "", left: str = "") -> None:
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-9]")
        for name, script in {
            "scontrol": f'case "$2" in hostnames) printf "%s\\n" {" ".join(nodes)} ;;'
            f' node) echo "{described}" ;; esac',
            "squeue": f"echo '{left}'",
        }.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return make


def test_its_nodes_and_this_one_among_them(slurm: Slurm) -> None:
    slurm("other", HERE)
    assert current() == Allocation("7", ("other", HERE), HERE)
    assert allocation.has_nodes()


def test_nodes_may_be_called_otherwise_than_their_hosts(slurm: Slurm) -> None:
    slurm("n1", "n2", described=f"NodeName=n1 NodeHostName=x\nNodeName=n2 A=1 NodeHostName={HERE}")
    found = current()
    assert found is not None
    assert found.here == "n2"


def test_slurms_own_word_of_this_node_comes_first(
    slurm: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm("n1", "n2")
    monkeypatch.setenv("SLURMD_NODENAME", "n2")
    assert current() == Allocation("7", ("n1", "n2"), "n2")


def test_a_host_that_is_no_node_of_the_job_is_refused(slurm: Slurm) -> None:
    slurm("n1", "n2")
    with pytest.raises(UserError, match=rf"{HERE}, is no node of job 7 \(n1,n2\): start nearpeak"):
        current()


def test_without_slurms_commands_nothing_is_known_of_nodes(
    slurm: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container, which has the job's variables alone."""
    slurm("n1")
    monkeypatch.setenv("PATH", "/nowhere")
    assert current() == Allocation("7", (), None)
    assert not allocation.has_nodes()
    assert seconds_left() is None


def test_outside_of_a_job_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert current() is None
    assert seconds_left() is None


def test_the_time_left(slurm: Slurm) -> None:
    slurm(HERE, left="1:05")
    assert seconds_left() == 65
    assert measuring_seconds() == 35
    slurm(HERE, left="1:00:00")
    assert measuring_seconds() == 3240
    slurm(HERE, left="UNLIMITED")
    assert measuring_seconds() is None


def test_a_job_that_ends_has_no_time_to_measure(slurm: Slurm) -> None:
    slurm(HERE, left="0:29")
    with pytest.raises(UserError, match="job 7 ends in 29 s: ask for a longer one"):
        measuring_seconds()


@pytest.mark.parametrize(
    ("state", "ending"),
    [("RUNNING", False), ("COMPLETING", True), ("TIMEOUT", True), ("NODE_FAIL", True), ("", False)],
)
def test_a_job_that_is_being_ended(slurm: Slurm, state: str, ending: bool) -> None:
    slurm(HERE, left=state)
    assert is_ending() == ending


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("4:59", 299),
        ("1:00:00", 3600),
        ("2-03:00:01\n", 2 * 86400 + 3 * 3600 + 1),
        ("0:00", 0),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_times_as_squeue_writes_them(text: str, seconds: float | None) -> None:
    assert parse_left(text) == seconds
