# SPDX-License-Identifier: Apache-2.0
"""Nothing that is shown can steer the terminal."""

import io

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
