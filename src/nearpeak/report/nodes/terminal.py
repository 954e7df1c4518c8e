# SPDX-License-Identifier: Apache-2.0
"""The slow nodes and links on the terminal."""

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.nodes.found import Found
from nearpeak.numbers import number, probability
from nearpeak.report.nodes import words

LISTED = 30  # verdicts; the page has more, nodes.json all


def print_found(results: Found, page: Path | None) -> None:
    """Prints the usual figures, the slow nodes and links, and every pair of a few nodes."""
    console = PlainConsole()
    console.print(f"\n{results.library} {results.version}, {words.covered(results)}")
    for curve in results.curves:
        console.print(words.usual(results, curve))
    for table in _tables(results):
        console.print()
        console.print(table)
    if len(results.verdicts) > LISTED:
        console.print(f"and {len(results.verdicts) - LISTED} more: see nodes.json")
    if results.told_apart and results.tests:
        console.print(f"\n{words.tests(results)}")
    for line in results.wrong:
        console.print(f"WRONG DATA: {line}", style="bold red")
    for judged in results.requirements:
        text = f"Required {judged.requirement}: {words.required(results, judged)}"
        console.print(text, style="" if judged.met else "bold red", soft_wrap=True)
    suffix = "" if page is None else f"; {page}"
    console.print(f"\n{words.conclusion(results)}{suffix}", style="bold", soft_wrap=True)


def _tables(results: Found) -> Iterator[Table]:
    if results.pairs:
        yield _pairs(results)
    if results.verdicts:
        yield _verdicts(results)


def _pairs(results: Found) -> Table:
    both = words.has_alone(results)
    table = _table("Pair", "us", "GB/s both ways", *(("us alone", "GB/s alone") if both else ()))
    for pair in results.pairs:
        alone = (pair.latency_alone_us, pair.bandwidth_alone_gbs) if both else ()
        values = (pair.latency_us, pair.bandwidth_gbs, *alone)
        table.add_row(" - ".join(pair.nodes), *map(number, values))
    return table


def _verdicts(results: Found) -> Table:
    table = _table("Slow", "", "times as long", "95 %", "p", "alone", "launches")
    for verdict in results.verdicts[:LISTED]:
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
