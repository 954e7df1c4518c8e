# SPDX-License-Identifier: Apache-2.0
"""Libraries that users should avoid: far behind the best one of a path, or with launches that
fail there."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nearpeak.grouping import present
from nearpeak.numbers import count, number, size, unit
from nearpeak.report import failures
from nearpeak.report.lines import Line
from nearpeak.results.order import guests, no_mpi
from nearpeak.results.results import Comparison, Headline, Results
from nearpeak.statistics.comparisons import better_by
from nearpeak.terms.identity import Place, Who

FAR = 2.0  # times worse than the best library
LESS = 1.2  # times worse: named with one that is far behind
MOST_LINES = 2
WIDEST = 100  # letters of a line
TOO_MANY = 0.5  # of the launches of a library on a path


class _Behind(NamedTuple):
    """A library that is significantly worse than the best one in a figure."""

    who: Who
    value: float
    times: float  # worse than the best one, as both figures say
    far: bool


class _Figure(NamedTuple):
    """A figure of a path in which a library is far behind the best one."""

    path: str
    head: Headline
    behind: list[_Behind]  # the worst first

    @property
    def far(self) -> set[str]:
        """The libraries that are far behind."""
        return {one.who.label for one in self.behind if one.far}


def far_behind(results: Results, shown: Sequence[Line]) -> list[str]:
    """The figures in which libraries are far behind the best one, the worst first:
    `gpu-gpu nvlink, latency 8 B: best 12.2 µs, openmpi 216 (17.7x behind).` The second one is of
    another library, or of another path."""
    figures = sorted(_figures(results, shown), key=lambda figure: -figure.behind[0].times)
    return [_line(figure) for figure in _chosen(figures)]


def _chosen(figures: Sequence[_Figure]) -> list[_Figure]:
    first, others = figures[:1], figures[1:]
    new = [one for one in others if one.far - first[0].far]
    elsewhere = [one for one in others if one.head.place != first[0].head.place]
    return [*first, *[*new, *elsewhere][: MOST_LINES - 1]]


def _line(figure: _Figure) -> str:
    """The best figure and the others, as many as the line has room for."""
    head = figure.head
    text = (
        f"{figure.path}, {head.case.figure} {size(head.case.x)}:"
        f" best {number(head.value)} {unit(head.unit)}"
    )
    for place, one in enumerate(figure.behind):
        times = f"{number(one.times)}x{'' if place else ' behind'}"
        longer = f"{text}, {one.who.label} {number(one.value)} ({times})"
        if place and len(longer) >= WIDEST:
            break
        text = longer
    return f"{text}."


def _figures(results: Results, shown: Sequence[Line]) -> Iterator[_Figure]:
    """Yields the figures of the answer's paths in which a library is far behind."""
    seen = set()
    for line in shown:
        for head in (line.time, line.rate):
            if head and head.best and (head.place, head.case) not in seen:
                seen.add((head.place, head.case))  # half a round trip is of both ways
                behind = sorted(_worse(results, head), key=lambda one: -one.times)
                if any(one.far for one in behind):
                    yield _Figure(_path(line, head), head, behind)


def _worse(results: Results, head: Headline) -> Iterator[_Behind]:
    """Yields the libraries that are significantly worse than the best one of a figure."""
    no_library = no_mpi(results) | guests(results) | {head.best.library if head.best else ""}
    subject = (head.place, head.case)
    medians = {
        cell.who: cell.median for cell in results.cells if (cell.place, cell.case) == subject
    }
    compared = [one for one in results.comparisons if (one.place, one.case) == subject]
    for who, far in present(_judged(one, head.best) for one in compared):
        value = medians.get(who)
        if value and head.value and who.library not in no_library:
            times = better_by(head.value, value, head.better)
            if far or times >= LESS:
                yield _Behind(who, value, times, far)


def _path(line: Line, head: Headline) -> str:
    return line.label if head is line.rate else line.group.place.path


def _judged(compared: Comparison, best: Who | None) -> tuple[Who, bool] | None:
    """The other library of a comparison, if it is significantly worse than the best one, and
    whether it is far behind: the whole interval has to be."""
    if compared.ci95 is None:
        return None
    low, high = compared.ci95
    if (compared.second, compared.verdict) == (best, "faster"):
        return compared.first, low >= FAR
    if (compared.first, compared.verdict) == (best, "slower"):
        return compared.second, high <= 1 / FAR
    return None


class Losses(NamedTuple):
    """The launches of a library on a path that failed."""

    failed: int
    launches: int  # all that ran there, or the failed ones where more are not known
    status: str  # of the failed ones, where all have the same
    figures: str  # as `failures.after_figures`

    def __str__(self) -> str:
        """`crashed in 2 of 9 launches and lost figures`, `crashed at the end of 2 of 9 launches`;
        empty if none failed."""
        if not self.failed:
            return ""
        launches = f"{self.failed} of {count(self.launches, 'launch')}"
        if self.figures == failures.AFTER:
            return f"{self.status} at the end of {launches}"
        return f"{self.status} in {launches}{self.figures}"

    @property
    def unfit(self) -> bool:
        """True if half of the launches or more failed: nobody should use the library there."""
        return self.failed > 0 and self.failed >= TOO_MANY * self.launches


def losses(results: Results, who: Who, place: Place) -> Losses:
    """The launches of a library that failed on a path, be it after their figures."""
    kinds = [kind for kind in results.failure_kinds if (kind.who, kind.place) == (who, place)]
    failed = sum(len(kind.launches) for kind in kinds)
    launches = max([failed, *(kind.of for kind in kinds)])
    return Losses(failed, launches, failures.status(kinds), failures.after_figures(kinds))
