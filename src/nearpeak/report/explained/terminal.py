# SPDX-License-Identifier: Apache-2.0
"""The budgets of messages on the terminal."""

from pathlib import Path

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.numbers import NOTHING, number, percent
from nearpeak.observations.explained import Budget, Explanation
from nearpeak.report.explained import words

SAID_LINES = 8


def print_explanation(explanation: Explanation, page: Path | None) -> None:
    """Prints a table for each message."""
    console = PlainConsole()
    for case in explanation.cases:
        label = (
            f"{words.library(explanation)}, {explanation.path}, {words.title(explanation, case)}"
        )
        console.print(f"\n{label}: {words.figures(case)}", style="bold", soft_wrap=True)
        for doubt in words.doubts(case):
            console.print(f"Note: {doubt}", soft_wrap=True)
        for budget in case.budgets:
            console.print(
                f"\n{words.leg(budget, explanation)}: {words.sum_of(budget)}", soft_wrap=True
            )
            console.print(_table(budget))
            for line in filter(None, [*words.sample_lines(budget), words.accounted(budget)]):
                console.print(line, soft_wrap=True)
        for line in filter(None, [words.accounted_together(case), *words.counters(case)]):
            console.print(line, soft_wrap=True)
        for statement in explanation.said:
            if statement.size_bytes == case.size_bytes:
                if statement.protocols:
                    console.print(f"It says with {statement.asked}:", soft_wrap=True)
                for protocol in statement.protocols[:SAID_LINES]:
                    console.print(f"  {protocol}", soft_wrap=True)
    for size in words.failed(explanation):
        console.print(f"\nNote: {size}", soft_wrap=True)
    if command := words.search(explanation):
        console.print(f"\nTo search for settings that make it faster: {command}", soft_wrap=True)
    if page:
        console.print(f"\nReport: {page}", soft_wrap=True)


def _table(budget: Budget) -> Table:
    table = Table("Who", "What", box=None, pad_edge=False)
    for heading in ("Each µs", "All µs", "Share µs", "%"):
        table.add_column(heading, justify="right")
    for part in words.shown(budget):
        table.add_row(
            words.who(part),
            part.label + part.beside,
            number(part.mean_us),
            number(part.busy_us),
            number(part.time_us),
            percent(part.time_us / budget.time_us),
        )
    rest = words.others_us(budget)
    for label, us in (
        ("all else that was seen", rest),
        ("not accounted for", budget.not_accounted_us),
    ):
        table.add_row("", label, NOTHING, NOTHING, number(us), percent(us / budget.time_us))
    return table
