# SPDX-License-Identifier: Apache-2.0
"""The lines that a measuring program writes (docs/records.md)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from nearpeak.terms.benchmarks import Better
from nearpeak.terms.identity import Case
from nearpeak.terms.work import Work
from nearpeak.withheld import recordable


class EnvironmentRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="environment"):
    """The environment of the measuring program, which writes it before each group of a launch."""

    launch: int = -1
    program: str
    version: str
    library_version: str | None  # MPI_Get_library_version; null for nearpeak-native
    ranks: list[dict[str, Any]]  # rank, host, cpus (affinity), numa_nodes, device
    clock: dict[str, float]  # tick_ns, read_ns
    env: dict[str, str]  # by allow-list, without secrets

    def __post_init__(self) -> None:
        self.env = recordable(self.env)


class CaseRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="case"):
    """A case of a library is about to be measured. A launch that ends before the samples or the
    problem of this case ended in it."""

    launch: int = -1
    benchmark: str
    size_bytes: int
    buffers: str
    axes: dict[str, str]


class SamplesRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="samples"):
    """One case of one launch, measured. `samples` are in `unit`, in the order of measurement."""

    launch: int = -1
    benchmark: str
    metric: str  # what a ceiling is matched on; a benchmark with several has a record for each
    size_bytes: int
    buffers: str  # "H,H": of the first half of the ranks, and of the second
    axes: dict[str, str]  # e.g. calls, reuse, touch, direction; every axis of the benchmark
    method: str | None  # of a ceiling; null for MPI
    unit: str  # "us", "GB/s", "M/s", "GLUP/s" or "ratio"
    better: Better
    samples: list[float]
    batch: int  # iterations in one sample
    kept_every: int  # of the timed samples every n-th was kept
    iterations: int  # timed, in all
    warmup_iterations: int
    first_use_us: float  # the first exchange of this case: first touch, handles, registration
    window: int  # messages in flight
    seconds: float  # spent on this case, all in all
    limited: str | None = None  # why fewer samples than asked for were taken
    offset: int = 0  # bytes from a page boundary to the first buffer
    verified: bool = True  # whether the received data was verified
    # Of a ceiling's method, what no library can count on: "gpu", it holds the GPU between messages;
    # "window", it has all messages of a window before it moves the first.
    needs: list[str] = []
    trial: bool = False  # of a ceiling's method: a few samples, where others were better
    # Of each rank but the last: a cache line's round trip to the next one's CPU, right before the
    # samples; None: not measured.
    cache_line_ns: list[float | None] = []
    phases: dict[str, list[float]] = {}  # us of each sample that went into a part of it
    shortest_phases: dict[str, list[float]] = {}  # of the rank that took least, of applications
    mean_phases: dict[str, list[float]] = {}  # of all ranks, of applications
    work: Work | None = None  # of an application
    ranks: list[list[float]] | None = None  # the samples of every rank, where they were kept

    @property
    def apart_ns(self) -> float | None:
        """The largest core-to-core latency between ranks; None if it was not measured."""
        return max((ns for ns in self.cache_line_ns if ns), default=None)


class ProblemRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="problem"):
    """A case that gave no believable number."""

    launch: int = -1
    benchmark: str
    size_bytes: int
    buffers: str
    axes: dict[str, str]
    method: str | None = None
    status: Literal["wrong data", "skipped", "aborted: too slow"]
    message: str
    rank: int | None = None  # wrong data: where, and the first bad byte of the message
    byte: int | None = None
    expected: int | None = None
    got: int | None = None
    at_least: float | None = None  # too slow: the value of one iteration, in the metric's unit


def case_of(record: CaseRecord | SamplesRecord | ProblemRecord, metric: str) -> Case:
    """Returns the case of a record, in one metric of its benchmark."""
    return Case(
        benchmark=record.benchmark,
        metric=metric,
        buffers=record.buffers,
        axes=record.axes,
        x=record.size_bytes,
    )


def timed(records: Iterable[SamplesRecord]) -> list[SamplesRecord]:
    """One record of each case and method: all metrics of a case were measured at once."""
    return list({(case_of(record, ""), record.method): record for record in records}.values())


ProgramRecord = EnvironmentRecord | CaseRecord | SamplesRecord | ProblemRecord


def written(jsonl: Path) -> list[ProgramRecord]:
    """The records of a launch that is over, without a half line at the end."""
    if not jsonl.exists():
        return []
    return [
        msgspec.json.decode(line, type=ProgramRecord)
        for line in jsonl.read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n")
    ]
