# SPDX-License-Identifier: Apache-2.0
"""The recorded conformance runs: what is shown of them is what their records say."""

import re
from collections import Counter
from pathlib import Path

import pytest

from answers import check_short
from nearpeak.conform import journal
from nearpeak.conform.build import build, to_json
from nearpeak.conform.present import present
from nearpeak.document.page import render

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNS = sorted(file.parent.relative_to(EXAMPLES) for file in EXAMPLES.rglob("conform.jsonl"))


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_it_is_made_again_from_its_records(run: Path) -> None:
    found = build(journal.read(EXAMPLES / run))
    assert to_json(found) == (EXAMPLES / run / "conform.json").read_text()


def test_the_page_is_made_again() -> None:
    run = EXAMPLES / "conform" / "h200x2"
    assert render(present(build(journal.read(run)))) == (run / "conform.html").read_text()


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_its_answer_is_short(run: Path) -> None:
    check_short(present(build(journal.read(EXAMPLES / run))))


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_every_file_that_a_command_names_is_there(run: Path) -> None:
    folder = EXAMPLES / run
    named = set(re.findall(r"/cases/([^\s'\"]+)", (folder / "conform.json").read_text()))
    assert named == {file.name for file in folder.glob("cases/*")}


def test_the_table_of_the_readme_is_what_the_runs_say() -> None:
    text = (EXAMPLES / "conform" / "README.md").read_text(encoding="utf-8")
    table = [line.split("|")[2:-1] for line in text.splitlines() if line.startswith("|")]
    rows = [list(map(int, row)) for row in table if all(cell.strip().isdigit() for cell in row)]
    found = []
    for run, name in (
        ("h200x2", "openmpi-cuda"),  # it was ended in the other library's cases
        ("h200x2-intel", "intel"),
        ("h100-intel", "intel"),
        ("h100-mpich-layer", "mpich+layer"),
        ("h100-openmpi-layer", "openmpi+layer"),
        ("h100-intel-layer", "intel+layer"),
    ):
        libraries = build(journal.read(EXAMPLES / "conform" / run)).libraries
        library = next(each for each in libraries if each.library == name)
        ends = Counter(outcome.status for outcome in library.outcomes)
        kinds = ("ok", "refused", "crashed", "wrong data", "leaks", "hung", "not tried")
        counts = [ends[kind] for kind in kinds]
        found.append([library.planned, *counts, library.planned - sum(counts)])
    assert rows == found
