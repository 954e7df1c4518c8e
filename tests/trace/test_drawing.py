# SPDX-License-Identifier: Apache-2.0
"""Where the time of a traced application goes, drawn."""

import re
import sys
from xml.etree import ElementTree

import pytest

from nearpeak.trace.drawing import LONGEST, NAMED, SHOWN, operations, ranks
from nearpeak.trace.trace import Ceiling

made = sys.modules["made_trace"]  # loaded by tests/conftest.py
entry, ran, trace = made.entry, made.ran, made.trace


def bars(drawn: str) -> dict[str, list[tuple[str, float]]]:
    """The parts of the bars by their labels: kinds, and shares of the longest."""
    made = {}
    for lane in drawn.split('<div class="label">')[1:]:
        parts = re.findall(r'<i class="(\w+)" style="width:([\d.]+)%"', lane)
        made[lane.partition("<")[0]] = [(kind, float(width) / LONGEST) for kind, width in parts]
    return made


def test_bars_are_shares_of_the_longest_operation() -> None:
    waits = entry("MPI_Barrier", None, peer="none", bytes=0, seconds=5e-5)
    assert bars(operations(trace(entry(memory="device"), waits))) == {
        "MPI_Send 8 B, device, same host": [("call", 1.0)],
        "MPI_Barrier": [("wait", 0.5)],
    }


def test_what_the_path_needs_is_a_part_of_its_own() -> None:
    found = trace(entry())
    found.ceilings = [Ceiling(entry=0, path="p", size_bytes=8, seconds=2.5e-6, saved_seconds=75e-6)]
    drawn = operations(found)
    assert bars(drawn) == {"MPI_Send 8 B, same host": [("path", 0.25), ("call", 0.75)]}
    assert "in 10 calls; the path needs 2.50e-05 s" in drawn


def test_the_longest_are_drawn_and_nothing_of_nothing() -> None:
    drawn = bars(operations(trace(*(entry(f"MPI_{n}") for n in range(SHOWN + 3)))))
    assert len(drawn) == SHOWN
    assert operations(trace()) == ""
    assert operations(trace(entry(seconds=0.0))) == ""


def heights(drawn: str, kind: str) -> list[float]:
    root = ElementTree.fromstring(f"<div>{drawn}</div>")
    [path] = [path for path in root.iter("path") if path.get("class") == kind]
    return [float(height) for height in re.findall(r"v([\d.]+)", path.get("d", ""))]


def test_each_rank_is_a_column_of_three_parts() -> None:
    found = [
        ran(0, run_seconds=1.0, mpi_seconds=0.5, waiting_seconds=0.2),
        ran(1, run_seconds=0.5, mpi_seconds=0.1, waiting_seconds=0.0, host="<b>"),
    ]
    drawn = ranks(found)
    assert heights(drawn, "own") == pytest.approx([50, 40])
    assert heights(drawn, "call") == pytest.approx([30, 10])
    assert heights(drawn, "wait") == pytest.approx([20])
    assert "rank 1 on &lt;b&gt;: 0.400 s outside of MPI" in drawn


def test_of_several_threads_it_is_their_mean() -> None:
    found = [ran(0, run_seconds=1.0, mpi_seconds=3.0, waiting_seconds=1.0, threads=4)]
    assert heights(ranks(found), "own") == pytest.approx([25])
    assert heights(ranks(found), "wait") == pytest.approx([25])


def test_many_ranks_have_no_names_and_none_no_drawing() -> None:
    assert "<title>" in ranks([ran(rank) for rank in range(NAMED)])
    assert "<title>" not in ranks([ran(rank) for rank in range(NAMED + 1)])
    assert ranks([]) == ""
    assert ranks([ran(run_seconds=0.0)]) == ""
