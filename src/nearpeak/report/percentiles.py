# SPDX-License-Identifier: Apache-2.0
"""The percentiles of message latency, by path and library."""

from itertools import starmap

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.grouping import grouped
from nearpeak.numbers import unit
from nearpeak.report.families import sample_sizes
from nearpeak.results import names
from nearpeak.results.results import Cell, Estimated, Results, TimePercentiles

TITLES = {"p50": "50 %", "p90": "90 %", "p99": "99 %", "p999": "99.9 %"}


def table(results: Results) -> Table:
    """By path, a row for each library, operation and size: at a small, a medium and a large one."""
    measured = [(cell, cell.percentiles) for cell in results.cells if cell.percentiles]
    sizes = sample_sizes(cell.case.x for cell, _ in measured)
    shown = [pair for pair in measured if pair[0].case.x in sizes]
    by_path = grouped(shown, lambda pair: pair[0].place.path)
    return Table(
        title="Percentiles of latency.",
        caption=(
            "Such a share of single messages takes at most this time; the medians over the"
            " launches. A launch counts only if at least 5 of its messages take longer. Messages"
            " that are too short for the clock are timed singly for this table alone, and have one"
            " reading of the clock in them. Longest: of all launches."
        ),
        head="Library",
        columns=[
            Column("operation", "Operation", figure=False),
            Column("size", "Size"),
            *(Column(key, title, unit("us")) for key, title in TITLES.items()),
            Column("longest", "Longest", unit("us")),
        ],
        groups=[Rows(path, list(starmap(_row, pairs))) for path, pairs in by_path.items()],
        folded="Percentiles of latency: 50, 90, 99 and 99.9 %",
    )


def _row(cell: Cell, percentiles: TimePercentiles) -> Row:
    shares = {key: _value(getattr(percentiles, key)) for key in TITLES}
    return Row(
        cell.who.label,
        {
            "operation": Value(names.case(cell.case.curve), "text"),
            "size": Value(cell.case.x, "size"),
            **shares,
            "longest": Value(percentiles.longest),
        },
    )


def _value(share: Estimated | None) -> Value:
    return Value(share.value, ci95=share.ci95, range=share.range) if share else Value("")
