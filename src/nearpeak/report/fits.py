# SPDX-License-Identifier: Apache-2.0
"""The table of Hockney's model, fitted to each curve that it describes."""

from itertools import groupby

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.numbers import size
from nearpeak.results import names
from nearpeak.results.order import places, ranking
from nearpeak.results.results import Fit, Results
from nearpeak.terms.identity import CEILING


def table(results: Results) -> Table:
    """The fits by path and figure, fits of ceilings before those of libraries."""
    return Table(
        title="Hockney's model.",
        caption=(
            "t(s) = latency + s / bandwidth, fitted to each curve. Where the protocol changes, the"
            " sizes below and above the change have a fit each. n½ is the size that reaches half of"
            " the bandwidth. A fit is shown if its error is below 10 % at half of the sizes or"
            " more."
        ),
        head="Library",
        columns=[
            Column("benchmark", "Benchmark", figure=False),
            Column("sizes", "Sizes", figure=False),
            Column("latency us", "Latency", "µs"),
            Column("bandwidth gbs", "Bandwidth", "GB/s"),
            Column("half", "n½", "KiB"),
            Column("median error", "Median error", "% of measured"),
            Column("worst error", "Worst error", "% of measured"),
        ],
        groups=[
            Rows(place.path, list(map(_row, mine)))
            for place, mine in groupby(_ordered(results), key=lambda fit: fit.place)
        ],
        empty="The model describes no curve of this study.",
    )


def _row(fit: Fit) -> Row:
    values = {
        "benchmark": Value(fit.curve.figure, "text", detail=names.detail(fit.curve)),
        "sizes": Value(f"{size(fit.smallest_bytes)} to {size(fit.largest_bytes)}", "text"),
        "latency us": Value(fit.latency_us),
        "bandwidth gbs": Value(fit.asymptotic_gbs),
        "half": Value(fit.half_peak_bytes / 1024),
        "median error": Value(fit.median_error, "percent"),
        "worst error": Value(fit.worst_error, "percent"),
    }
    return Row(fit.who.label, values, ceiling=fit.who == CEILING)


def _ordered(results: Results) -> list[Fit]:
    order, rank = places(results), ranking(results)
    return sorted(
        results.fits,
        key=lambda fit: (
            order.index(fit.place),
            rank(fit.curve),
            fit.curve.figure,
            fit.who != CEILING,
            fit.who,
            fit.smallest_bytes,
        ),
    )
