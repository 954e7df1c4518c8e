# SPDX-License-Identifier: Apache-2.0
"""Where the time of a traced application goes, drawn."""

import re
import sys
from xml.etree import ElementTree

import pytest

from nearpeak.report.traced.drawing import NAMED, SHOWN, operations, ranks
from nearpeak.trace.trace import Ceiling

made = sys.modules["made_trace"]  # loaded by tests/conftest.py
entry, ran, trace = made.entry, made.ran, made.trace


def test_bars_are_shares_of_the_longest_operation() -> None:
    waits = entry("MPI_Barrier", None, peer="none", bytes=0, seconds=5e-5)
    first, second = operations(trace(entry(memory="device"), waits))
    assert (first.label, second.label) == ("MPI_Send 8 B, device, same host", "MPI_Barrier")
    assert [(part.kind, part.share) for part in first.parts] == [("call", 1.0)]
    assert [(part.kind, part.share) for part in second.parts] == [("wait", 0.5)]


def test_what_the_path_needs_is_a_part_of_its_own() -> None:
    found = trace(entry())
    found.ceilings = [Ceiling(entry=0, path="p", size_bytes=8, seconds=2.5e-6, saved_seconds=75e-6)]
    [bar] = operations(found)
    assert [part.kind for part in bar.parts] == ["path", "call"]
    assert [part.share for part in bar.parts] == pytest.approx([0.25, 0.75])
    assert bar.words.endswith("the path needs 2.50e-05 s")


def test_the_longest_are_drawn_and_nothing_of_nothing() -> None:
    assert len(operations(trace(*(entry() for _ in range(SHOWN + 3))))) == SHOWN
    assert operations(trace()) == []
    assert operations(trace(entry(seconds=0.0))) == []


def heights(drawn: str, kind: str) -> list[float]:
    root = ElementTree.fromstring(drawn)
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
