# SPDX-License-Identifier: Apache-2.0
"""Device memory without an IPC handle, with the layer before a library that knows none."""

import re
from typing import Any

import pytest
from layer_programs import cases_of

SLOW = {
    "by_ssend": ("device memory", "MPI_Ssend and MPI_Bsend go this way"),
    "again": ("device memory", "persistent sends go this way"),
    "no_room": (
        "device memory that has no handle",
        "other processes cannot open it, and the layer",
    ),
    "managed": ("managed memory", "managed memory is host memory to MPI"),
}
CASES = [case for case in cases_of("chunks") if case not in SLOW]
# The driver is asked of each chunk of a message, and has no room for thousands of them.
MESSAGES = [case for case in cases_of("messages") if case not in ("asked", "many")]
COPIED = re.compile(r"(\d+) sends and (\d+) collectives staged on the device")
DIRECT = re.compile(r"(\d+) collectives directly")
SENT = re.compile(r"sent (\d+) by envelope \((\d+) set aside\), (\d+) through host memory")
REPORT = {"NEARPEAK_LAYER_REPORT": "1"}


@pytest.fixture(scope="session")
def of_two(chunks: Any) -> Any:
    """All cases between two ranks, which have a device each."""
    return chunks.run("--memory", "chunks", *CASES, env=REPORT)


@pytest.mark.parametrize("case", CASES)
def test_two_ranks(of_two: Any, case: str) -> None:
    assert case in of_two.good(), (of_two.out, of_two.err)


@pytest.mark.parametrize("case", SLOW)
def test_what_is_slow_is_told_at_the_end(chunks: Any, case: str) -> None:
    done = chunks.run("--memory", "pool" if case == "no_room" else "plain", case)
    assert done.good() == [case], done.err
    [line] = done.said()
    memory, why = SLOW[case]
    assert line.startswith(f"nearpeak layer: rank 0: slow: 8 messages (2 MiB) went from {memory}")
    assert f" through host memory to ranks of this machine: {why}" in line
    assert ". To avoid it, " in line


def test_nothing_is_slow(of_two: Any) -> None:
    assert "slow:" not in of_two.err


def test_they_go_by_envelopes(of_two: Any) -> None:
    assert of_two.code == 0
    sent = [[int(count) for count in counts] for counts in SENT.findall(of_two.err)]
    assert max(enveloped for enveloped, *_ in sent) > 250
    assert max(staged for *_, staged in sent) < 10


@pytest.mark.parametrize("chunks", ["mpich"], indirect=True)
def test_three_ranks(chunks: Any) -> None:
    """Of which two share a device."""
    done = chunks.run("--memory", "chunks", *CASES, ranks=3)
    assert done.good() == CASES, (done.out, done.err)


@pytest.mark.parametrize("chunks", ["mpich"], indirect=True)
def test_few_files(chunks: Any) -> None:
    """What a rank has no files for is copied on the device."""
    few = ("sh", "-c", 'ulimit -n 256 && exec "$@"', "sh")
    done = chunks.run("--memory", "chunks", *CASES, env=REPORT, before=few)
    assert done.good() == CASES, (done.out, done.err)
    assert max(int(sends) for sends, _ in COPIED.findall(done.err)) >= 2


@pytest.mark.parametrize("memory", ["chunks", "own_chunks", "pool"])
def test_messages_and_collectives(application: Any, memory: str) -> None:
    """The cases of other memory; what ranks cannot open of each other is copied on the device."""
    done = application.run("--memory", memory, *MESSAGES, env=REPORT)
    assert done.good() == MESSAGES, (done.out, done.err)
    assert max(int(enveloped) for enveloped, *_ in SENT.findall(done.err)) > 200
    assert min(map(int, DIRECT.findall(done.err))) > 20
    copied = [(int(sends), int(collectives)) for sends, collectives in COPIED.findall(done.err)]
    assert copied == [] if memory == "chunks" else min(copied) > (100, 20)


@pytest.mark.parametrize("application", ["mpich"], indirect=True)
@pytest.mark.parametrize("memory", ["chunks", "pool"])
def test_three_ranks_of_two_devices(application: Any, memory: str) -> None:
    """With MPI's calls open to several threads."""
    done = application.run("--multiple", "--memory", memory, *MESSAGES, ranks=3)
    assert done.good() == MESSAGES, (done.out, done.err)
