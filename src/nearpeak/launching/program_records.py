# SPDX-License-Identifier: Apache-2.0
"""The lines that a measuring program writes (docs/reference/records.md)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from nearpeak.terms.benchmarks import Better
from nearpeak.terms.counters import LOOPBACK, Link
from nearpeak.terms.identity import Case
from nearpeak.terms.percentiles import Percentiles
from nearpeak.terms.private import Facts, FreeText, Public, Variables
from nearpeak.terms.work import Work
from nearpeak.withheld import recordable

ReadKind = Literal["nvlink", "pcie", "xgmi", "infiniband", "slingshot", "network"]


class LinkCounter(msgspec.Struct, kw_only=True, frozen=True):
    """A link whose bytes a rank reads."""

    rank: int  # that reads it
    kind: ReadKind  # of the link
    name: FreeText  # UUID of the GPU, port of the adapter (`mlx5_0:1`) or name of the interface
    # bytes after which the counter begins again at 0; null: it never does
    wraps_at_bytes: int | None = None

    def link(self, host: str) -> Link:
        """The link of this host."""
        if self.kind == "network" and self.name == LOOPBACK:
            return Link("loopback", host, self.name)
        return Link(self.kind, host, self.name)


class UnreadLinks(msgspec.Struct, kw_only=True, frozen=True):
    """Links that cannot be counted."""

    rank: int  # the first of those with the same reason
    kind: ReadKind  # as in `links`
    why: FreeText  # the reason, for people


class Counters(msgspec.Struct, kw_only=True, frozen=True):
    """The links that are counted ([counters.md](counters.md))."""

    opening_us: float  # time to find and open them, in us, on the slowest rank
    links: list[LinkCounter]  # `counted` names them by their index, from 0
    unread: list[UnreadLinks]  # links that are there and cannot be read


class LinkBytes(msgspec.Struct, kw_only=True, frozen=True):
    """The bytes that a link counted from one reading to the next."""

    link: int  # index into `links` of `counters`
    sent_bytes: int  # by the GPU or the host that has the link
    received_bytes: int  # by the same
    at_least: bool = False  # the counter may have wrapped unseen: these are lower bounds


class PayloadBytes(msgspec.Struct, kw_only=True, frozen=True):
    """The payload of messages, with those of the warm-up and of verification."""

    sent_bytes: list[int]  # by each rank
    received_bytes: list[int]  # by each rank


class CountedBytes(msgspec.Struct, kw_only=True, frozen=True):
    """The bytes that links counted from the reading before a case to that after it."""

    seconds: float  # between the readings
    reading_us: float  # cost of the second reading, on the slowest rank
    payload: PayloadBytes | None  # that the case moved in that time; null: not known
    links: list[LinkBytes]  # those that counted anything
    lost: list[int] = []  # indexes of links that could not be read any more


class EnvironmentRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="environment"):
    """The environment of the measuring program, which writes it before the first samples of each
    group of a launch."""

    launch: int = -1  # number of the launch
    program: Public  # `nearpeak-mpi` or `nearpeak-native`
    version: Public  # of the program
    # `MPI_Get_library_version`, complete; null: without MPI, also `--mpi ceiling`
    library_version: FreeText | None
    # of each rank of the group: `rank`, `host`, `cpus` (affinity), `numa_nodes` (of its memory),
    # `device` (`uuid`, `name`, `pci`; null: none)
    ranks: list[Facts]
    clock: dict[Public, float]  # `tick_ns` (smallest step) and `read_ns` (cost of a reading)
    # variables that steer MPI libraries, by an allow-list; no others are recorded
    env: Variables
    counters: Counters | None = None  # links that are counted; null: none are

    def __post_init__(self) -> None:
        self.env = recordable(self.env)


class CaseRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="case"):
    """A case of a library is about to be measured. A launch that ends before the samples or the
    problem of this case ended in it; other missing cases were never begun."""

    launch: int = -1  # number of the launch
    benchmark: Public  # as in `samples`
    size_bytes: int  # as in `samples`
    buffers: Public  # as in `samples`
    axes: dict[Public, Public]  # as in `samples`


class SamplesRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="samples"):
    """One case (benchmark, size, buffers, axes) of one launch, measured."""

    launch: int = -1  # number of the launch
    benchmark: Public  # `latency`, `bw`, `allreduce`, ...; of a fact of a path, the metric
    # one of the benchmark's (docs/reference/describe.md), `copy`, `triad`, `ipc_open`,
    # `flag_latency`, `device_latency`; matches cases and ceilings; each metric has a record
    metric: Public
    size_bytes: int  # of one message
    # H host, P pinned host, D device, M managed; `H,D`: first half of the ranks, and second:
    # between two, host to device
    buffers: Public
    # value of each axis of the benchmark; of a ceiling, `reuse` and `touch`
    axes: dict[Public, Public]
    method: Public | None  # how a ceiling moved the data; null for MPI
    # `us`, `GB/s`, `M/s` (1e6 messages a second), `GLUP/s` (1e9 updates of a cell a second) or
    # `ratio`
    unit: Public
    better: Better  # which values are better
    samples: Sequence[float]  # measured values in `unit`, in the order of measurement, none removed
    # iterations in one sample: several if one is too short for the clock, or nothing waits between
    # them
    batch: int
    kept_every: int  # n: every n-th of the timed samples was kept
    iterations: int  # timed iterations
    warmup_iterations: int  # iterations before them
    # first exchange in us (first touch, registration, handles); of an iteration of many round
    # trips, windows or calls, one of them
    first_use_us: float
    window: int  # messages in flight
    # of one iteration, as of a batch that is waited for once: times are of one of them
    operations: int = 1
    seconds: float  # time of this case's warm-up and samples
    # why fewer samples than asked for were taken; null: they were not
    limited: FreeText | None = None
    offset: int = 0  # bytes from a page boundary to the first buffer
    verified: bool = True  # the received data was checked (docs/methods/statistics.md)
    # of a ceiling's method, needs that no library can rely on: `gpu`: it holds the GPU; `window`:
    # it knows all messages of a window in advance
    needs: list[Public] = []
    # only a short trial of a ceiling's method, as others were better in this launch
    trial: bool = False
    # of each rank but the last, before the samples: round trip of a cache line to the next rank's
    # CPU in ns; null: not measurable; empty: not measured
    cache_line_ns: list[float | None] = []
    # parts of each sample in us, of one operation: of rank 0, of applications of the slowest rank
    # in each
    phases: dict[Public, list[float]] = {}
    # of applications: each part on its fastest rank; for `communicate`, the time without waiting
    # for later ranks
    shortest_phases: dict[Public, list[float]] = {}
    mean_phases: dict[Public, list[float]] = {}  # of applications: each part, mean of all ranks
    work: Work | None = None  # of an application: the least work of an iteration; null: not known
    # samples of every rank, if kept; of collective operations means of the rank's times, at most
    # the sample; null: not kept
    ranks: list[list[float]] | None = None
    # of a time that one rank measures, in the record of its first metric; null: not known
    percentiles: Percentiles | None = None
    # bytes on links while the case was measured and verified, in the record of its first metric;
    # null: not counted
    counted: CountedBytes | None = None

    @property
    def apart_ns(self) -> float | None:
        """The largest core-to-core latency between ranks; None if it was not measured."""
        return max((ns for ns in self.cache_line_ns if ns), default=None)


class ProblemRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="problem"):
    """A case without a number that can be used."""

    launch: int = -1  # number of the launch
    benchmark: Public  # as in `samples`
    size_bytes: int  # as in `samples`
    buffers: Public  # as in `samples`
    axes: dict[Public, Public]  # as in `samples`
    method: Public | None = None  # as in `samples`
    # `aborted: too slow`: its first two iterations both exceeded the budget (`--budget-ms`)
    status: Literal["wrong data", "skipped", "aborted: too slow"]
    message: FreeText  # what happened, for people
    rank: int | None = None  # wrong data: rank that received it; else null
    # wrong data: offset of the first bad byte in the message; null also where a rank left a barrier
    # early
    byte: int | None = None
    expected: int | None = None  # wrong data: that byte as sent; else null
    got: int | None = None  # wrong data: that byte as received; else null
    # too slow: the faster of its two iterations, in the unit of the benchmark's main metric; else
    # null
    at_least: float | None = None


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
