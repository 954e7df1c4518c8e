# SPDX-License-Identifier: Apache-2.0
"""Ranks of one machine that cannot name each other's processes, as in containers."""

import re
import subprocess
from typing import Any

import pytest
from layer_programs import CONTAINER, CONTAINER_OF_USERS, MPICH_IN_CONTAINERS, cases_of

REPORT = {"NEARPEAK_LAYER_REPORT": "1"}
LONG = {"NEARPEAK_LAYER_LONG": "20000"}  # so that messages of all cases go piece by piece
COPIED = re.compile(r"(\d+) sends and (\d+) collectives staged on the device")
DIRECT = re.compile(r"(\d+) collectives directly")
SENT = re.compile(r"sent (\d+) by envelope \((\d+) set aside\), (\d+) through host memory")
ACCESSES = re.compile(r"(\d+) accesses to windows")
MESSAGES = cases_of("messages")
# The driver is asked of each chunk of a message, and has no room for thousands of them.
IN_CHUNKS = [case for case in MESSAGES if case not in ("asked", "many")]
CHUNKS = ["spans", "replaced", "given_back", "many"]
WINDOWS = ["host_alone", "moved", "gaps", "added", "combined", "locked", "told", "again"]

SAYS_ITS_NUMBER = ("sh", "-c", 'echo "process $$" >&2; exec "$@"', "sh")


def where(rank: int, *wrapper: str) -> tuple[str, ...]:
    """Starts this rank alone in the wrapper."""
    own = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    chosen = f'[ "{own}" = {rank} ] || shift {len(wrapper)}; exec "$@"'
    return ("sh", "-c", chosen, "sh", *wrapper)


@pytest.fixture(autouse=True)
def namespaces() -> None:
    made = subprocess.run([*CONTAINER_OF_USERS, "true"], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("namespaces of processes may not be made here")


mpich = pytest.mark.parametrize("application", ["mpich"], indirect=True)


def check_messages(done: Any, cases: list[str]) -> None:
    assert done.good() == cases, (done.out, done.err)
    assert done.code == 0
    sent = [int(enveloped) for enveloped, *_ in SENT.findall(done.err)]
    assert sorted(sent)[-2] > 300  # of the two ranks that send most
    assert min(map(int, DIRECT.findall(done.err))) > 20
    assert "slow:" not in done.err


def test_one_rank_in_a_container(application: Any) -> None:
    """The driver opens no handle there: what has one is copied into memory that is in chunks."""
    env = {**REPORT, **MPICH_IN_CONTAINERS, **LONG}
    done = application.run(*MESSAGES, before=where(1, *CONTAINER), env=env)
    check_messages(done, MESSAGES)
    copied = [(int(sends), int(collectives)) for sends, collectives in COPIED.findall(done.err)]
    assert min(copied) > (100, 20)


@mpich
def test_two_ranks_with_the_same_number(application: Any) -> None:
    """Of chunks the descriptors go over: nothing is copied on the device."""
    before = (*CONTAINER, *SAYS_ITS_NUMBER)
    words = ("--memory", "chunks", *IN_CHUNKS)
    done = application.run(*words, before=before, env={**REPORT, **MPICH_IN_CONTAINERS, **LONG})
    assert done.err.count("process 1\n") == 2
    check_messages(done, IN_CHUNKS)
    assert COPIED.findall(done.err) == []


@mpich
@pytest.mark.parametrize(
    "before",
    [CONTAINER_OF_USERS, CONTAINER[:-1]],
    ids=["of users, too", "with the folder /proc of others"],
)
def test_other_namespaces(application: Any, before: tuple[str, ...]) -> None:
    done = application.run(*MESSAGES, before=before, env={**REPORT, **MPICH_IN_CONTAINERS})
    check_messages(done, MESSAGES)


def test_three_ranks_of_two_devices(application: Any) -> None:
    """Two see each other; MPI's calls are open to several threads."""
    env = {**REPORT, **MPICH_IN_CONTAINERS}
    done = application.run("--multiple", *MESSAGES, ranks=3, before=where(2, *CONTAINER), env=env)
    check_messages(done, MESSAGES)


@pytest.mark.parametrize("chunks", ["mpich"], indirect=True)
def test_chunks_that_come_and_go(chunks: Any) -> None:
    words = ("--memory", "chunks", *CHUNKS)
    done = chunks.run(*words, before=CONTAINER_OF_USERS, env={**REPORT, **MPICH_IN_CONTAINERS})
    assert done.good() == CHUNKS, (done.out, done.err)
    assert "slow:" not in done.err


@pytest.mark.parametrize("begun", ["mpich"], indirect=True)
def test_collectives_that_do_not_wait(begun: Any) -> None:
    cases = cases_of("begun")
    done = begun.run(*cases, before=CONTAINER, env={**REPORT, **MPICH_IN_CONTAINERS})
    assert done.good() == cases, (done.out, done.err)
    assert min(map(int, DIRECT.findall(done.err))) > 20


def test_windows_of_chunks(windows: Any) -> None:
    """With MPICH between ranks that have the same number, by which Open MPI crashes itself."""
    before = CONTAINER if windows.library.name == "mpich" else where(1, *CONTAINER)
    words = ("--memory", "chunks", *WINDOWS)
    done = windows.run(*words, before=before, env={**REPORT, **MPICH_IN_CONTAINERS})
    assert done.good() == WINDOWS, (done.out, done.err)
    assert min(map(int, ACCESSES.findall(done.err))) > 100


@pytest.mark.parametrize("windows", ["mpich"], indirect=True)
def test_windows_of_a_device_that_others_have_not_tried(windows: Any) -> None:
    words = ("--memory", "chunks", "untried")
    done = windows.run(*words, before=CONTAINER, env=MPICH_IN_CONTAINERS, fake="peer=0")
    assert done.good() == ["untried"], (done.out, done.err)
    assert sum("does not reach" in line for line in done.said()) == 2


@pytest.mark.parametrize("windows", ["mpich"], indirect=True)
def test_windows_of_memory_with_handles_are_refused(windows: Any) -> None:
    done = windows.run("moved", before=CONTAINER, env=MPICH_IN_CONTAINERS)
    assert done.code != 0
    assert {line.partition(" is not done ")[2] for line in done.said()} == {
        "with memory of a device between containers whose handles the driver does not open, unless "
        "it is mapped in chunks with file descriptors: give it host memory (docs/how-to/layer.md "
        "has the limits)"
    }


@mpich
def test_a_folder_in_common(application: Any, two_hosts: Any, tmp_path: Any) -> None:
    """With networks, host names and shared memory apart, they are of one kernel all the same."""
    env = {**REPORT, "NEARPEAK_LAYER_MEET": str(tmp_path)}
    done = application.run(*MESSAGES, before=CONTAINER, hosts=two_hosts, env=env)
    check_messages(done, MESSAGES)
    assert list(tmp_path.iterdir()) == []


@mpich
def test_nothing_in_common(application: Any, two_hosts: Any) -> None:
    """All goes through host memory, as between nodes, and the line at the end says why."""
    env = {**REPORT, "NEARPEAK_LAYER_MEET": "/nowhere"}
    done = application.run(*MESSAGES, before=CONTAINER, hosts=two_hosts, env=env)
    assert done.good() == MESSAGES, (done.out, done.err)
    assert max(int(enveloped) for enveloped, *_ in SENT.findall(done.err)) < 10  # to oneself
    check_slow(done, "they are in containers that share no network, and no folder that ")


@mpich
def test_another_user(application: Any) -> None:
    """Nothing is handed over, not even to one that may open all files."""
    may = "--{}=+dac_override,+dac_read_search"
    other = ("setpriv", "--reuid=12345", may.format("inh-caps"), may.format("ambient-caps"))
    env = {**REPORT, **MPICH_IN_CONTAINERS}
    done = application.run(*MESSAGES, before=where(1, *CONTAINER, *other), env=env)
    assert done.good() == MESSAGES, (done.out, done.err)
    assert max(int(enveloped) for enveloped, *_ in SENT.findall(done.err)) < 10
    why = "some of them run as another user, or a security policy as of SELinux keeps them apart"
    check_slow(done, f"{why}. To avoid it, run all ranks as one user, in containers ")


def check_slow(done: Any, why: str) -> None:
    lines = [line for line in done.said() if "slow: " in line]
    assert len(lines) == 2, done.err
    assert all(f" through host memory to ranks of this machine: {why}" in line for line in lines)
