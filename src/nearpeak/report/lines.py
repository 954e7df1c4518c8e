# SPDX-License-Identifier: Apache-2.0
"""The lines of a study's answer: each path with one kind of buffers, and the figures that represent
it."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from nearpeak.document.model import Tone
from nearpeak.numbers import size
from nearpeak.report import wording
from nearpeak.report.headlines import Group, groups
from nearpeak.results.results import Cell, Headline, Results
from nearpeak.terms.buffers import WAYS
from nearpeak.terms.ratings import FAIR, GOOD

RATINGS: tuple[tuple[float, str, Tone], ...] = (
    (GOOD, "good", "good"),
    (FAIR, "fair", "note"),
    (0.0, "poor", "bad"),
)
UNCONFIRMED = "unconfirmed"
FEW = "Unconfirmed, as launches are few"  # begins a sentence of such figures
FASTER = 1.05  # times the rate of several messages: of one that is faster
BOTH_WAYS = "round trip"  # of which a time is half


class Line(NamedTuple):
    """The figures that represent a path with one kind of buffers."""

    group: Group
    time: Headline | None  # of a small message
    rate: Headline | None  # of large messages
    least: Cell | None = None  # of the same library and curve, the size with the least share

    @property
    def label(self) -> str:
        """`host-gpu near (to GPU)`; of a time alone, `host-gpu near (round trip)`."""
        path, way = self.group.place.path, WAYS.get(self.group.buffers)
        return f"{path} ({way if self.rate else BOTH_WAYS})" if way else path

    @property
    def judged(self) -> Headline | None:
        """The figure that is compared with its ceiling: the rate where there is one."""
        return self.rate or self.time

    @property
    def share(self) -> float | None:
        """The share of the ceiling that the best library reaches."""
        return share(self.judged)

    @property
    def confirmed(self) -> bool:
        """True if the share has an interval."""
        return self.judged is not None and self.judged.fraction_ci95 is not None

    @property
    def rating(self) -> tuple[str, Tone]:
        """`good`, `fair`, `poor`, or `unconfirmed` without an interval, with its tone; empty
        without a share."""
        if self.share is None:
            return "", ""
        if not self.confirmed:
            return UNCONFIRMED, "muted"
        reached = self.share
        return next((word, tone) for least, word, tone in RATINGS if reached >= least)


def share(head: Headline | None) -> float | None:
    """The share of a measured ceiling that the best library reaches; None where there is none."""
    measured = head and head.best and head.ceiling and head.ceiling.kind == "measured"
    return head.fraction if head and measured else None


def lines(results: Results) -> list[Line]:
    """The line of each path with each kind of buffers: of all pairs of a kind, the slowest."""
    slowest: dict[tuple[str, str], Line] = {}
    for line in _lines(results):
        place = line.group.place
        kind = place.kind if place.pair else place.path
        key = (kind, line.group.buffers)
        slowest[key] = min(slowest.get(key, line), line, key=_by_rate)
    return [_with_round_trip(line, slowest) for line in slowest.values()]


def _with_round_trip(line: Line, shown: Mapping[tuple[str, str], Line]) -> Line:
    """The line with the time of the other way, if it has none: half a round trip is of both."""
    if line.time is None and line.group.buffers in WAYS:
        others = (other for other in shown.values() if other.group.place == line.group.place)
        return line._replace(time=next((other.time for other in others if other.time), None))
    return line


def _lines(results: Results) -> Iterator[Line]:
    for group in groups(results):
        heads = [group.figures[name] for name in wording.message_figures(results, group)]
        times = [head for head in heads if head.better == "lower"]
        rates = [head for head in heads if head.better == "higher"]
        if heads:
            time = next(iter(times), None)
            rate = max(rates, key=lambda head: head.value or 0.0, default=None)
            yield Line(group, time, rate, _least(results, rate or time))


def _least(results: Results, head: Headline | None) -> Cell | None:
    """The size at which the best library of a figure is furthest from the ceiling, in its curve."""
    if head is None:
        return None
    curve = (head.best, head.place, head.case.curve)
    cells = [
        cell
        for cell in results.cells
        if (cell.who, cell.place, cell.case.curve) == curve and cell.case.x and cell.fraction
        if cell.ceiling and cell.ceiling.kind == "measured"
    ]
    return min(cells, key=lambda cell: cell.fraction or 0.0, default=None)


def judged_at(shown: Sequence[Line]) -> str:
    """` at 16 MiB`: the size of the figures that are compared with their ceilings; empty if they
    differ."""
    sizes = {line.judged.case.x for line in shown if line.judged and line.share is not None}
    return f" at {size(sizes.pop())}" if len(sizes) == 1 else ""


def single(results: Results, line: Line) -> str:
    """Says how times and rates are measured, if large messages are faster one at a time than in the
    rate of a path; else empty."""
    if not (line.time and line.rate and line.rate.value):
        return ""
    rate, x = line.rate, line.rate.case.x
    times, rates = (
        [
            cell
            for cell in results.cells
            if (cell.place, cell.case) == (line.group.place, case) and cell.median
        ]
        for case in (line.time.case.curve.at(x), rate.case)
    )
    window = next((cell.window for cell in rates if cell.who == rate.best), None) or 1
    fastest = max((x / (1000 * cell.median) for cell in times if cell.median), default=0.0)  # GB/s
    if window == 1 or rate.unit != "GB/s" or fastest < FASTER * (rate.value or 0.0):
        return ""
    return (
        f"{line.time.case.figure}: one message at a time, in the same buffer;"
        f" {rate.case.figure}: several in flight, each in its own."
    )


def by_share(line: Line) -> float:
    """Sorts the smallest share first, and lines without a share last."""
    return float("inf") if line.share is None else line.share


def _by_rate(line: Line) -> tuple[float, float]:
    """Sorts the slowest rate first, as in the machine's diagram; of times the smallest share."""
    rate = line.rate.value if line.rate else None
    return rate or float("inf"), by_share(line)


def poor(shown: Sequence[Line]) -> list[Headline]:
    """The figures of small and of large messages that are far from their ceilings, the furthest
    first."""
    heads = {id(head): head for line in shown for head in (line.time, line.rate)}
    shares = [(share(head), head) for head in heads.values()]
    far = [(part, head) for part, head in shares if head and part is not None and part < FAIR]
    return [head for _, head in sorted(far, key=itemgetter(0))]
