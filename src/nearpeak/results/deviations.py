# SPDX-License-Identifier: Apache-2.0
"""Messages of applications that took another time than those of the study, and the causes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from nearpeak.results.results import Application, Cell, Deviation, MessageTime
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Place, Who

FAR = 0.2  # relative: a prediction that is off by more is reported
PAUSE_US = 500.0  # after which messages of device memory were slower (docs/methodology.md)


def add(
    applications: Sequence[Application], cells: Iterable[Cell], benchmarks: Mapping[str, Benchmark]
) -> None:
    """Sets the deviation of each problem whose messages were measured and predicted."""
    times: dict[tuple[Who, Place], dict[int, float]] = defaultdict(dict)  # us, by bytes
    for cell in cells:
        if benchmarks[cell.case.benchmark].one_message and cell.median:
            times[cell.who, cell.place].setdefault(cell.case.x, cell.median)
    for problem in applications:
        problem.deviation = _deviation(problem, times[problem.cell.who, problem.cell.place])


def _deviation(problem: Application, times: Mapping[int, float]) -> Deviation | None:
    cell, work = problem.cell, problem.work
    if not problem.predicted_us or not problem.messages_us or work is None:
        return None
    off = problem.messages_us / problem.predicted_us - 1
    largest = max(work.messages, default=0)
    deviation = Deviation(
        off=off, far=abs(off) > FAR, largest_bytes=largest, around=_around(largest, times)
    )
    if off < 0:  # the rest makes messages slower
        return deviation
    deviation.own_bytes = work.own_bytes
    pause_us = (cell.median or 0.0) - problem.messages_us
    if "gpu" in cell.place.ends:
        deviation.pause_us = pause_us if pause_us >= PAUSE_US else None
    else:
        # It has a roofline where no caches hold its cells.
        deviation.pushed_out = problem.roofline is not None
    return deviation


def _around(largest: int, times: Mapping[int, float]) -> list[MessageTime]:
    """The two sizes next to it that were measured, where their times are far from each other."""
    below = max((x for x in times if x <= largest), default=largest)
    above = min((x for x in times if x >= largest), default=largest)
    if below not in times or above not in times or abs(times[below] / times[above] - 1) <= FAR:
        return []
    return [MessageTime(size_bytes=x, us=times[x]) for x in (below, above)]
