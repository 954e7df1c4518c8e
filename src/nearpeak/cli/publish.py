# SPDX-License-Identifier: Apache-2.0
"""`nearpeak publish`: a copy of a study that may be shared."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.errors import UserError
from nearpeak.numbers import printable
from nearpeak.runs.messages import say

MOST_DOUBTS = 100  # that are listed
SHORTEST = 3  # of a word to hide: shorter ones are parts of sentences


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="publish")(publish)


def publish(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The folder of `nearpeak study`, `tune`, `conform` or `nodes`, or the file of"
            " `trace`.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="The copy: a new folder.")
    ],
    logs: Annotated[bool, typer.Option("--logs", help="Copy what launches printed, too.")] = False,
    hide: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Replace this, too: the name of a project, a site."),
    ] = None,
) -> None:
    """Copy a study or other recording with stand-ins for what is private.

    Names of hosts and users, private paths, UUIDs, serial numbers, MAC and IP addresses become
    host1, user1, dir1, gpu1, ... everywhere, also in command lines and messages. The copy gives the
    same figures to `report` and `compare`. OUT/replaced.json counts what was replaced.
    Of variables those of known names keep their values. What may be private still is listed.
    Look through the copy before you share it: only you know which other words are private.

    Examples: nearpeak publish study -o public | nearpeak publish study -o public --hide projectx |
    nearpeak publish conform -o public | nearpeak publish nodes -o public |
    nearpeak publish trace.json -o public
    """
    from rich.table import Table

    from nearpeak.console import PlainConsole
    from nearpeak.publish.copy import NAME
    from nearpeak.publish.copy import publish as copy
    from nearpeak.publish.look import look

    for word in hide or []:
        if len(word) < SHORTEST or not word.isprintable():
            raise UserError(f"--hide {word!r}: give a word of {SHORTEST} letters or more")
    summary = copy(folder, output, logs=logs, hidden=hide or [])
    table = Table(box=None, pad_edge=False)
    table.add_column("replaced")
    for name in ("names", "places"):
        table.add_column(name, justify="right")
    for replaced in summary.replaced:
        table.add_row(replaced.kind, str(replaced.names), str(replaced.places))
    PlainConsole().print(table)
    say(f"nearpeak: wrote {output}; {NAME} there has these counts")
    doubts = look(output, hide or [])
    if not doubts:
        return
    say("nearpeak: look at these before you share the copy: they may be private (--hide WORD)")
    for doubt in doubts[:MOST_DOUBTS]:
        repeats = f", {doubt.places} times" if doubt.places > 1 else ""
        say(f"  {doubt.file}:{doubt.line}: {doubt.what}: {printable(doubt.text)}{repeats}")
    if len(doubts) > MOST_DOUBTS:
        say(f"  and {len(doubts) - MOST_DOUBTS} more")
