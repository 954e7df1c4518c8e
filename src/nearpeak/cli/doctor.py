# SPDX-License-Identifier: Apache-2.0
"""`nearpeak doctor`: what on this machine will spoil a measurement."""

from typing import Annotated

import typer

from nearpeak.cli import print_json

SCHEMA = 1
STYLES = {"bad": "bold red", "warn": "yellow", "ok": "green"}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="doctor")(doctor)


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ranks: Annotated[int, typer.Option(min=1, help="Ranks that will run on this host.")] = 2,
) -> None:
    """Show what on this machine will spoil a measurement, and what to do about it.

    Exit status: 0 if nothing is bad, 1 otherwise.

    Examples: nearpeak doctor | nearpeak doctor --ranks 4 | nearpeak doctor --json
    """
    from nearpeak.machine.doctor import examine

    findings = examine(ranks=ranks)
    if json:
        whole = {"schema": SCHEMA, "ranks": ranks, "findings": findings}
        print_json(whole)
    else:
        from rich.table import Table
        from rich.text import Text

        from nearpeak.console import PlainConsole, harmless

        console = PlainConsole()
        table = Table(box=None, show_header=False, pad_edge=False)
        for finding in findings:
            said = Text(harmless(finding.message))
            if finding.hint:
                said.append(harmless(f"\n-> {finding.hint}"), style="dim")
            table.add_row(Text(finding.severity, style=STYLES[finding.severity]), finding.id, said)
        console.print(table)
    if any(finding.severity == "bad" for finding in findings):
        raise typer.Exit(1)
