# SPDX-License-Identifier: Apache-2.0
"""Messages of applications that took another time than those of the study, and the causes."""

from collections.abc import Iterable, Mapping, Sequence

from nearpeak.grouping import grouped, present
from nearpeak.results.results import Application, Cell, Deviation, MessageTime
from nearpeak.terms.benchmarks import Benchmark

FAR = 0.2  # relative: a prediction that is off by more is reported
PAUSE_US = 500.0  # after which messages of device memory were slower (docs/methods/statistics.md)


def add(
    applications: Sequence[Application], cells: Iterable[Cell], benchmarks: Mapping[str, Benchmark]
) -> None:
    """Sets the deviation of each problem whose messages were measured and predicted."""
    messages = [cell for cell in cells if benchmarks[cell.case.benchmark].one_message]
    measured = grouped(messages, lambda cell: (cell.who, cell.place))
    for problem in applications:
        mine = measured.get((problem.cell.who, problem.cell.place), [])
        times = {cell.case.x: cell.median for cell in reversed(mine) if cell.median}
        problem.deviation = _deviation(problem, times)


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
    below = max((x for x in times if x <= largest), default=None)
    above = min((x for x in times if x >= largest), default=None)
    sizes = present([below, above])
    if len(sizes) < 2 or abs(times[sizes[0]] / times[sizes[1]] - 1) <= FAR:
        return []
    return [MessageTime(size_bytes=x, us=times[x]) for x in sizes]
