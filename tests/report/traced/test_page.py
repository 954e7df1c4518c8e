# SPDX-License-Identifier: Apache-2.0
"""The page of a traced application."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from nearpeak.report.traced.page import FOLDED, render, write_page
from nearpeak.trace.trace import Trace

if TYPE_CHECKING:
    from conftest import Browser

made = sys.modules["made_trace"]  # loaded by tests/conftest.py
entry, ran, trace = made.entry, made.ran, made.trace
RECORDED = Path(__file__).parents[3] / "examples" / "lammps" / "trace.json"


def test_all_text_is_escaped() -> None:
    nasty = '<i>&"'
    found = trace(entry(nasty), ranks=[ran(host=nasty)], exit_status=3)
    found.command, found.library = [nasty], nasty
    page = render(found)
    assert nasty not in page
    assert "<script" not in page
    assert "The command ended with exit status 3" in page


def test_where_and_when_it_ran_stands_at_the_top() -> None:
    page = render(trace(ranks=[ran(host="node7")], started="2026-11-28T06:46:12+00:00"))
    assert "mpich 5 · node7 · 2026-11-28 06:46 UTC · Nearpeak" in page
    assert "mpich 5 · here · Nearpeak" in render(trace())


def test_what_there_is_nothing_of_is_left_out() -> None:
    page = render(trace(ranks=[]))
    assert "By operation" not in page
    assert "By rank" not in page
    assert "0 ranks on 0 hosts" in page


def test_many_ranks_are_folded() -> None:
    few, many = ([ran(rank) for rank in range(number)] for number in (FOLDED, FOLDED + 1))
    assert "<details>" not in render(trace(entry(), ranks=few))
    assert f"All {FOLDED + 1} ranks" in render(trace(entry(), ranks=many))


@pytest.mark.parametrize("width", [1280, 360])
def test_a_recorded_run_is_drawn_in_silence(browser: "Browser", tmp_path: Path, width: int) -> None:
    recorded = msgspec.json.decode(RECORDED.read_bytes(), type=Trace)
    page = tmp_path / "trace.html"
    write_page(recorded, page)
    browser.open(page, width)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    bars = browser.evaluate(
        "[...document.querySelectorAll('figure.bars i.path, figure.bars i.call')]"
        ".map((bar) => bar.getBoundingClientRect().width)"
    )
    assert max(bars) > width / 5
    assert browser.evaluate("document.querySelectorAll('svg.ranks path').length") == 3
