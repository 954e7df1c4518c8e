# SPDX-License-Identifier: Apache-2.0
"""Files of ranks that are made up, and what is made of them: sums, ceilings, the table."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nearpeak.errors import UserError
from nearpeak.report.traced import print_trace, problems
from nearpeak.trace.ceilings import ceilings, known, unblocked
from nearpeak.trace.model import SCHEMA, Entry, Rank, Trace
from nearpeak.trace.read import CELL, HEADER, NAME_BYTES, Unreadable, merge, read, smallest

SHAPE = (3, 50, 2, 5)  # operations, sizes, memories, peers
TICKS = 2  # in a nanosecond


def rank_file(
    folder: Path,
    rank: int,
    cells: list[tuple[tuple[int, int, int, int], tuple[int, int, int, int]]],
    *,
    finalized: int = 3_000_000_000,
    threads: int = 1,
) -> Path:
    """As bench/trace/table.cpp has it: each thread has the same cells."""
    names = [b"MPI_Send", b"MPI_Recv", b"MPI_Barrier"]
    head = HEADER.pack(
        *(b"NPTRACE\0", 4096, 8 + int(np.prod(SHAPE)) * CELL.itemsize, *SHAPE),
        *(1000, 0, 1000 + TICKS * 10**9, 10**9, 1_000_000_000, finalized),
        *(0, rank, 2, 77 + rank, threads, b"here"),
    )
    head += b"".join(name.ljust(NAME_BYTES, b"\0") for name in names)
    table = np.zeros(SHAPE, CELL)
    for place, values in cells:
        table[place] = values
    body = (2_000_000_000).to_bytes(8, "little") + table.tobytes()
    file = folder / f"here-{rank}.trace"
    file.write_bytes(head.ljust(4096, b"\0") + threads * body)
    return file


SENT = ((0, 4, 0, 2), (10, 40, 2000, 800))
AT_BARRIER = ((2, 0, 0, 0), (1, 0, 4000, 4000))


def test_a_file_is_read(tmp_path: Path) -> None:
    left = read(rank_file(tmp_path, 1, [SENT, AT_BARRIER]))
    assert left.ranks == 2
    assert left.rank == Rank(
        rank=1,
        host="here",
        process=78,
        run_seconds=1.0,
        mpi_seconds=pytest.approx(3e-6),
        threads=1,
        finalized=True,
    )
    send, barrier = left.entries
    assert (send.operation, send.size_bytes, send.memory, send.peer) == (
        *("MPI_Send", 4, "host", "same host"),
    )
    assert (send.calls, send.bytes) == (10, 40)
    assert send.seconds == pytest.approx(1e-6)
    assert send.longest_seconds == pytest.approx(4e-7)
    assert (barrier.operation, barrier.size_bytes, barrier.peer) == ("MPI_Barrier", None, "none")


def test_threads_are_summed_and_a_crash_ends_with_the_last_call(tmp_path: Path) -> None:
    left = read(rank_file(tmp_path, 0, [SENT], finalized=0, threads=3))
    assert not left.rank.finalized
    assert left.rank.run_seconds == pytest.approx(0.5)
    [send] = left.entries
    assert (send.calls, send.bytes) == (30, 120)
    assert send.longest_seconds == pytest.approx(4e-7)


def test_ranks_are_merged_the_longest_first(tmp_path: Path) -> None:
    left = [read(rank_file(tmp_path, rank, [SENT, AT_BARRIER])) for rank in (0, 1)]
    barrier, send = merge(left)
    assert (barrier.operation, barrier.calls) == ("MPI_Barrier", 2)
    assert barrier.seconds == pytest.approx(4e-6)
    assert barrier.longest_seconds == pytest.approx(2e-6)
    assert (send.calls, send.bytes) == (20, 80)


def test_classes_of_sizes() -> None:
    assert [smallest(one) for one in (0, 1, 2, 3, 4, 12)] == [None, 0, 1, 2, 4, 1024]


@pytest.mark.parametrize("keep", [0, 100, 5000])
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


def trace(*entries: Entry, **more: Any) -> Trace:
    ranks = [
        Rank(
            rank=0,
            host="here",
            process=1,
            run_seconds=1e-3,
            mpi_seconds=2e-4,
            threads=1,
            finalized=True,
        )
    ]
    values = {"exit_status": 0, "expected": 1, "ranks": ranks, **more}
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
    [one] = ceilings(found, known(study).times)
    assert (one.entry, one.path, one.size_bytes) == (0, "near", 8)
    assert one.seconds == pytest.approx(1e-6)
    assert one.saved_seconds == pytest.approx(1e-4 - 1e-5)


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
    one = unblocked(found, points)
    assert one is not None
    assert (one.messages, one.known, one.others) == (20, 10, 10)
    assert one.seconds == pytest.approx(5e-4)
    assert one.least_seconds == pytest.approx(100 / 0.004e9)
    assert one.saved_seconds == pytest.approx(4.75e-4)
    assert unblocked(trace(entry("MPI_Waitall", None)), points) is None
    assert unblocked(found, []) is None


@pytest.mark.parametrize(
    ("operation", "messages", "others"),
    [
        ("MPI_Isendrecv", 20, 0),
        ("MPI_Irecv", 10, 0),
        ("MPI_Iprobe", 10, 0),
        ("MPI_Improbe", 10, 0),
        ("MPI_Ineighbor_alltoall", 10, 10),
        ("MPI_Startall", 10, 10),
        ("MPI_Rget_accumulate", 10, 10),
        ("MPI_Reduce", 10, 0),
    ],
)
def test_what_else_is_waited_for_is_counted(operation: str, messages: int, others: int) -> None:
    found = trace(entry("MPI_Isend"), entry(operation))
    one = unblocked(found, known(results(("near", 8, 1.0), benchmark="rate")).rates)
    assert one is not None
    assert (one.messages, one.others) == (messages, others)


def test_a_study_without_ceilings_is_refused() -> None:
    with pytest.raises(UserError, match="no ceiling of messages on one host"):
        known(results())
    assert known(results(("near", 8, 1.0), benchmark="rate")).times == []


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    found = trace(entry(), entry("MPI_Barrier", None, peer="none", bytes=0))
    found.ceilings = ceilings(found, known(results(("near", 8, 1.0))).times)
    print_trace(found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == ("mpich 5: 1 rank ran 0.00100 s in all, 0.000200 s of these in MPI (20.0 %)")
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


def test_what_is_missing_is_told() -> None:
    found = trace(entry(), exit_status=3, expected=4)
    found.ranks[0].finalized = False
    found.ranks[0].lost = 5
    assert problems(found) == [
        "The command ended with exit status 3: below is what it did before",
        "3 ranks of 4 left nothing: see docs/trace.md",
        "1 rank did not come to MPI_Finalize",
        "5 calls of too many threads were not counted",
    ]
    assert problems(trace(entry())) == []
