# SPDX-License-Identifier: Apache-2.0
"""Compares the calls of an application with a study's ceilings."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.results.results import CeilingPoint, Results
from nearpeak.trace.trace import Ceiling, Entry, Trace, Unblocked

BLOCKING = ("MPI_Send", "MPI_Recv", "MPI_Ssend", "MPI_Rsend", "MPI_Sendrecv")
STARTS = ("MPI_Start", "MPI_Startall")
# The kinds of calls that do not end with their message; the first pattern that fits counts.
UNBLOCKED = {
    "sent": re.compile(
        r"MPI_(I([bsr]?send|sendrecv|sendrecv_replace)|(S|[BSR]s)end_init|Pready(_range|_list)?)"
    ),
    "about them": re.compile(
        r"MPI_(Irecv|Imrecv|Recv_init|P(send|recv)_init|(Wait|Test)(any|all|some)?|Parrived)"
    ),
    "probes": re.compile(r"MPI_Im?probe"),
    # Other operations that the same calls wait for.
    "others": re.compile(
        r"MPI_(I[a-z_]+|[A-Z][a-z_]+_init|R(put|get|accumulate|get_accumulate)|File_i[a-z_]+"
        r"|Comm_i[a-z_]+|[A-Z][a-z_]*_iflush)"
    ),
}
ENDS = {"host": ("host", "host"), "device": ("gpu", "gpu")}
BUFFERS = {"host": "H,H", "device": "D,D"}


class StudyCeilings(NamedTuple):
    """The ceilings of a study between two ranks of a host."""

    times: list[CeilingPoint]  # of one message
    rates: list[CeilingPoint]  # of messages that are in flight together


def study_ceilings(results: Results) -> StudyCeilings:
    """The ceilings of a study between two ranks of a host; UserError if there are none."""
    study = StudyCeilings(
        _points(
            results,
            {benchmark.name for benchmark in results.benchmarks if benchmark.one_message},
            "us",
        ),
        _points(
            results,
            {benchmark.name for benchmark in results.benchmarks if benchmark.one_way},
            "GB/s",
        ),
    )
    if not any(study):
        raise UserError(
            "the study of --study has no ceiling of messages on one host: give one that measured"
            " latency and bw there"
        )
    return study


def ceilings(trace: Trace, points: Iterable[CeilingPoint]) -> list[Ceiling]:
    """The ceilings of calls that end with their message, to ranks of the same host, at sizes of
    `points`: the times of one message."""
    matched = []
    for place, entry in enumerate(trace.entries):
        fitting = _fitting(entry, points) if entry.operation in BLOCKING else []
        if fitting:
            point = _nearest(entry, fitting)
            seconds = point.by_library * 1e-6
            matched.append(
                Ceiling(
                    entry=place,
                    path=point.place.path,
                    size_bytes=point.case.x,
                    seconds=seconds,
                    saved_seconds=max(0.0, entry.seconds - entry.calls * seconds),
                )
            )
    return matched


def unblocked(trace: Trace, points: Iterable[CeilingPoint]) -> Unblocked | None:
    """The calls that do not end with their message, by rates of messages in flight together; None
    if no such rate is measured.

    A rank sends and receives at once: only sent messages are counted.
    """
    kinds: dict[str, list[Entry]] = {kind: [] for kind in [*UNBLOCKED, ""]}
    for call in trace.entries:
        kinds[kind_of(call)].append(call)
    sent = [entry for entry in kinds["sent"] if entry.peer != "none"]  # "none": MPI_PROC_NULL
    messages, least = 0, 0.0
    for entry in sent:
        if fitting := _fitting(entry, points):
            messages += entry.calls
            least += entry.bytes / (1e9 * max(point.by_library for point in fitting))
    if not messages:
        return None
    seconds = sum(entry.seconds for entry in sent + kinds["about them"])
    return Unblocked(
        messages=sum(entry.calls for entry in sent),
        known=messages,
        others=sum(other.calls for other in kinds["others"]),
        seconds=seconds,
        least_seconds=least,
        saved_seconds=max(0.0, seconds - least),
    )


def kind_of(entry: Entry) -> str:
    """The key of UNBLOCKED for an entry; "" for none. A start counts as the call that made its
    request; that call itself begins nothing."""
    if entry.operation.endswith("_init"):
        return ""
    operation = entry.made_by if entry.operation in STARTS else entry.operation
    return next((kind for kind, pattern in UNBLOCKED.items() if pattern.fullmatch(operation)), "")


def _points(results: Results, benchmarks: set[str], unit: str) -> list[CeilingPoint]:
    """The measured ceilings of these benchmarks between two ranks of a host."""
    return [
        ceiling
        for ceiling in results.ceilings
        if ceiling.unit == unit
        and ceiling.kind == "measured"
        and not ceiling.fact
        and ceiling.case.benchmark in benchmarks
        and ceiling.place.hosts == 1
        and ceiling.place.transport == "memory"
        and len(ceiling.place.ends) == 2
    ]


def _fitting(entry: Entry, points: Iterable[CeilingPoint]) -> list[CeilingPoint]:
    """The points at sizes in an entry's class, in its memory on one host."""
    if entry.peer != "same host" or entry.size_bytes is None:
        return []
    smallest, beyond = entry.size_bytes, max(1, 2 * entry.size_bytes)
    return [
        point
        for point in points
        if point.place.ends == ENDS[entry.memory]
        and point.case.buffers == BUFFERS[entry.memory]
        and smallest <= point.case.x < beyond
    ]


def _nearest(entry: Entry, points: Iterable[CeilingPoint]) -> CeilingPoint:
    """The point nearest to the entry's mean size; of several the quickest path."""
    return min(points, key=lambda point: (abs(point.case.x - entry.mean_bytes), point.by_library))
