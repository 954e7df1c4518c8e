# SPDX-License-Identifier: Apache-2.0
"""What a benchmark says of itself (docs/describe.md): all that the study knows of one.

Nothing in Python knows a benchmark by its name: how it is planned, judged and shown follows from
these facts.
"""

import math
from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

import msgspec

from nearpeak.errors import UserError, closest

QUOTED_BYTES = 8  # the size that latencies are told at, as everywhere in the field
# Metrics of `nearpeak-native gpu` that no benchmark of MPI has: facts of a path that its times are
# made of, and no ceilings of anything.
SIZED_GPU_FACTS = ("device_latency", "ipc_open")  # the others are of no size
GPU_FACTS = (
    "device_latency",
    "flag_latency",
    "ipc_open",
    "pointer_query",
    "pointer_queries",
    "runtime_pointer_query",
)
FAMILIES = ("pt2pt", "collective", "rma", "datatype", "overlap", "stream", "app")
EVERYTHING = "all"  # in the place of families
Better = Literal["lower", "higher"]
# What there is to hold it against: what is measured without MPI, a bound, its own or one that
# follows from that (results/bounds.py), or nothing.
Ceiling = Literal["measured", "bound", "none"]


class Axis(msgspec.Struct, frozen=True):
    """One way in which a benchmark varies."""

    name: str
    values: list[str]
    default: str
    summary: str = ""
    host_only: list[str] = []  # values that take ordinary host memory of all ranks
    usual: list[str] = []  # what a study measures by itself; empty: the default

    def takes(self, value: str, host: bool) -> bool:
        """Whether a value takes the ranks' buffers: all of them in ordinary host memory, or not."""
        return host or value not in self.host_only

    def default_of(self, host: bool) -> str:
        """The first value that takes them."""
        return next(value for value in (self.default, *self.values) if self.takes(value, host))


class Metric(msgspec.Struct, frozen=True):
    """One figure that a benchmark gives."""

    name: str
    unit: str  # "us", "GB/s", "M/s" (1e6 messages a second), "ratio"
    better: Better


class X(msgspec.Struct, frozen=True):
    """What a benchmark is measured over."""

    name: str = "size"
    unit: str = "B"
    usual: list[int] = []  # of a problem: those that are measured where nothing is asked for


class Moves(msgspec.Struct, frozen=True):
    """What one iteration moves between a pair of ranks."""

    ways: int = 1  # 2: there and back
    window: bool = False  # whether it is as many messages as are in flight, or one

    def bytes(self, size_bytes: int, window: int) -> int:
        """With messages of one size, of which `window` are in flight."""
        return self.ways * size_bytes * (window if self.window else 1)


class Traffic(msgspec.Struct, frozen=True):
    """What at least one rank of n must receive, or send, in a collective operation."""

    once: int = 0
    times_ranks: int = 0
    by_ranks: int = 0

    def bytes(self, size_bytes: int, ranks: int) -> float:
        """(once + times_ranks * n + by_ranks / n) times the size."""
        return size_bytes * (self.once + self.times_ranks * ranks + self.by_ranks / ranks)

    def whole(self, size_bytes: int, ranks: int) -> int:
        """The data that nccl-tests tells the algorithm bandwidth of (doc/PERFORMANCE.md there): all
        blocks where there is one for every rank, else what the size is of."""
        return size_bytes * ranks if self.times_ranks else size_bytes

    @property
    def moves_data(self) -> bool:
        """Whether there is any: of a barrier there is none."""
        return any((self.once, self.times_ranks, self.by_ranks))


class Basis(NamedTuple):
    """The ceilings that a bound follows from: they must be measured, and no others are used."""

    same: str | None = None  # this benchmark's, at the same size with the same buffers
    message: bool = False  # the time of one message between two ranks
    receives: Traffic | None = None  # the rate of one rank, which receives so much


class RankRule(msgspec.Struct, frozen=True):
    """How many ranks a benchmark runs on."""

    rule: str  # "exactly", "at least" or "even", which is at least `count` too
    count: int

    def fits(self, ranks: int) -> bool:
        """Whether it runs on so many."""
        if self.rule == "exactly":
            return ranks == self.count
        return ranks >= self.count and (self.rule != "even" or ranks % 2 == 0)

    @property
    def text(self) -> str:
        """`exactly 2 ranks`, `an even number of ranks, at least 2`."""
        if self.rule == "even":
            return f"an even number of ranks, at least {self.count}"
        return f"{self.rule} {self.count} ranks"


class Benchmark(msgspec.Struct, frozen=True):
    """One benchmark."""

    name: str
    metrics: list[Metric]  # the first is the main one
    ranks: RankRule
    axes: list[Axis] = []
    summary: str = ""
    family: str = ""  # "pt2pt", "collective", ...
    smallest: int = 0  # bytes: smaller messages are left out,
    largest: int | None = None  # and larger ones
    sized: bool = True  # False: measured once, at 0 bytes
    symmetric: bool = True  # False: what rank 0 sends is measured, and not the way back
    x: X = X()
    moves: Moves = Moves()
    traffic: Traffic | None = None  # of a collective operation
    least: Traffic | None = None  # what no rank can do without, where that is less
    covered_by: list[str] = []  # of operations that do the same at the same size, and more
    bound: float | None = None  # of its main metric: nothing is better, on no machine
    bound_by: str | None = None  # it is no better than this benchmark at the same size
    # Which way the data goes from the rank that calls; the other one may take no part.
    one_sided: Literal["put", "get"] | None = None
    # "measured": nearpeak-native measures what a path carries in its metrics; "bound": nothing
    # does, but its traffic takes some time at least, it is `bound_by` another, or has a `bound`
    ceiling: Ceiling = "none"
    default: bool = False  # measured when nothing is asked for
    threads: bool = False  # it calls MPI from several threads: in launches of its own

    @property
    def has_ceiling(self) -> bool:
        """Whether there is anything to hold it against: without it there is no fraction."""
        return self.ceiling != "none"

    def metric(self, name: str) -> Metric:
        """Its metric of this name; KeyError without one."""
        return {metric.name: metric for metric in self.metrics}[name]

    @property
    def over_bytes(self) -> bool:
        """Whether its sizes are of messages; else it is an application, and they are of its
        problem."""
        return self.x.unit == X().unit

    @property
    def main(self) -> Metric:
        """The metric that stands for it."""
        return self.metrics[0]

    def sizes(self, planned: Iterable[int]) -> list[int]:
        """Those of the planned sizes that it is measured at."""
        if not self.sized:
            return [0]
        largest = math.inf if self.largest is None else self.largest
        return [size for size in planned if self.smallest <= size <= largest]

    @property
    def is_pair(self) -> bool:
        """Whether it runs between two ranks and no others."""
        return self.ranks.rule == "exactly" and self.ranks.count == 2

    @property
    def one_way(self) -> bool:
        """Whether its main metric is the rate of one direction between two ranks: what a link's
        theoretical rate can be set beside."""
        return self.is_pair and not self.symmetric and self.main.unit == "GB/s"

    @property
    def one_message(self) -> bool:
        """Whether its main metric is the time of one message between two ranks."""
        return self.is_pair and self.ceiling == "measured" and self.main.unit == "us"

    def basis(self, memories: Collection[str]) -> Basis:
        """What its bound follows from, between ranks with these memories.

        Between unlike memories half a round trip is the mean of two ways, of which one may be
        shorter; and what moves no data leaves the memory of a GPU alone.
        """
        if self.bound_by is not None:
            return Basis(same=self.bound_by)
        if self.ceiling != "bound" or self.traffic is None:
            return Basis()
        moves = self.traffic.moves_data
        message = len(set(memories)) == 1 and (moves or set(memories) == {"host"})
        return Basis(message=message, receives=(self.least or self.traffic) if moves else None)

    def received_gbs(self, metric: Metric, value: float, size_bytes: int, ranks: int) -> float:
        """GB/s that one of `ranks` ranks has received where a metric of its ceiling has this value,
        with messages of `size_bytes`: half of the ranks receive, of a rate both ways all of them.
        0 where the metric does not tell."""
        if metric.unit == "GB/s":
            return value / self.moves.ways / (ranks / 2)
        if metric == self.main and self.one_message and value > 0:
            return size_bytes / value / 1e3
        return 0.0

    @property
    def place(self) -> tuple[bool, bool, bool, bool, str]:
        """Where it stands in tables: what has ceilings, what pairs of ranks do, rates, one way."""
        several = self.ranks.rule != "exactly"
        rates_last = self.main.better == "lower"
        return not self.has_ceiling, several, rates_last, self.symmetric, self.name


def x_unit(benchmarks: Iterable[Benchmark], name: str) -> str:
    """In what the x of a benchmark counts; bytes also of what is none, as a ceiling of its own."""
    known = by_name(benchmarks)
    return known[name].x.unit if name in known else X().unit


def with_ceilings(benchmarks: Iterable[Benchmark]) -> set[str]:
    """The names of those whose ceilings are measured."""
    return {each.name for each in benchmarks if each.ceiling == "measured"}


def by_name(benchmarks: Iterable[Benchmark]) -> dict[str, Benchmark]:
    """Each benchmark by what it is called."""
    return {benchmark.name: benchmark for benchmark in benchmarks}


def named(benchmarks: Collection[Benchmark], name: str) -> Benchmark:
    """The benchmark called `name`; UserError with what is like it, or with those that there are."""
    for benchmark in benchmarks:
        if benchmark.name == name:
            return benchmark
    raise unknown(name, [benchmark.name for benchmark in benchmarks])


def unknown(name: str, known: list[str]) -> UserError:
    """What to raise where none of the benchmarks that are known has a name."""
    plain = name.removeprefix("osu_")
    if plain == name:
        return UserError(f"unknown benchmark {name!r}{closest(name, known)}")
    calls = plain.removesuffix("_persistent")
    if plain in known:
        return UserError(f"OMB's {name} is called {plain} here")
    if calls in known:
        return UserError(f"OMB's {name} is `{calls} --calls persistent` here")
    if plain.startswith("nccl_"):
        return UserError(f"OMB's {name} is `{plain.removeprefix('nccl_')} --mpi nccl` here")
    return UserError(
        f"there is nothing like OMB's {name} here: docs/from-omb.md lists its programs"
    )
