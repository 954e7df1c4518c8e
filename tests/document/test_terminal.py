# SPDX-License-Identifier: Apache-2.0
"""Documents on the terminal: findings in a window and in a file."""

import io

import pytest

from nearpeak.console import PlainConsole
from nearpeak.document.model import (
    Column,
    Document,
    Finding,
    Findings,
    Row,
    Rows,
    Section,
    Table,
    Value,
)
from nearpeak.document.terminal import print_block, print_document

COMMAND = "nearpeak tune --mpi openmpi-cuda --path 'host-gpu near' --buffers H,D --for latency:16M"
LONG = Finding(
    "openmpi, host-gpu near: latency H,D 16 MiB goes in pieces: 2,037 x cuMemcpyAsync of 8,236 B",
    "Have larger pieces, or another protocol for such messages. Search for settings:",
    COMMAND,
    doubt="Few messages show it.",
    origin="settings",
)


def printed(finding: Finding, **options: object) -> list[str]:
    stream = io.StringIO()
    document = Document("", "", [], [Section("", [Findings([finding])])])
    print_document(document, console=PlainConsole(file=stream, **options))
    return [line.rstrip() for line in stream.getvalue().strip().splitlines()]


@pytest.mark.parametrize("width", [80, 100])
def test_a_long_finding_keeps_its_words_and_its_command_one_line(width: int) -> None:
    lines = printed(LONG, width=width)
    assert lines[-1] == f"   {COMMAND}"
    assert max(map(len, lines[:-1])) <= width
    assert " ".join(" ".join(lines[:-1]).split()) == (
        f"1. Unconfirmed: {LONG.text} Settings: have{LONG.action[4:]}"
    )
    assert all(line.startswith("   ") for line in lines[1:])


def test_a_short_command_stands_behind_its_words() -> None:
    assert printed(Finding("slow", "Bind it."), width=100) == ["1. slow", "   Bind it."]
    assert printed(Finding("slow"), width=100) == ["1. slow"]
    assert printed(Finding("slow", "See why:", "nearpeak explain"), width=100) == [
        "1. slow",
        "   See why: nearpeak explain",
    ]


def test_in_a_file_no_line_of_a_finding_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    long = Finding(LONG.text * 3, LONG.action)
    assert printed(long) == [f"1. {long.text}", f"   {long.action}"]


def test_groups_of_a_compact_table_share_its_heading() -> None:
    groups = [Rows(title, [Row("row", {"a": Value(1.0)})]) for title in ("first", "second")]
    heads = []
    for compact in (True, False):
        stream = io.StringIO()
        table = Table("", "", "name", [Column("a", "time")], groups, heads=True, compact=compact)
        print_block(table, PlainConsole(file=stream, width=80))
        heads.append([line.split()[0] for line in stream.getvalue().splitlines() if line.strip()])
    assert heads[0] == ["name", "first", "row", "second", "row"]
    assert heads[1] == ["first", "name", "row", "second", "name", "row"]
