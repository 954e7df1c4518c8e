# SPDX-License-Identifier: Apache-2.0
"""The table of a study's answer: a row for each path, with the best library's figures."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nearpeak.document.model import Bar, Column, Row, Rows, Table, Value
from nearpeak.numbers import count, listed, number, percent, size, unit
from nearpeak.report import ties
from nearpeak.report.lines import Line, by_share, judged_at, share
from nearpeak.results.results import Headline
from nearpeak.terms.buffers import WAYS
from nearpeak.terms.ratings import FAIR, GOOD, TIES

MOST_ROWS = 6
HALF = "half round trip"  # the time between unlike memories, which is of both ways
LEVELS = f"good from {100 * GOOD:.0f} %, fair from {100 * FAIR:.0f}."
CEILING = "Ceiling: best time or rate without MPI."
PAIRS = " Pairs: the slowest."
SHARES = [Column("share", "", "%"), Column("bar", "", figure=False)]
LEAST = Column("least", "lowest", "% at size", figure=False)


class _Figures(NamedTuple):
    """A column: what its figures have in common stands in its heading, the rest in its fields."""

    cases: list[str]  # benchmark and size, each once
    units: list[str]

    @classmethod
    def of(cls, heads: Iterable[Headline | None]) -> "_Figures":
        figures = [head for head in heads if head is not None]
        cases = dict.fromkeys(f"{head.case.figure} {size(head.case.x)}" for head in figures)
        return cls(list(cases), list(dict.fromkeys(unit(head.unit) for head in figures)))

    def column(self, key: str, more: str, name: str = "") -> list[Column]:
        """The column; none without figures. `more`: behind the unit; `name`: in the place of the
        benchmark's."""
        if not self.cases:
            return []
        benchmarks = ", ".join(dict.fromkeys(case.split()[0] for case in self.cases))
        title = self.cases[0] if len(self.cases) == 1 else benchmarks
        if name:
            title = title.replace(benchmarks, name, 1)
        in_heading = self.units[0] if len(self.units) == 1 else ""
        return [Column(key, title, f"{in_heading} {more}".strip(), figure=False)]

    def text(self, head: Headline | None, reached: float | None = None) -> str:
        """`0.189 (77.3) openmpi`, with size and unit where they differ."""
        if head is None or head.value is None:
            return ""
        parts = [
            f"{size(head.case.x)}:" if len(self.cases) > 1 else "",
            number(head.value),
            unit(head.unit) if len(self.units) > 1 else "",
            f"({percent(reached)})" if reached is not None else "",
            ties.marked(head) if head.best else "",
        ]
        return " ".join(filter(None, parts))


def path_table(lines: Sequence[Line], *, least: bool = False) -> Table:
    """The table of these lines; of many, those that are furthest from their ceilings. `least`: with
    the size at which the best library is furthest from the ceiling."""
    shown = sorted(lines, key=by_share)[:MOST_ROWS] if len(lines) > MOST_ROWS else lines
    left = len(lines) - len(shown)
    rest = f" {count(left, 'more path')}: see the page." if left else ""
    has_shares = any(line.share is not None for line in shown)
    pairs = PAIRS if any(line.group.place.pair for line in shown) else ""
    times = _Figures.of(line.time for line in shown)
    rates = _Figures.of(line.rate for line in shown)
    of_time = any(line.rate and share(line.time) for line in shown)
    both_ways = any(line.time and line.group.buffers in WAYS for line in shown)
    meaning = _meaning(lines) if has_shares else ""
    if any(head.tied for line in shown for head in (line.time, line.rate) if head):
        meaning += f" {TIES}"
    return Table(
        title="",
        caption=f"{meaning}{pairs}{rest}".strip(),
        head="path",
        columns=[
            *times.column("time", "(% of ceiling)" if of_time else "", HALF if both_ways else ""),
            *rates.column("rate", ""),
            *(SHARES if has_shares else []),
            *([LEAST] if has_shares and least else []),
        ],
        groups=[Rows("", [_row(line, times, rates) for line in shown])],
        heads=True,
        compact=True,
        stacks=True,
    )


def _meaning(lines: Sequence[Line]) -> str:
    """The meaning of shares, and of the ratings, with the figure that is rated."""
    judged = {line.judged.case.figure for line in lines if line.judged and line.share is not None}
    of_figures = f"{listed(sorted(judged))}{judged_at(lines).replace(' at', '')}"
    return f"{CEILING} {of_figures}: {LEVELS}"


def _row(line: Line, times: _Figures, rates: _Figures) -> Row:
    word, tone = line.rating
    values = {
        "time": Value(times.text(line.time, share(line.time) if line.rate else None), "text"),
        "rate": Value(rates.text(line.rate), "text"),
        "share": Value(line.share, "percent"),
    }
    if line.least is not None:
        text = f"{percent(line.least.fraction)} at {size(line.least.case.x)}"
        values["least"] = Value(text, "text", tone="" if line.least.fraction_ci95 else "muted")
    if line.share is not None:
        values["bar"] = Value(
            word, "text", bar=Bar(line.share, confirmed=line.confirmed), tone=tone
        )
    return Row(line.label, values)
