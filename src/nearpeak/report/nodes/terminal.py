# SPDX-License-Identifier: Apache-2.0
"""What is slow among nodes, on the terminal."""

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.nodes.found import Found
from nearpeak.numbers import number, probability
from nearpeak.report.nodes import words

LISTED = 30  # verdicts; the page has more, nodes.json all


def print_found(found: Found, page: Path | None) -> None:
    """What is slow, what is usual, and of a few nodes every pair."""
    console = PlainConsole()
    console.print(f"\n{found.library} {found.version}, {words.covered(found)}")
    for curve in found.curves:
        console.print(words.usual(found, curve))
    for table in _tables(found):
        console.print()
        console.print(table)
    if len(found.verdicts) > LISTED:
        console.print(f"and {len(found.verdicts) - LISTED} more: see nodes.json")
    if found.told_apart and found.tests:
        console.print(f"\n{words.tests(found)}")
    for line in found.wrong:
        console.print(f"WRONG DATA: {line}", style="bold red")
    for judged in found.requirements:
        text = f"Required {judged.requirement}: {words.required(found, judged)}"
        console.print(text, style="" if judged.met else "bold red", soft_wrap=True)
    where = "" if page is None else f"; {page}"
    console.print(f"\n{words.conclusion(found)}{where}", style="bold", soft_wrap=True)


def _tables(found: Found) -> Iterator[Table]:
    if found.pairs:
        yield _pairs(found)
    if found.verdicts:
        yield _verdicts(found)


def _pairs(found: Found) -> Table:
    both = words.has_alone(found)
    table = _table("Pair", "us", "GB/s both ways", *(("us alone", "GB/s alone") if both else ()))
    for pair in found.pairs:
        alone = (pair.latency_alone_us, pair.bandwidth_alone_gbs) if both else ()
        values = (pair.latency_us, pair.bandwidth_gbs, *alone)
        table.add_row(" - ".join(pair.nodes), *map(number, values))
    return table


def _verdicts(found: Found) -> Table:
    table = _table("Slow", "", "times as long", "95 %", "p", "alone", "launches")
    for verdict in found.verdicts[:LISTED]:
        table.add_row(
            f"{verdict.kind} {words.subject(verdict)}",
            f"{words.name(verdict.metric)}, {verdict.mode}",
            number(verdict.times),
            words.interval(verdict),
            probability(verdict.p_value),
            words.alone(verdict),
            str(verdict.launches),
        )
    return table


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="left" if title in (titles[0], "") else "right")
    return table
