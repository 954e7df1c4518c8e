# SPDX-License-Identifier: Apache-2.0
"""A history as a document."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.compare.load import load_side
from nearpeak.console import PlainConsole
from nearpeak.document.page import render
from nearpeak.document.terminal import print_document
from nearpeak.history.build import build
from nearpeak.history.courses import History
from nearpeak.history.present import present

MakeSides = Callable[..., Path]
MOST_LINES, MOST_WORDS, COLUMNS = 25, 250, 100


def printed(history: History, *, verbose: bool = False) -> str:
    text = io.StringIO()
    console = PlainConsole(file=text, width=COLUMNS)
    print_document(present(history), None, console, verbose=verbose)
    return text.getvalue()


def test_the_answer_is_short_and_has_the_reason(nightly: Path) -> None:
    text = printed(build(load_side([nightly]), 0.05))
    assert len(text.splitlines()) <= MOST_LINES
    assert len(text.split()) <= MOST_WORDS
    first = next(line for line in text.splitlines() if line)
    assert first.startswith("Slower: alpha on host-host same-numa, 0.7")
    assert "changed then: driver nvidia: 580 -> 590" in " ".join(text.split())
    assert "the path did not change" in " ".join(text.split())


def test_details_have_all_changes_of_facts(nightly: Path) -> None:
    text = printed(build(load_side([nightly]), 0.05), verbose=True)
    assert "session 5, 2026-01-05: driver cuda: 13.0 -> 13.1" in text


def test_an_accepted_change_is_shown_without_alarm(nightly: Path) -> None:
    text = printed(build(load_side([nightly]), 0.05, since="2026-01-22"))
    assert "Nothing became slower by more than 5 % since 2026-01-22" in " ".join(text.split())
    assert "Exit status" not in text


@pytest.mark.parametrize("sessions", [1, 3])
def test_few_sessions_say_how_many_are_needed(make_sides: MakeSides, sessions: int) -> None:
    made = [make_sides(f"{day}", day=day, blocks=2) for day in range(1, sessions + 1)]
    text = " ".join(printed(build(load_side(made), 0.05)).split())
    assert "a history takes 12 or more" in text
    assert "Exit status 3: nothing can be judged" in text


def test_the_page_escapes_and_draws_everything(make_sides: MakeSides) -> None:
    made = [
        make_sides(f"{day}", day=day, blocks=2, libraries=("<b>&",), nvidia=f"<i>{day}")
        for day in (1, 2)
    ]
    page = render(present(build(load_side(made), 0.05)))
    assert "<b>&" not in page
    assert "<i>2" not in page
    assert "&lt;i&gt;1 -&gt; &lt;i&gt;2" in page
    # Two places, four curves and twelve cases; the answer has the places again.
    assert page.count('<svg class="history"') == 2 + 2 + 4 + 12
