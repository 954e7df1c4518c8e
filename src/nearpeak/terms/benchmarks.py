# SPDX-License-Identifier: Apache-2.0
"""The description of a benchmark by its program (docs/reference/describe.md).

Nothing in Python knows a benchmark by its name: planning, verdicts and reports follow from these
facts.
"""

import math
from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

import msgspec

from nearpeak.errors import UserError, closest
from nearpeak.terms.private import Public

QUOTED_BYTES = 8  # the size at which latencies are quoted, as is usual
# Metrics of `nearpeak-native gpu` that no MPI benchmark has: parts of the times of a path, not
# ceilings.
SIZED_GPU_FACTS = ("device_latency", "ipc_open")  # the others have no size
GPU_FACTS = (
    "device_latency",
    "flag_latency",
    "ipc_open",
    "pointer_query",
    "pointer_queries",
    "runtime_pointer_query",
)
FAMILIES = ("pt2pt", "collective", "rma", "datatype", "overlap", "stream", "app")
EVERYTHING = "all"  # instead of families
Better = Literal["lower", "higher"]
# The reference of a benchmark (results/bounds.py).
Ceiling = Literal[
    "measured",  # a ceiling that `nearpeak-native` measures, with the same metrics
    # a least time, or highest rate, by other ceilings (`traffic`, `bound_by`) or by `bound`
    "bound",
    "none",  # nothing: figures have no fraction
]


class Axis(msgspec.Struct, frozen=True):
    """One option of a benchmark that a study varies."""

    name: Public  # of the axis
    values: list[Public]  # possible values
    default: Public  # one of them
    summary: Public = ""  # one line for people
    host_only: list[Public] = []  # values that take ordinary host memory of all ranks
    usual: list[Public] = []  # values that a study measures by default; empty: `default`
    # libraries without this axis behave like its default, which no case names
    implied: bool = False

    @property
    def usual_settings(self) -> list[str]:
        """`name=value` of each usual value; "" of the default."""
        named = {value: f"{self.name}={value}" for value in self.usual} | {self.default: ""}
        return [named[value] for value in self.usual]

    def names(self, value: str) -> bool:
        """True if a case names this value of the axis."""
        return not self.implied or value != self.default

    def joined(self, other: "Axis") -> "Axis":
        """This axis with the values of another program's, too."""
        usual = list(dict.fromkeys([*(self.usual or [self.default]), *other.usual]))
        return msgspec.structs.replace(
            self,
            values=list(dict.fromkeys([*self.values, *other.values])),
            usual=usual if other.usual else self.usual,
        )

    def takes(self, value: str, host: bool) -> bool:
        """True if a value supports the buffers; `host`: all of them are in ordinary host memory."""
        return host or value not in self.host_only

    def default_of(self, host: bool) -> str:
        """The first value that supports the buffers."""
        return next(value for value in (self.default, *self.values) if self.takes(value, host))


class Metric(msgspec.Struct, frozen=True):
    """One figure that a benchmark gives."""

    name: Public  # of the metric
    # `us`, `GB/s`, `M/s` (1e6 messages, or particles, a second), `GLUP/s` (1e9 updates of a cell a
    # second) or `ratio`
    unit: Public
    better: Better  # which values are better


class X(msgspec.Struct, frozen=True):
    """The quantity that a benchmark is measured over."""

    # `size`: of a message; for an application, the size of its problem, like `side`
    name: Public = "size"
    unit: Public = "B"  # `B`; of an application another one, like `cells`
    # of an application: sizes that a study measures by default (`--problem-sizes`: others)
    usual: list[int] = []


class Moves(msgspec.Struct, frozen=True):
    """The messages of one iteration between a pair of ranks."""

    ways: int = 1  # 2: there and back
    window: bool = False  # all messages in flight; false: one

    def bytes(self, size_bytes: int, window: int) -> int:
        """Bytes with messages of one size, of which `window` are in flight."""
        return self.ways * size_bytes * (window if self.window else 1)


class Traffic(msgspec.Struct, frozen=True):
    """The least data that a rank of n receives, or sends, in a collective operation: (once +
    times_ranks n + by_ranks / n) times x."""

    once: int = 0  # times x
    times_ranks: int = 0  # times n times x
    by_ranks: int = 0  # times x over n

    def bytes(self, size_bytes: int, ranks: int) -> float:
        """(once + times_ranks * n + by_ranks / n) times the size."""
        return size_bytes * (self.once + self.times_ranks * ranks + self.by_ranks / ranks)

    def algorithm_bytes(self, size_bytes: int, ranks: int) -> int:
        """The data of the algorithm bandwidth of nccl-tests (its doc/PERFORMANCE.md).

        All blocks where there is one for every rank, else the size.
        """
        return size_bytes * ranks if self.times_ranks else size_bytes

    @property
    def moves_data(self) -> bool:
        """True if the operation moves data; a barrier does not."""
        return any((self.once, self.times_ranks, self.by_ranks))


class Basis(NamedTuple):
    """The measured ceilings that a bound follows from."""

    same: str | None = None  # this benchmark's, at the same size with the same buffers
    message: bool = False  # the time of one message between two ranks
    receives: Traffic | None = None  # the rate of one rank, which receives this traffic


class RankRule(msgspec.Struct, frozen=True):
    """The numbers of ranks that a benchmark runs on."""

    rule: Public  # `exactly`, `at least`, or `even`: an even number, and at least `count`
    count: int  # number of ranks

    def fits(self, ranks: int) -> bool:
        """True if the benchmark runs on `ranks` ranks."""
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
    """A benchmark, as its program describes it (docs/reference/describe.md)."""

    name: Public  # OMB's name, if OMB has it (docs/reference/programs.md)
    # figures that it gives, the main one first; each is compared with the ceiling of the same name
    metrics: list[Metric]
    ranks: RankRule  # number of ranks that it runs on
    axes: list[Axis] = []  # options that a study varies
    summary: Public = ""  # one line for people
    # `pt2pt`, `collective`, `rma`, `datatype`; `overlap`: with computation; `stream`: with a stream
    # of the device; `app`: an application; empty: not known
    family: Public = ""
    smallest: int = 0  # bytes of the smallest message; smaller sizes are left out
    # bytes of the largest message; larger sizes are left out; null: no limit
    largest: int | None = None
    sized: bool = True  # false: measured once, at 0 bytes, for all sizes (`barrier`)
    # false: only messages from rank 0 are measured, so `H,D` and `D,H` differ
    symmetric: bool = True
    x: X = X()  # quantity that it is measured over
    moves: Moves = Moves()  # messages of one iteration between a pair of ranks
    # of a collective operation; over the time, it is the bus bandwidth of nccl-tests; all zero: no
    # data (`barrier`); null: other benchmarks
    traffic: Traffic | None = None
    # the least that a rank must receive or send, if less than `traffic`; the bound follows from it;
    # null: `traffic`
    least: Traffic | None = None
    # operations that do the same at the same size, and more: the library could call them instead
    # (`bcast`: `allreduce`)
    covered_by: list[Public] = []
    # best possible value of the main metric on any machine (1 for `iallreduce`); null: other
    # benchmarks
    bound: float | None = None
    # benchmark with a measured ceiling (`latency`, `bw`, `bibw`) that this one cannot exceed at the
    # same size with the same buffers; null: none
    bound_by: Public | None = None
    # direction of the data from the calling rank; the other rank may take no part; null: not
    # one-sided
    one_sided: Literal["put", "get"] | None = None
    ceiling: Ceiling = "none"  # the reference of its figures
    # measured by default: at all sizes if its `ceiling` is `measured`, else at a few
    # (docs/how-to/study.md)
    default: bool = False
    # it calls MPI from several threads (`MPI_THREAD_MULTIPLE`), in launches of its own
    threads: bool = False

    @property
    def has_ceiling(self) -> bool:
        """True if it has a ceiling, and hence fractions."""
        return self.ceiling != "none"

    def metric(self, name: str) -> Metric:
        """Its metric of this name; KeyError without one."""
        return {metric.name: metric for metric in self.metrics}[name]

    @property
    def defaults(self) -> dict[str, str]:
        """The default value of each of its axes."""
        return {axis.name: axis.default for axis in self.axes}

    @property
    def over_bytes(self) -> bool:
        """True if its sizes are those of messages; else of the problem of an application."""
        return self.x.unit == X().unit

    @property
    def main(self) -> Metric:
        """The first metric."""
        return self.metrics[0]

    def sizes(self, planned: Iterable[int]) -> list[int]:
        """The planned sizes that it is measured at."""
        if not self.sized:
            return [0]
        largest = math.inf if self.largest is None else self.largest
        return [size for size in planned if self.smallest <= size <= largest]

    @property
    def is_pair(self) -> bool:
        """True if it runs on exactly two ranks."""
        return self.ranks.rule == "exactly" and self.ranks.count == 2

    @property
    def one_way(self) -> bool:
        """True if its main metric is a one-way rate between two ranks.

        Such a rate can be compared with the theoretical rate of a link.
        """
        return self.is_pair and not self.symmetric and self.main.unit == "GB/s"

    @property
    def one_message(self) -> bool:
        """True if its main metric is the time of one message between two ranks."""
        return self.is_pair and self.ceiling == "measured" and self.main.unit == "us"

    def basis(self, memories: Collection[str]) -> Basis:
        """The ceilings that its bound follows from, between ranks with these memories.

        Between unlike memories half a round trip is the mean of two directions, of which one may be
        faster. An operation without data does not touch GPU memory.
        """
        if self.bound_by is not None:
            return Basis(same=self.bound_by)
        if self.ceiling != "bound" or self.traffic is None:
            return Basis()
        moves = self.traffic.moves_data
        message = len(set(memories)) == 1 and (moves or set(memories) == {"host"})
        return Basis(message=message, receives=(self.least or self.traffic) if moves else None)

    def received_gbs(self, metric: Metric, value: float, size_bytes: int, ranks: int) -> float:
        """GB/s that each receiving rank gets if a metric of its ceiling has this value.

        Messages have `size_bytes`. Half of the `ranks` receive, or all at a bidirectional rate. 0
        if the metric does not determine it.
        """
        if metric.unit == "GB/s":
            return value / self.moves.ways / (ranks / 2)
        if metric == self.main and self.one_message and value > 0:
            return size_bytes / value / 1e3
        return 0.0

    @property
    def place(self) -> tuple[bool, bool, bool, bool, str]:
        """Its order in tables: first those with ceilings, pairs of ranks, rates, one-way."""
        several = self.ranks.rule != "exactly"
        rates_last = self.main.better == "lower"
        return not self.has_ceiling, several, rates_last, self.symmetric, self.name


def x_unit(benchmarks: Iterable[Benchmark], name: str) -> str:
    """The unit of the x of a benchmark; bytes if the name is none, as for separate ceilings."""
    benchmarks_by_name = by_name(benchmarks)
    return benchmarks_by_name[name].x.unit if name in benchmarks_by_name else X().unit


def with_ceilings(benchmarks: Iterable[Benchmark]) -> set[str]:
    """The names of the benchmarks with measured ceilings."""
    return {benchmark.name for benchmark in benchmarks if benchmark.ceiling == "measured"}


def by_name(benchmarks: Iterable[Benchmark]) -> dict[str, Benchmark]:
    """The benchmarks by name."""
    return {benchmark.name: benchmark for benchmark in benchmarks}


def named(benchmarks: Collection[Benchmark], name: str) -> Benchmark:
    """The benchmark called `name`; UserError with similar names, or with all of them."""
    for benchmark in benchmarks:
        if benchmark.name == name:
            return benchmark
    raise unknown(name, [benchmark.name for benchmark in benchmarks])


def unknown(name: str, names: list[str]) -> UserError:
    """The error to raise for a name that is not among `names`."""
    plain = name.removeprefix("osu_")
    if plain == name:
        return UserError(f"unknown benchmark {name!r}{closest(name, names)}")
    calls = plain.removesuffix("_persistent")
    if plain in names:
        return UserError(f"OMB's {name} is called {plain} here")
    if calls in names:
        return UserError(f"OMB's {name} is `{calls} --calls persistent` here")
    if plain.startswith("nccl_"):
        return UserError(f"OMB's {name} is `{plain.removeprefix('nccl_')} --mpi nccl` here")
    return UserError(
        f"there is nothing like OMB's {name} here: docs/how-to/from-omb.md lists its programs"
    )
