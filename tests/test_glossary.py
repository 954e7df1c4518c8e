# SPDX-License-Identifier: Apache-2.0
"""GLOSSARY.md has each term once, in one sentence, and names code that there is."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

import definitions

ROOT: Path = definitions.ROOT
PAGE = ROOT / "GLOSSARY.md"
MOST_WORDS = 25
FOLDERS = (ROOT, definitions.PACKAGE, definitions.BENCH, definitions.PRELOAD)


class Entry(NamedTuple):
    """A row of the glossary."""

    group: str
    term: str
    meaning: str
    code: str


def entries() -> list[Entry]:
    """All rows, in order."""
    rows = []
    group = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
        elif line.startswith("| ") and not line.startswith("| Term |"):
            rows.append(Entry(group, *(cell.strip() for cell in line.strip("|").split("|"))))
    return rows


def is_known(name: str) -> bool:
    """True of a file or folder, and of a name that the sources define."""
    if "/" in name or "." in name:
        return any((folder / name).exists() for folder in FOLDERS)
    return name in definitions.everywhere()


def test_every_name_in_the_code_is_there() -> None:
    unknown = [
        (entry.term, name)
        for entry in entries()
        for name in re.findall(r"`([^`]+)`", entry.code)
        if not is_known(name)
    ]
    assert unknown == []


def test_a_name_stands_in_the_file_that_is_given_for_it() -> None:
    wrong = [
        (entry.term, name, file)
        for entry in entries()
        for name, file in re.findall(r"`(\w+)` in `([\w./]+)`", entry.code)
        for path in [next(folder / file for folder in FOLDERS if (folder / file).exists())]
        if name not in definitions.in_file(path)
    ]
    assert wrong == []


def test_every_term_has_a_place_in_the_code() -> None:
    assert [entry.term for entry in entries() if "`" not in entry.code] == []


def test_terms_are_unique() -> None:
    terms = [entry.term.lower() for entry in entries()]
    assert sorted(set(terms)) == sorted(terms)
    assert len(terms) >= 60


def test_terms_of_a_group_are_in_order() -> None:
    for group in {entry.group for entry in entries()}:
        terms = [entry.term.lower() for entry in entries() if entry.group == group]
        assert terms == sorted(terms), group


def test_a_meaning_is_one_short_sentence() -> None:
    long = [
        entry.term
        for entry in entries()
        if len(entry.meaning.split()) > MOST_WORDS or not entry.meaning.endswith(".")
    ]
    assert long == []


@pytest.mark.parametrize("name", ["Celling", "results/cell.py", "bench/appl", "found it"])
def test_an_unknown_name_is_seen(name: str) -> None:
    assert not is_known(name)
