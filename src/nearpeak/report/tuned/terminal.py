# SPDX-License-Identifier: Apache-2.0
"""The result of a tuning, on the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.libraries.profiles import Evidence
from nearpeak.numbers import number
from nearpeak.report.tuned import words
from nearpeak.tune.tuned import Tuned

LEFT = ("", "verdict", "CPUs apart")  # columns of text
LISTED = 8  # lines of each list; the report and tune.json have all


def print_tuned(tuning: Tuned, files: Mapping[str, Sequence[Path]], report: Path) -> None:
    """Prints the figures before and after, the losses, and the files written. `files`: the files of
    each profile, by where it may be used; the profile itself comes first."""
    console = PlainConsole()
    console.print(f"\n{words.sentence(tuning)}", style="bold")
    for setting in words.settings(tuning):
        console.print(f"  {setting}")
    if tuning.rules:
        console.print(f"\n{words.RULES_CAPTION}:")
        console.print(_rules(tuning))
    if tuning.evidence:
        console.print()
        console.print(_table(tuning.evidence))
        console.print("[a, b]: 95 % interval, of launches that took no part in the search")
        if text := words.distances_note(tuning):
            console.print(text)
    for title, lines in words.lists(tuning):
        console.print(f"\n{title}:")
        for line in lines[:LISTED]:
            console.print(f"  {line}")
        if len(lines) > LISTED:
            console.print(f"  and {len(lines) - LISTED} more: see the report")
    console.print(f"\n{words.searched(tuning)}")
    if unused := words.unused(tuning):
        console.print(unused)
    for scope, written in files.items():
        console.print(f"Written: {', '.join(map(str, written))}", soft_wrap=True)
        console.print(f"To use it {scope}: --mpi {tuning.library}@{written[0]}", soft_wrap=True)
    console.print(f"Report: {report}", soft_wrap=True)


def _rules(tuning: Tuned) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in words.RULES:
        table.add_column(title, justify="right" if title in ("ranks", "from") else "left")
    for row in words.rules(tuning):
        table.add_row(*row)
    return table


def _table(rows: Sequence[Evidence]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    apart = ["CPUs apart"] if any(row.apart for row in rows) else []
    for title in ("as it is", "tuned", "", "ceiling", "times as fast", "verdict", *apart):
        table.add_column(title, justify="left" if title in LEFT else "right")
    for row in rows:
        table.add_row(
            row.case,
            number(row.before),
            number(row.after),
            row.unit,
            "" if row.ceiling is None else number(row.ceiling),
            f"{number(row.times)}{words.interval(row.ci95)}",
            row.verdict,
            *([row.apart] if apart else []),
        )
    return table
