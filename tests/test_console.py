# SPDX-License-Identifier: Apache-2.0
"""Nothing that is shown can steer the terminal."""

import io

import pytest
from rich.table import Table

from nearpeak.console import PlainConsole, harmless

BAD = "a[bold]b\x1b[2J\x07\u202ec :smile:"
SHOWN = "a[bold]b\ufffd[2J\ufffd\ufffdc :smile:"


def test_lines_and_tabs_stay() -> None:
    assert harmless("a\tb\nc\rd") == "a       b\nc\ufffdd"


def test_strings_and_tables_are_plain_text() -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, width=100)
    console.print(BAD)
    console.print(f"first\n{BAD}", style="bold")
    table = Table(BAD, title=BAD)
    table.add_row(BAD)
    grid = Table.grid()
    grid.add_row(BAD)
    console.print(table, grid)
    text = out.getvalue()
    assert text.count(SHOWN) == 6
    assert all(line.isprintable() for line in text.split("\n"))


def test_colours_are_the_consoles_own() -> None:
    out = io.StringIO()
    PlainConsole(file=out, force_terminal=True, color_system="standard").print(BAD, style="red")
    assert out.getvalue() == f"\x1b[31m{SHOWN}\x1b[0m\n"


def test_in_a_file_nothing_is_wrapped_or_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    long = " ".join(f"word{number}" for number in range(60))
    name = "n" * 150
    table = Table("Name", "What", "Where", box=None)
    table.columns[0].no_wrap = True
    table.add_row(name, long, name)
    out = io.StringIO()
    console = PlainConsole(file=out)
    console.print(long)
    console.print(table)
    assert out.getvalue().count(long) == 2
    assert out.getvalue().count(name) == 2
    assert "\u2026" not in out.getvalue()


def test_who_says_how_wide_it_is_gets_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = io.StringIO()
    PlainConsole(file=out).print("word " * 20)
    assert max(map(len, out.getvalue().splitlines())) <= 40
