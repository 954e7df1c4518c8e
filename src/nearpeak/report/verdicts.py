# SPDX-License-Identifier: Apache-2.0
"""The verdicts on each curve, as tables."""

from collections.abc import Sequence
from itertools import groupby, starmap

from nearpeak.document.model import Column, Row, Rows, Table, Tone, Value
from nearpeak.numbers import count
from nearpeak.report.summary import VERDICTS, judged_curves
from nearpeak.results import names
from nearpeak.results.order import default_curves
from nearpeak.results.results import CurveComparison, Judging, Results
from nearpeak.statistics.verdicts import FASTER, SLOWER, TWO_MODES, UNDECIDED

_TONES: dict[str, Tone] = {FASTER: "good", SLOWER: "bad"}
# With its index in `judged_curves`, by which the page finds its sizes.
Numbered = tuple[int, CurveComparison]


def tables(results: Results) -> list[Table]:
    """The tables of the default curves, folded if nothing is decided, and of the others, folded."""
    others = _rows(results, default=False)
    return [
        *main(results),
        *([_table(results, others, "Verdicts on the other variants")] if others else []),
    ]


def main(results: Results) -> list[Table]:
    """The table of the default curves; an empty list if it has no rows."""
    rows = _rows(results, default=True)
    if not rows:
        return []
    decided = any(
        word not in (UNDECIDED, TWO_MODES) for _, row in rows for word in (row.verdict, *row.counts)
    )
    undecided = f"{count(len(rows), 'curve')} compared, none of them decided"
    return [_table(results, rows, "" if decided else undecided)]


def _rows(results: Results, default: bool) -> list[Numbered]:
    defaults = set(default_curves(results))
    rows = enumerate(judged_curves(results))
    return [row for row in rows if (row[1].curve in defaults) == default]


def _table(results: Results, rows: Sequence[Numbered], folded: str) -> Table:
    return Table(
        title="Verdicts.",
        caption=(
            "Each row is a whole curve, with its verdict, its ratio and 95 % interval. Further"
            " columns count the verdicts on its message sizes. A ratio above 1 means that the"
            " second library is better." + judged_words(results.judging)
        ),
        head="Second",
        columns=[
            Column("benchmark", "Benchmark", figure=False),
            Column("verdict", "Whole curve", figure=False),
            Column("p", "p", "adjusted"),
            *(Column(word, word, over="Verdicts on its sizes") for word in VERDICTS),
            Column("ratio", "Ratio", "second to first"),
        ],
        groups=[
            Rows(place.path, list(starmap(_row, mine)))
            for place, mine in groupby(rows, key=lambda row: row[1].place)
        ],
        folded=folded,
    )


def judged_words(judging: Judging) -> str:
    """The pairs undecided for lack of blocks, and the blocks needed; empty if there are none."""
    if not judging.left_out:
        return ""
    left_out = [
        f"{unjudged.second.label} against {unjudged.first.label}" for unjudged in judging.left_out
    ]
    return (
        f" {count(judging.blocks, 'block')} are too few to judge {count(judging.pairs, 'pair')} of"
        f" alternatives together: {judging.blocks_needed} are needed. Not judged:"
        f" {', '.join(left_out)}."
    )


def _row(number: int, comparison: CurveComparison) -> Row:
    values: dict[str, Value] = {
        "benchmark": Value(comparison.curve.figure, "text", detail=names.detail(comparison.curve)),
        "verdict": Value(comparison.verdict, "text", tone=_TONES.get(comparison.verdict, "")),
        "p": Value(comparison.p_adjusted, "probability"),
        "ratio": Value(comparison.ratio, ci95=comparison.ci95),
        **{word: Value(comparison.counts.get(word, 0), "count") for word in VERDICTS},
    }
    return Row(comparison.second.label, values, f"against {comparison.first.label}", opens=number)
