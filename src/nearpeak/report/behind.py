# SPDX-License-Identifier: Apache-2.0
"""Libraries that users should avoid: far behind the best one of a path, or with launches that
fail there."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nearpeak.grouping import firsts, grouped
from nearpeak.numbers import count, listed, number
from nearpeak.report.lines import Line
from nearpeak.results.order import guests, no_mpi
from nearpeak.results.results import Comparison, Headline, Results
from nearpeak.terms.identity import Place, Who

FAR = 2.0  # times worse than the best library
MOST_LIBRARIES = 2  # that have a line
WIDEST = 100  # letters of a line
TOO_MANY = 0.5  # of the launches of a library on a path


class _Figure(NamedTuple):
    """A figure of a library that is far behind the best one of its path."""

    who: Who
    name: str  # `latency`
    path: str
    times: float  # worse than the best one


def far_behind(results: Results, shown: Sequence[Line]) -> list[str]:
    """A line for each library that is significantly far behind the best one, the worst first:
    `openmpi is far behind the best: latency 17.7x on gpu-gpu nvlink, bw 10.8x on gpu-gpu ipc.`
    Libraries that are worst in the same figure share a line."""
    figures = sorted(_figures(results, shown), key=lambda figure: -figure.times)
    libraries = list(grouped(figures, lambda figure: figure.who.label).values())[:MOST_LIBRARIES]
    alike = grouped(libraries, lambda figures: (figures[0].name, figures[0].path))
    return [_together(few) if len(few) > 1 else _line(*few) for few in alike.values()]


def _together(libraries: Sequence[Sequence[_Figure]]) -> str:
    """`openmpi and intel are far behind the best: latency 21.5x and 21.0x on gpu-gpu same-gpu.`"""
    worst = [figures[0] for figures in libraries]
    names = listed([figure.who.label for figure in worst])
    times = listed([f"{number(figure.times)}x" for figure in worst])
    return f"{names} are far behind the best: {worst[0].name} {times} on {worst[0].path}."


def _line(figures: Sequence[_Figure]) -> str:
    """The worst figure of each path, as many as the line has room for."""
    text = f"{figures[0].who.label} is far behind the best:"
    of_paths = firsts(figures, lambda figure: figure.path).values()
    for before, figure in zip([None, *of_paths], of_paths, strict=False):
        name = "" if before and before.name == figure.name else f" {figure.name}"
        longer = f"{text}{',' if before else ''}{name} {number(figure.times)}x on {figure.path}"
        if before and len(longer) >= WIDEST:
            break
        text = longer
    return f"{text}."


def _figures(results: Results, shown: Sequence[Line]) -> Iterator[_Figure]:
    """Yields the figures of the answer's paths in which a library is far behind."""
    no_library = no_mpi(results) | guests(results)
    compared = grouped(results.comparisons, lambda compared: (compared.place, compared.case))
    for line in shown:
        for head in (line.time, line.rate):
            if head is None or head.best is None:
                continue
            for one in compared.get((head.place, head.case), []):
                other = _behind(one, head.best)
                if other and other[0].library not in no_library | {head.best.library}:
                    yield _Figure(other[0], head.case.figure, _path(line, head), other[1])


def _path(line: Line, head: Headline) -> str:
    return line.label if head is line.rate else line.group.place.path


def _behind(compared: Comparison, best: Who) -> tuple[Who, float] | None:
    """The other library of a comparison and how many times worse it is, if that is far; the whole
    interval has to be."""
    if compared.ci95 is None:
        return None
    low, high = compared.ci95
    if (compared.second, compared.verdict) == (best, "faster") and low >= FAR:
        return compared.first, compared.ratio
    if (compared.first, compared.verdict) == (best, "slower") and high <= 1 / FAR:
        return compared.second, 1 / compared.ratio
    return None


class Losses(NamedTuple):
    """The launches of a library on a path that failed."""

    failed: int
    launches: int  # all that ran there, or the failed ones where more are not known
    status: str  # of the failed ones, where all have the same

    def __str__(self) -> str:
        """`crashed in 2 of 9 launches`; empty if none failed."""
        if not self.failed:
            return ""
        return f"{self.status} in {self.failed} of {count(self.launches, 'launch')}"

    @property
    def unfit(self) -> bool:
        """True if half of the launches or more failed: nobody should use the library there."""
        return self.failed > 0 and self.failed >= TOO_MANY * self.launches


def losses(results: Results, who: Who, place: Place) -> Losses:
    """The launches of a library that failed on a path, be it after their figures."""
    kinds = [kind for kind in results.failure_kinds if (kind.who, kind.place) == (who, place)]
    failed = sum(len(kind.launches) for kind in kinds)
    launches = max([failed, *(kind.of for kind in kinds)])
    statuses = {kind.status for kind in kinds}
    return Losses(failed, launches, statuses.pop() if len(statuses) == 1 else "failed")
