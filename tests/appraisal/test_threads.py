# SPDX-License-Identifier: Apache-2.0
"""Tables of public threads get the verdicts that threads.toml has, and the document shows them."""

from pathlib import Path

import import_verdicts
import pytest
from import_verdicts import FOLDER, Thread

from nearpeak.report.appraisals import lines

THREADS = import_verdicts.threads()
MOST_LINES, WIDTH = 5, 100
INDENT = 2  # on a terminal


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread.file)
def test_a_table_gets_its_verdict(thread: Thread) -> None:
    appraisal = import_verdicts.appraised(thread)
    rules = [reason.rule for reason in appraisal.reasons]
    assert (appraisal.state, [*rules, ""][0]) == (thread.state, thread.rule)


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread.file)
def test_a_verdict_has_five_lines_at_most(thread: Thread) -> None:
    shown = list(lines(import_verdicts.appraised(thread)))
    assert len(shown) <= MOST_LINES
    assert max(map(len, shown)) <= WIDTH - INDENT


def test_enough_threads_have_an_answer_that_agrees() -> None:
    agreeing = [thread for thread in THREADS if thread.agrees == "yes"]
    later = [thread for thread in THREADS if thread.found != "before"]
    assert len({thread.thread for thread in THREADS}) >= 30
    assert len(agreeing) >= 20
    assert len(later) >= 10
    assert not [thread for thread in THREADS if thread.agrees == "no"]


def test_each_input_says_after_which_thread_it_was_written() -> None:
    names = {thread.file: thread.thread for thread in THREADS}
    assert names.keys() == {file.stem for file in FOLDER.glob("*.txt")}
    for name, thread in names.items():
        first = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith(f"Written by hand after {thread}:")


def test_the_document_has_the_tables() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs/methods/import-verdicts.md").read_text(encoding="utf-8")
    for table in (import_verdicts.known_table, import_verdicts.rule_table, import_verdicts.table):
        assert "\n".join(table()) in page
