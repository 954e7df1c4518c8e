# SPDX-License-Identifier: Apache-2.0
"""Files of ranks that are made up, and what is made of them: sums and ceilings."""

import sys
from pathlib import Path

import numpy as np
import pytest

from nearpeak.errors import UserError
from nearpeak.trace.ceilings import ceilings, study_ceilings, unblocked
from nearpeak.trace.read import (
    CELL,
    HEADER,
    NAME,
    NOBODY,
    SECTION,
    UNKNOWN,
    Unreadable,
    merge,
    read,
    smallest,
)
from nearpeak.trace.trace import Rank

made = sys.modules["made_trace"]  # loaded by tests/conftest.py
entry, results, trace = made.entry, made.results, made.trace

TICKS = 2  # in a nanosecond
NAMES = [b"", b"MPI_Send", b"MPI_Isend", b"MPI_Barrier", b"MPI_Start", b"MPI_Send_init"]
NAMES += [b"MPI_Alltoallw", b"MPI_Bcast"]
SECTION_BYTES = 16384
# Operation, what made its request, size, peer; calls, bytes, ticks, longest.
Made = tuple[tuple[int, int, int, int], tuple[int, int, int, int]]
SENT: Made = ((1, 0, 4, 0), (10, 40, 2000, 800))
AT_BARRIER: Made = ((3, 0, 0, -1), (1, 0, 4000, 4000))


def section(thread: int, cells: list[Made]) -> bytes:
    made = np.zeros(408, CELL)
    for place, ((operation, maker, size, peer), values) in enumerate(cells):
        key = operation << 48 | maker << 39 | size << 33 | (peer + 2)
        made[place] = (key, *values)
    head = SECTION.pack(SECTION_BYTES, thread, 2_000_000_000, 500 + TICKS * 10**8, 10**8)
    return (head + made.tobytes()).ljust(SECTION_BYTES, b"\0")


def rank_file(
    folder: Path,
    rank: int,
    cells: list[Made],
    *,
    finalized: int = 3_000_000_000,
    threads: int = 1,
    host: bytes = b"here",
    ranks: int = 2,
) -> Path:
    """As preload/trace/table.cpp has it: each thread has the same cells."""
    head = HEADER.pack(
        *(b"NPTRAC2\0", 4096, len(NAMES)),
        *(1000, 0, 1000 + TICKS * 10**9, 10**9, 1_000_000_000, finalized),
        *(0, rank, ranks, 2, 77 + rank, host),
    )
    head += b"".join(NAME.pack(name, name == b"MPI_Isend") for name in NAMES)
    file = folder / f"{host.decode()}-{rank}.trace"
    sections = [section(thread, cells) for thread in range(threads)]
    file.write_bytes(head.ljust(4096, b"\0") + b"".join(sections))
    return file


def test_a_file_is_read(tmp_path: Path) -> None:
    left = read(rank_file(tmp_path, 1, [SENT, AT_BARRIER]))
    assert left.rank == Rank(
        rank=1,
        host="here",
        process=78,
        run_seconds=1.0,
        mpi_seconds=pytest.approx(3e-6),
        threads=1,
        finalized=True,
        world=2,
        launched=2,
        calls=11,
        bytes=40,
        waiting_seconds=pytest.approx(2e-6),
    )
    [(to, send), (nobody, barrier)] = left.called
    assert (send.operation, send.size_bytes, send.memory, to) == ("MPI_Send", 4, "host", 0)
    assert (send.calls, send.bytes) == (10, 40)
    assert send.seconds == pytest.approx(1e-6)
    assert send.longest_seconds == pytest.approx(4e-7)
    assert (barrier.operation, barrier.size_bytes, nobody) == ("MPI_Barrier", None, NOBODY)


def test_threads_are_summed_and_a_crash_ends_with_the_last_call(tmp_path: Path) -> None:
    left = read(rank_file(tmp_path, 0, [SENT], finalized=0, threads=3))
    assert not left.rank.finalized
    assert left.rank.threads == 3
    assert left.rank.run_seconds == pytest.approx(0.5)
    [(_, send)] = left.called
    assert (send.calls, send.bytes) == (30, 120)
    assert send.longest_seconds == pytest.approx(4e-7)


def test_the_last_instant_says_how_long_a_tick_is(tmp_path: Path) -> None:
    """A rank that was killed left none at its end."""
    file = rank_file(tmp_path, 0, [SENT])
    data = bytearray(file.read_bytes())
    later = (1000 + 4 * TICKS * 10**9, 2 * 10**9)  # twice as many ticks in a second
    SECTION.pack_into(data, 4096, SECTION_BYTES, 0, 2_000_000_000, *later)
    file.write_bytes(data)
    [(_, send)] = read(file).called
    assert send.seconds == pytest.approx(5e-7)


def test_one_thread_may_have_several_sections(tmp_path: Path) -> None:
    file = rank_file(tmp_path, 0, [SENT])
    file.write_bytes(file.read_bytes() + section(0, [AT_BARRIER]) + bytes(SECTION_BYTES))
    left = read(file)
    assert (left.rank.threads, left.rank.calls) == (1, 11)


def test_what_a_start_starts_is_read(tmp_path: Path) -> None:
    begun: list[Made] = [((4, 5, 4, 0), (1, 4, 9, 9)), ((2, 0, 4, 0), (1, 4, 9, 9))]
    [(_, isend), (_, start)] = read(rank_file(tmp_path, 0, begun)).called
    assert (start.operation, start.made_by, start.begins) == ("MPI_Start", "MPI_Send_init", False)
    assert (isend.made_by, isend.begins) == ("", True)


def test_what_moves_data_of_unknown_size_is_no_waiting(tmp_path: Path) -> None:
    """An MPI_Alltoallw, and an MPI_Bcast by the root to another group."""
    moving: list[Made] = [((number, 0, 0, -1), (1, 0, 600, 600)) for number in (6, 7)]
    left = read(rank_file(tmp_path, 0, [*moving, AT_BARRIER]))
    assert {entry.size_bytes for _, entry in left.called} == {None}
    assert left.rank.mpi_seconds == pytest.approx(2.6e-6)
    assert left.rank.waiting_seconds == pytest.approx(2e-6)


def test_ranks_are_merged_the_longest_first(tmp_path: Path) -> None:
    left = [read(rank_file(tmp_path, rank, [SENT, AT_BARRIER])) for rank in (1, 2)]
    barrier, send = merge(left)
    assert (barrier.operation, barrier.calls, barrier.peer) == ("MPI_Barrier", 2, "none")
    assert barrier.seconds == pytest.approx(4e-6)
    assert barrier.longest_seconds == pytest.approx(2e-6)
    assert (send.calls, send.bytes, send.peer) == (20, 80, "unknown")


def test_files_say_where_the_other_rank_is(tmp_path: Path) -> None:
    to = [((1, 0, 4, rank), (1, 4, 100, 100)) for rank in (UNKNOWN, 0, 1, 2, 3)]
    files = [
        rank_file(tmp_path, 0, to, ranks=4),
        rank_file(tmp_path, 1, [], ranks=4),
        rank_file(tmp_path, 2, [], ranks=4, host=b"there"),
        rank_file(tmp_path, 3, [], ranks=9),  # of another run
    ]
    calls = {entry.peer: entry.calls for entry in merge([read(file) for file in files])}
    assert calls == {"unknown": 2, "self": 1, "same host": 1, "other host": 1}


def test_classes_of_sizes() -> None:
    assert [smallest(size) for size in (0, 1, 2, 3, 4, 12)] == [None, 0, 1, 2, 4, 1024]


@pytest.mark.parametrize("keep", [0, 100, 4000])
def test_what_was_never_begun_is_told(tmp_path: Path, keep: int) -> None:
    file = rank_file(tmp_path, 0, [SENT])
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(Unreadable):
        read(file)


def test_a_ceiling_stands_beside_what_it_fits() -> None:
    found = trace(
        entry(),
        entry("MPI_Isend"),  # its end is another call's
        entry(size=64),  # the study has no such size
        entry(peer="other host"),
        entry(memory="device"),
        entry("MPI_Barrier", None),
    )
    study = results(("near", 8, 1.0), ("far", 8, 2.0), ("near", 16, 3.0), ("near", 0, 0.5))
    [ceiling] = ceilings(found, study_ceilings(study).times)
    assert (ceiling.entry, ceiling.path, ceiling.size_bytes) == (0, "near", 8)
    assert ceiling.seconds == pytest.approx(1e-6)
    assert ceiling.saved_seconds == pytest.approx(1e-4 - 1e-5)


def test_the_quickest_path_is_that_of_a_library() -> None:
    study = results(("near", 8, 3.0), ("far", 8, 2.0))
    study.ceilings[0].value = 1.0  # by means that a library does not have
    [ceiling] = ceilings(trace(entry()), study_ceilings(study).times)
    assert (ceiling.path, ceiling.seconds) == ("far", pytest.approx(2e-6))


def test_messages_that_nobody_waits_for_are_held_against_a_rate() -> None:
    found = trace(
        entry("MPI_Isend"),  # 10 calls, 100 B and 0.1 ms as all of them
        entry("MPI_Isend", size=64),  # the study has no such size
        entry("MPI_Irecv"),
        entry("MPI_Waitall", None, peer="none", bytes=0),
        entry("MPI_Test", None, peer="none", bytes=0),
        entry("MPI_Send"),
        entry("MPI_Ibcast", peer="none"),
    )
    study = results(("near", 8, 0.004), ("far", 8, 0.002), ("near", 16, 9.0), benchmark="rate")
    points = study_ceilings(study).rates
    each = unblocked(found, points)
    assert each is not None
    assert (each.messages, each.known, each.others) == (20, 10, 10)
    assert each.seconds == pytest.approx(5e-4)
    assert each.least_seconds == pytest.approx(100 / 0.004e9)
    assert each.saved_seconds == pytest.approx(4.75e-4)
    assert unblocked(trace(entry("MPI_Waitall", None)), points) is None
    assert unblocked(found, []) is None


def test_messages_to_nobody_are_none() -> None:
    halo = trace(
        entry("MPI_Isend"),
        entry("MPI_Isend", peer="none", bytes=0),
        entry("MPI_Start", made_by="MPI_Send_init", peer="none", bytes=0),
        entry("MPI_Waitall", None, peer="none", bytes=0),
    )
    each = unblocked(halo, study_ceilings(results(("near", 8, 1.0), benchmark="rate")).rates)
    assert each is not None
    assert (each.messages, each.known) == (10, 10)
    assert each.seconds == pytest.approx(2e-4)  # of the first and the last


@pytest.mark.parametrize(
    ("operation", "messages", "others"),
    [
        ("MPI_Isendrecv", 20, 0),
        ("MPI_Irecv", 10, 0),
        ("MPI_Iprobe", 10, 0),
        ("MPI_Improbe", 10, 0),
        ("MPI_Ineighbor_alltoall", 10, 10),
        ("MPI_Startall", 10, 0),
        ("MPI_Send_init", 10, 0),
        ("MPI_Pready_range", 20, 0),
        ("MPI_File_iread_at", 10, 10),
        ("MPI_Rget_accumulate", 10, 10),
        ("MPI_Reduce", 10, 0),
    ],
)
def test_what_else_is_waited_for_is_counted(operation: str, messages: int, others: int) -> None:
    found = trace(entry("MPI_Isend"), entry(operation))
    each = unblocked(found, study_ceilings(results(("near", 8, 1.0), benchmark="rate")).rates)
    assert each is not None
    assert (each.messages, each.others) == (messages, others)


def test_a_study_without_ceilings_is_refused() -> None:
    with pytest.raises(UserError, match="no ceiling of messages on one host"):
        study_ceilings(results())
    assert study_ceilings(results(("near", 8, 1.0), benchmark="rate")).times == []


def test_persistent_messages_are_known_as_others_are() -> None:
    study = results(("near", 8, 0.004), benchmark="rate")
    found = trace(
        entry("MPI_Start", made_by="MPI_Send_init"),
        entry("MPI_Startall", made_by="MPI_Recv_init"),
        entry("MPI_Start", made_by="MPI_Bcast_init", peer="none"),
    )
    each = unblocked(found, study_ceilings(study).rates)
    assert each is not None
    assert (each.messages, each.known, each.others) == (10, 10, 10)
    assert each.seconds == pytest.approx(2e-4)
