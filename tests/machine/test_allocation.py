# SPDX-License-Identifier: Apache-2.0
"""What a job says of itself, by stand-ins for the commands of Slurm, Flux and PBS.

tests/slurm has a real Slurm.
"""

import os
import socket
import time
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
    why_ending,
)

Slurm = Callable[..., None]
HERE = socket.gethostname()
JOBS = Path(__file__).with_name("jobs")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """Makes this process one of a job of so many nodes, whose commands say what is given."""
    allocation._allocation.cache_clear()
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)

    def make(*nodes: str, described: str = "", left: str = "", job: str = "") -> None:
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-9]")
        for name, script in {
            "scontrol": f'case "$2" in hostnames) printf "%s\\n" {" ".join(nodes)} ;;'
            f' node) echo "{described}" ;; job) echo "{job}" ;; esac',
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


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts stand-ins for commands on PATH, each with what it prints, by its arguments."""
    allocation._allocation.cache_clear()
    allocation._flux_id.cache_clear()
    allocation.flux_hosts.cache_clear()
    for name in ("SLURM_JOB_ID", "FLUX_URI", "FLUX_JOB_ID", "PBS_JOBID", "PBS_NODEFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def put(name: str, **said: str) -> None:
        cases = "".join(f"  '{words}') cat <<'END' ;;\n{text}END\n" for words, text in said.items())
        (tmp_path / name).write_text(f'#!/bin/sh\ncase "$*" in\n{cases}  *) exit 1 ;;\nesac\n')
        (tmp_path / name).chmod(0o755)

    return put


def recorded(name: str) -> str:
    """Behind its first line, which says what it is."""
    first, _, rest = (JOBS / name).read_text().partition("\n")
    assert first.startswith("# Written by hand")
    return rest.replace("HERE", HERE.partition(".")[0])


def test_a_flux_instance(commands: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUX_URI", "local:///run/flux")
    monkeypatch.setenv("SLURM_JOB_ID", "7")  # that the instance runs in
    said = {
        "getattr jobid": "f2VKnQJcB\n",
        "hostlist --expand instance": recorded("flux-hostlist.txt"),
        "job timeleft": recorded("flux-timeleft.txt"),
    }
    commands("flux", **said)
    found = current()
    assert found is not None
    assert (found.manager, found.job) == ("Flux", "f2VKnQJcB")
    assert found.nodes[1:] == ("other1", "other2")
    assert found.here == found.nodes[0]
    assert allocation.has_nodes()
    assert not allocation.by_srun()
    assert measuring_seconds() == pytest.approx(0.9 * 1799)
    assert not is_ending()
    commands("flux", **{"job timeleft": "4294967295\n"})
    assert seconds_left() is None
    commands("flux", **{"job timeleft": "0\n"})
    assert is_ending()
    commands("flux")
    assert seconds_left() is None
    assert not is_ending()


def test_the_broker_of_a_host(
    commands: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands("flux", **{"hostlist --expand instance": "a a b\n"})
    assert allocation.flux_broker("b") is None
    monkeypatch.setenv("FLUX_URI", "local:///run/flux")
    assert [allocation.flux_broker(host) for host in "abc"] == [0, 2, None]


def test_a_job_of_pbs(
    commands: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PBS_JOBID", "7.server")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    (tmp_path / "nodes").write_text(recorded("pbs-nodefile.txt"))
    found = current()
    assert found is not None
    assert (found.manager, found.nodes[0]) == ("PBS", "other1.cluster.example")
    assert found.here == found.nodes[1]
    assert len(found.nodes) == 2
    said = recorded("qstat.txt")
    began = time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(time.time() - 1200))
    commands("qstat", **{"-f 7.server": said.replace("STIME", began)})
    left = seconds_left()
    assert left is not None
    assert 2300 < left <= 2401  # of an hour, 20 minutes are over
    assert not is_ending()
    commands("qstat", **{"-f 7.server": said.replace("    stime = STIME\n", "")})
    assert seconds_left() == 3000  # by what it has used
    commands("qstat", **{"-f 7.server": said.replace("job_state = R", "job_state = E")})
    assert is_ending()
    commands("qstat")
    assert seconds_left() is None
    assert not is_ending()


def test_a_host_that_is_none_of_the_jobs(
    commands: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUX_URI", "local:///run/flux")
    commands("flux", **{"hostlist --expand instance": "a b\n"})
    with pytest.raises(UserError, match=r"is no node of job .* start nearpeak on one, in a batch"):
        current()


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


# What Slurm 22.05 said within jobs that it was ending, shortened.
@pytest.mark.parametrize(
    ("said", "restarts", "why"),
    [
        ("JobState=COMPLETING Reason=TimeLimit X=1 Restarts=0", None, "reached its time limit"),
        ("JobState=COMPLETING Reason=None X=(null) Restarts=0", None, "the job was cancelled"),
        ("JobState=CANCELLED Reason=None X=(null) Restarts=0", None, "the job was cancelled"),
        ("JobState=COMPLETING Reason=NodeDown X=1 Restarts=0", None, "a node of the job failed"),
        ("JobState=COMPLETING Reason=None X=1 Restarts=1", None, "was put back into the queue"),
        ("JobState=COMPLETING Reason=None X=1 Restarts=1", "1", "the job was cancelled"),
        ("JobState=COMPLETING Reason=None PreemptTime=2026-11-26T16:19:46", None, "preempted"),
        ("JobState=RUNNING Reason=None X=1 Restarts=0", None, None),  # scancel --signal=TERM
        ("JobState=COMPLETING Reason=SomethingNew Restarts=0", None, None),
        ("slurm_load_jobs error: Invalid job id specified", None, None),
        ("", None, None),
    ],
)
def test_why_a_job_is_being_ended(
    slurm: Slurm, monkeypatch: pytest.MonkeyPatch, said: str, restarts: str | None, why: str | None
) -> None:
    slurm(HERE, job=f"JobId=7 JobName=job.sh Nice=0 QOS=(null) {said} BatchFlag=1")
    monkeypatch.delenv("SLURM_RESTART_COUNT", raising=False)
    if restarts:
        monkeypatch.setenv("SLURM_RESTART_COUNT", restarts)
    told = why_ending()
    assert (why in told) if told and why else (told is why)


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
