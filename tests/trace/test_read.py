# SPDX-License-Identifier: Apache-2.0
"""Files of ranks that are made up, and what is made of them: sums, ceilings, the table."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nearpeak.errors import UserError
from nearpeak.report.traced import outstanding, print_trace, problems
from nearpeak.trace.ceilings import ceilings, known, unblocked
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
from nearpeak.trace.trace import SCHEMA, Entry, Rank, Trace

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
    """As bench/trace/table.cpp has it: each thread has the same cells."""
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


def entry(operation: str = "MPI_Send", size: int | None = 8, **more: Any) -> Entry:
    values = {
        **{"memory": "host", "peer": "same host", "calls": 10, "bytes": 100, "seconds": 1e-4},
        **more,
    }
    return Entry(operation=operation, size_bytes=size, longest_seconds=2e-5, **values)


def ran(rank: int = 0, **more: Any) -> Rank:
    values = {
        **{"host": "here", "process": 1 + rank, "run_seconds": 1e-3, "mpi_seconds": 2e-4},
        **{"threads": 1, "finalized": True, "world": 1, "launched": 0, "calls": 10, "bytes": 100},
        **{"waiting_seconds": 1e-4, **more},
    }
    return Rank(rank=rank, **values)


def trace(*entries: Entry, **more: Any) -> Trace:
    values = {
        **{"exit_status": 0, "expected": 1, "missing": [], "wall_seconds": 1e-3},
        **{"ranks": [ran()], **more},
    }
    return Trace(
        schema=SCHEMA,
        nearpeak="0",
        command=["app"],
        library="mpich 5",
        entries=list(entries),
        **values,
    )


def results(*points: tuple[str, int, float], benchmark: str = "message") -> Any:
    """A study with these ceilings: path, size and microseconds, or of "rate" GB/s."""
    made = [
        SimpleNamespace(
            unit="us" if benchmark == "message" else "GB/s",
            kind="measured",
            fact=False,
            value=value,
            by_library=value,
            place=SimpleNamespace(path=path, hosts=1, transport="memory", ends=("host", "host")),
            case=SimpleNamespace(benchmark=benchmark, buffers="H,H", x=size),
        )
        for path, size, value in points
    ]
    known = [
        SimpleNamespace(name="message", one_message=True, one_way=False),
        SimpleNamespace(name="rate", one_message=False, one_way=True),
    ]
    return SimpleNamespace(study="s", benchmarks=known, ceilings=made)


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
    [ceiling] = ceilings(found, known(study).times)
    assert (ceiling.entry, ceiling.path, ceiling.size_bytes) == (0, "near", 8)
    assert ceiling.seconds == pytest.approx(1e-6)
    assert ceiling.saved_seconds == pytest.approx(1e-4 - 1e-5)


def test_the_quickest_path_is_that_of_a_library() -> None:
    study = results(("near", 8, 3.0), ("far", 8, 2.0))
    study.ceilings[0].value = 1.0  # by means that a library does not have
    [ceiling] = ceilings(trace(entry()), known(study).times)
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
    points = known(study).rates
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
    each = unblocked(halo, known(results(("near", 8, 1.0), benchmark="rate")).rates)
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
    each = unblocked(found, known(results(("near", 8, 1.0), benchmark="rate")).rates)
    assert each is not None
    assert (each.messages, each.others) == (messages, others)


def test_a_study_without_ceilings_is_refused() -> None:
    with pytest.raises(UserError, match="no ceiling of messages on one host"):
        known(results())
    assert known(results(("near", 8, 1.0), benchmark="rate")).times == []


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    found = trace(entry(), entry("MPI_Barrier", None, peer="none", bytes=0))
    found.ceilings = ceilings(found, known(results(("near", 8, 1.0))).times)
    print_trace(found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == (
        "mpich 5: 1 rank on 1 host. The run took 0.00100 s; added up over ranks 0.00100 s, of these"
        " 0.000200 s in MPI (20.0 %)"
    )
    send = next(line for line in lines if line.startswith("MPI_Send"))
    words = ["MPI_Send", "8", "B", "host", "same", "host", "10", "100", "0.000100", "50.0", "10.0"]
    assert send.split() == [*words, "10.0", "20.0", "0.00100", "1.00", "9.00e-05"]
    barrier = next(line for line in lines if line.startswith("MPI_Barrier"))
    assert barrier.split()[1] == "10"
    saved = "took no longer than that, at most 9.00e-05 s would be saved."
    assert any(saved in line for line in lines)


def test_what_is_told_of_messages_that_nobody_waits_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = trace(entry("MPI_Isend"), entry("MPI_Isend", size=64))
    points = known(results(("near", 8, 0.004), benchmark="rate")).rates
    found.unblocked = unblocked(found, points)
    print_trace(found)
    told = (
        "20 messages by calls that do not wait: 0.000200 s in these calls and in waiting for them."
        " Without MPI the path carries 10 of them in 2.50e-05 s, so at most 0.000175 s would be"
        " saved."
    )
    assert told in capsys.readouterr().out.replace("\n", " ")
    found.unblocked.least_seconds, found.unblocked.others = 1.0, 3
    print_trace(found)
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "in 1.00 s, so this ceiling says nothing of them: it is of one direction at a time" in out
    )
    found.ranks = [ran(run_seconds=2.0)]
    print_trace(found)
    out = " ".join(capsys.readouterr().out.split())
    assert "waiting for them. 3 other operations are in that time too." in out
    assert "in 1.00 s, so they went on beside the application's own work." in out


def test_many_rows_are_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    found = trace(*(entry(f"MPI_{number}") for number in range(27)))
    print_trace(found)
    assert "... and 2 rows of 0.000200 s: see --all" in capsys.readouterr().out
    print_trace(found, show_all=True)
    out = capsys.readouterr().out
    assert "MPI_26" in out
    assert "--all" not in out


def test_what_does_not_wait_has_no_rate(capsys: pytest.CaptureFixture[str]) -> None:
    print_trace(trace(entry("MPI_Isend", begins=True), entry("MPI_Start", made_by="MPI_Send_init")))
    isend, start = (line for line in capsys.readouterr().out.splitlines() if "same host" in line)
    assert isend.rstrip().endswith("20.0")
    assert start.startswith("MPI_Start (MPI_Send_init)")
    assert start.rstrip().endswith("0.00100")


def test_the_ranks_and_who_has_the_most(capsys: pytest.CaptureFixture[str]) -> None:
    slow = ran(1, host="there", world=3, mpi_seconds=1e-4, bytes=500, waiting_seconds=0.0)
    ranks = [ran(0, world=3), slow, ran(2, world=3, mpi_seconds=3e-4)]
    print_trace(trace(entry(), ranks=ranks, expected=3))
    lines = capsys.readouterr().out.splitlines()
    assert "3 ranks on 2 hosts" in lines[1]
    rows = [line.split() for line in lines]
    assert ["1", "there", "0.00100", "0.000100", "10.0", "0", "10", "500"] in rows
    told = " ".join(lines)
    assert "Most loaded is rank 1 on there: outside of MPI 0.000900 s, the median of ranks" in told
    assert "Longest in MPI is rank 2 on here: 0.000300 s" in told
    assert "Most bytes has rank 1 on there: 500 B, the median of ranks 100 B." in told


def test_ranks_that_are_alike_have_nobody_with_the_most(capsys: pytest.CaptureFixture[str]) -> None:
    alike = [ran(rank, world=2, bytes=500, mpi_seconds=1e-4) for rank in range(2)]
    print_trace(trace(entry(), ranks=alike, expected=2))
    told = " ".join(capsys.readouterr().out.split())
    assert "Outside of MPI: 0.000900 s on each rank. In MPI: 0.000100 s on each rank." in told
    assert "Bytes: 500 B on each rank." in told
    assert "the median of ranks" not in told


def test_of_many_ranks_the_outermost_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ranks = [ran(rank, world=40, mpi_seconds=1e-5 * (rank + 1)) for rank in range(40)]
    found = trace(entry(), ranks=ranks, expected=40)
    print_trace(found)
    out = capsys.readouterr().out
    shown = [
        int(line.split()[0]) for line in out.splitlines() if " here " in line and line[0] == " "
    ]
    assert shown == [*range(8), *range(32, 40)]
    assert "... and 24 ranks between these: see --all" in out
    print_trace(found, show_all=True)
    assert "24 ranks" not in capsys.readouterr().out


def test_with_threads_nobody_knows_who_was_loaded() -> None:
    lines = outstanding([ran(0, threads=2), ran(1)])
    assert not any("loaded" in line for line in lines)


def test_what_is_missing_is_told() -> None:
    found = trace(entry(), exit_status=3, expected=5, missing=[1, 2, 4])
    found.ranks[0].finalized = False
    found.ranks[0].lost = 5
    assert problems(found) == [
        "The command ended with exit status 3: below is what it did before",
        "No counts of ranks 1 to 2, 4 of 5: all that is shown is of ranks on here. Other hosts need"
        " the folder that TMPDIR names and Nearpeak's cache at the same place; where Open MPI's"
        " launcher has options -x, add `-x LD_PRELOAD -x NEARPEAK_TRACE` (docs/trace.md)",
        "1 rank did not come to MPI_Finalize",
        "5 calls were not counted: of too many threads, or TMPDIR is full",
    ]
    assert problems(trace(entry())) == []


def test_ranks_that_are_each_alone_are_told() -> None:
    [line] = problems(trace(entry(), ranks=[ran(), ran()]))
    assert line == (
        "2 processes ran, each as the only rank of its own MPI_COMM_WORLD: if they belong together,"
        " their launcher is another library's"
    )
    [line] = problems(trace(entry(), ranks=[ran(launched=2), ran(launched=2)]))
    assert line.endswith(
        ", though the launcher says that it started 2 ranks: it is not the launcher of mpich 5"
    )


@pytest.mark.parametrize("spawn", ["MPI_Comm_spawn", "MPI_Comm_spawn_multiple"])
def test_ranks_that_others_spawned_have_no_other_launcher(spawn: str) -> None:
    made = entry(spawn, None, peer="none", bytes=0)
    assert problems(trace(entry(), made, ranks=[ran(), ran(), ran()])) == []


def test_persistent_messages_are_known_as_others_are() -> None:
    study = results(("near", 8, 0.004), benchmark="rate")
    found = trace(
        entry("MPI_Start", made_by="MPI_Send_init"),
        entry("MPI_Startall", made_by="MPI_Recv_init"),
        entry("MPI_Start", made_by="MPI_Bcast_init", peer="none"),
    )
    each = unblocked(found, known(study).rates)
    assert each is not None
    assert (each.messages, each.known, each.others) == (10, 10, 10)
    assert each.seconds == pytest.approx(2e-4)
