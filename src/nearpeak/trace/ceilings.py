# SPDX-License-Identifier: Apache-2.0
"""What a study's ceilings make of the calls of an application."""

from nearpeak.errors import UserError
from nearpeak.results.model import CeilingPoint, Results
from nearpeak.trace.model import Ceiling, Entry, Trace

BLOCKING = ("MPI_Send", "MPI_Recv", "MPI_Ssend", "MPI_Rsend", "MPI_Sendrecv")
ENDS = {"host": ("host", "host"), "device": ("gpu", "gpu")}
BUFFERS = {"host": "H,H", "device": "D,D"}


def ceilings(trace: Trace, results: Results) -> list[Ceiling]:
    """Of the calls that end with their message, to ranks of the same host, at sizes that the study
    measured between two ranks. UserError where it has none."""
    pairs = {one.name for one in results.benchmarks if one.one_message}
    points = [
        one
        for one in results.ceilings
        if one.unit == "us"
        and one.kind == "measured"
        and not one.fact
        and one.case.benchmark in pairs
        and one.place.hosts == 1
        and one.place.transport == "memory"
        and len(one.place.ends) == 2
    ]
    if not points:
        raise UserError(
            f"the study {results.study} has no ceiling of the time of messages on one host: give "
            "one with it"
        )
    found = []
    for place, entry in enumerate(trace.entries):
        point = _nearest(entry, points)
        if point:
            seconds = point.value * 1e-6
            found.append(
                Ceiling(
                    entry=place,
                    path=point.place.path,
                    size_bytes=point.case.x,
                    seconds=seconds,
                    saved_seconds=max(0.0, entry.seconds - entry.calls * seconds),
                )
            )
    return found


def _nearest(entry: Entry, points: list[CeilingPoint]) -> CeilingPoint | None:
    """Of the sizes in an entry's class the one nearest to its mean; the quickest path there."""
    if entry.operation not in BLOCKING or entry.peer != "same host" or entry.size_bytes is None:
        return None
    smallest, beyond = entry.size_bytes, max(1, 2 * entry.size_bytes)
    fitting = [
        one
        for one in points
        if one.place.ends == ENDS[entry.memory]
        and one.case.buffers == BUFFERS[entry.memory]
        and smallest <= one.case.x < beyond
    ]
    return min(
        fitting,
        key=lambda one: (abs(one.case.x - entry.mean_bytes), one.value),
        default=None,
    )
