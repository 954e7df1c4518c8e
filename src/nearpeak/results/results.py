# SPDX-License-Identifier: Apache-2.0
"""results.json (docs/reference/results.md): the results of a study, made only from its records."""

from typing import Literal

import msgspec

from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Machine
from nearpeak.observations.explained import Explanation
from nearpeak.observations.observed import Block
from nearpeak.statistics.sessions import sessions_with_enough_launches
from nearpeak.statistics.verdicts import Word
from nearpeak.terms.awareness import Awareness, Unaware
from nearpeak.terms.benchmarks import Benchmark, Better
from nearpeak.terms.counters import LinkKind
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.outcomes import CellStatus, Failed
from nearpeak.terms.path import DataPath
from nearpeak.terms.work import Work

SCHEMA = 5

# The origin of a ceiling (bounds.py).
CeilingKind = Literal[
    "measured",  # measured without MPI in the same case
    "bound",  # no time can be shorter, by other measurements (docs/methods/statistics.md)
    "ideal",  # nothing is better on any machine
]

# The place of the bytes of a case during the measurement (locality.py).
LiesIn = Literal[
    "core cache",  # in caches of one core
    "shared cache",  # in a cache that cores share
    "device cache",  # in caches of a GPU, or it may be
    "memory",  # in memory
]
HOST_CACHES = ("core cache", "shared cache")

# The reason for launches to scatter.
Cause = Literal[
    # other work on the machine took time of the ranks (`loaded` of Conditions)
    "other work",
    "two modes",  # launches fall into two groups
    "held down",  # hardware was slowed
    "sessions",  # sessions differ (flag `sessions apart`)
    "drift",  # the path changed (flag `drift`)
]

# The reason for a cell to have no fraction, though its ceiling or bound was measured.
NoFraction = Literal[
    "other blocks",  # no block measured both
    # in each block the CPUs were at another distance than those of the ceiling, or of what the
    # bound follows from
    "other distance",
]

# A remark on a cell.
Flag = Literal[
    "few launches",  # fewer than 6 launches: a range instead of an interval
    "mean",  # another tool gives the means of its launches, not their medians
    # half of the width of the interval (below 6 launches: the range) is above 2 % (rates) or 3 %
    # (times) of the median
    "imprecise",
    # sessions differ by more than their launches explain; `ci95` takes that in, and with two
    # sessions holds for these only (docs/methods/statistics.md)
    "sessions apart",
    "fractions apart",  # the same of its fractions; `fraction_ci95` takes that in
    "few samples",  # a launch took fewer samples than were asked for
    "bimodal",  # its launch medians fall into two groups (`modes`)
    "held down",  # in a launch, heat, power, errors or a hypervisor slowed a CPU or a GPU
    # a launch ran in a block in which its path differed from other blocks (`changed` of Drift)
    "drift",
    # the fraction rests on fewer blocks than the median: others have no ceiling, or one at another
    # distance of the CPUs
    "fewer blocks",
    # `fraction` is above 1.03; if noise cannot be the reason, it is the `status` too
    "above ceiling",
]


class CeilingValue(msgspec.Struct, kw_only=True):
    """The value of the path without MPI in the cell's case, and the method that is best there."""

    # in the cell's unit: median over the blocks of the medians of launches, or of the samples of
    # the better pace, if the method has two
    value: float
    method: str  # the best method at this size; of a bound, the ceiling that it follows from
    kind: CeilingKind = "measured"  # how it is known


class Mode(msgspec.Struct, kw_only=True):
    """One of the two groups that a cell's launch medians fall into."""

    median: float  # of the group's launch medians, in the cell's unit
    share: float  # of the launches that are in the group
    blocks: list[Block]  # the blocks of its launches
    # environment and state that all its launches share, and no launch of the other group has
    conditions: dict[str, str]


class Estimated(msgspec.Struct, kw_only=True):
    """A median over launches, of a quantity that may be 0 or negative."""

    value: float  # the median
    ci95: tuple[float, float] | None  # its 95 % interval; null below 6 launches
    range: tuple[float, float]  # smallest and largest of a launch


class TimePercentiles(msgspec.Struct, kw_only=True):
    """Percentiles of the times of single iterations in each launch: the medians over the launches.
    A launch counts in those that at least 5 of its iterations exceed."""

    iterations: int  # of all launches
    p50: Estimated | None  # half of the iterations take at most this; null: no launch has enough
    p90: Estimated | None  # 90 % of them
    p99: Estimated | None  # 99 % of them
    p999: Estimated | None  # 99.9 % of them
    longest: float  # the longest iteration of all launches


class Overlap(msgspec.Struct, kw_only=True):
    """The share of the shorter of communication and computation that ran during the other, by the
    medians of the launches' phases."""

    # (communicate + compute - both) / min(communicate, compute) of each launch: 1: all; 0: none;
    # below 0: longer than one after the other
    hidden: Estimated
    communicate_us: float  # communication alone, in us
    compute_us: float  # computation alone, in us
    both_us: float  # both at once, in us
    # how many times as long the device's computation takes during communication, by its clock;
    # null: no device computes
    device_slowdown: Estimated | None = None


class OfPlateau(msgspec.Struct, kw_only=True):
    """A rate against the plateau: the best of its ceiling at any size, in the host's memory at any
    size beyond the caches."""

    value: float  # the plateau, in the cell's unit
    x: int  # where the ceiling reaches it
    method: str  # the best method there
    fraction: float  # of the plateau: median over the blocks that measured both
    ci95: tuple[float, float] | None  # its 95 % interval; null below 6 such blocks
    range: tuple[float, float]  # smallest and largest of a block; no 95 % interval
    blocks: int  # blocks that measured both


class CountedLink(msgspec.Struct, kw_only=True):
    """The bytes that a link counted while a case was measured and verified."""

    kind: LinkKind  # of the link
    host: str  # host that has it
    name: str  # UUID of the GPU, port of the adapter, or name of the interface
    sent_bytes: float  # by that GPU or host: median over launches
    received_bytes: float  # by the same
    at_least: bool = False  # its counter may have wrapped unseen in a launch: lower bounds


class CountedCase(msgspec.Struct, kw_only=True):
    """The bytes that links counted beside the payload of the case, with those of its warm-up and
    of verification ([counters.md](counters.md))."""

    # sent by all ranks: median over launches; null: not known of this benchmark
    payload_bytes: float | None
    seconds: float  # from reading to reading: median over launches
    # by kind of link: counted bytes over payload, in the direction that has more: median over
    # launches; of `network` the busiest interface of each host
    times: dict[LinkKind, float]
    at_least: list[LinkKind] = []  # kinds of which that is a lower bound
    links: list[CountedLink] = []  # those that counted anything


class LinkInfo(msgspec.Struct, kw_only=True):
    """A link whose bytes were read."""

    kind: LinkKind  # of the link
    host: str  # host that has it
    name: str  # UUID of the GPU, port of the adapter, or name of the interface


class UnreadInfo(msgspec.Struct, kw_only=True):
    """Links that could not be counted."""

    kind: LinkKind  # of the links
    host: str  # host that has them
    why: str  # the reason


class Counting(msgspec.Struct, kw_only=True):
    """The links that the study counted."""

    # cost of a reading after each case, on the slowest rank, in us: median; null: none was done
    reading_us: float | None
    links: list[LinkInfo]  # those that were read
    unread: list[UnreadInfo]  # those that could not be read, each reason once


class Cell(msgspec.Struct, kw_only=True):
    """One library with one of its settings, on one path, in one case. A rate of empty messages has
    no meaning: such a cell has no ceiling and no fraction, and is not compared."""

    who: Who  # the library with its settings
    place: Place  # the path
    case: Case  # what was measured
    # of the numbers below: `us`, `GB/s`, `M/s` (1e6 messages a second) or `ratio` (a plain number)
    unit: str
    better: Better  # which values are better
    # messages in flight; fewer than asked for if these would be too many bytes; null: not known, or
    # nothing was measured
    window: int | None
    # operations between two waits of the CPU, as in one graph: a time is that of one of them
    operations: int = 1
    # where its bytes lie during the measurement (docs/methods/ceilings.md); null: not known, or no
    # messages
    lies_in: LiesIn | None = None
    median: float | None  # of the launch medians; null: no launch can be believed
    ci95: tuple[float, float] | None  # 95 % interval of `median`; null below 6 launches
    # smallest and largest launch median, which is no 95 % interval; null: none
    range: tuple[float, float] | None
    launch_medians: list[float]  # one for each launch, in the order of the blocks
    blocks: list[Block]  # the block of each launch median
    # of each launch, the round trip of a cache line between the CPUs of neighbouring ranks (the
    # longest), in ns; null: not measured
    cache_line_ns: list[float | None] = []
    # 5th percentile of the samples of all launches; null: only summaries are known
    p05: float | None
    p95: float | None  # 95th percentile of the same
    # of the times of single iterations; null: not known, or no time of one rank
    percentiles: TimePercentiles | None = None
    minimum: float | None  # smallest sample; null: not known, or nothing was measured
    # share of samples more than 3 interquartile ranges outside the quartiles of their launch; they
    # count in all other numbers
    outlier_share: float | None = None
    # two, the lower first, if the launch medians fall into two groups; else empty
    modes: list[Mode] = []
    # first exchange (first touch, registration), in us: median over launches; null: not known
    first_use_us: float | None
    # in `unit`, if launches gave it up as too slow: the shortest time of one iteration; else null
    at_least: float | None = None
    # algorithm bandwidth in GB/s at the median, as nccl-tests defines it; null: no collective
    # operation that moves data
    algbw_gbs: float | None = None
    busbw_gbs: float | None = None  # bus bandwidth in GB/s, as nccl-tests defines it
    launches: int  # number of launch medians
    failed: int = 0  # launches that ended in this cell as `status` says, if that counts as a loss
    ceiling: CeilingValue | None  # the ceiling at this size; null: none for this case
    # of the ceiling: median over the blocks that measured both at one distance of the CPUs; 1 is
    # the ceiling, for times too
    fraction: float | None
    fraction_ci95: tuple[float, float] | None  # its 95 % interval; null below 6 such blocks
    # smallest and largest of a block, by any method that may be the best; no 95 % interval
    fraction_range: tuple[float, float] | None = None
    # the best that a library can attain (docs/methods/ceilings.md); null: the ceiling itself
    attainable: CeilingValue | None = None
    fraction_attainable: float | None = None  # as `fraction`, of `attainable`; above 1 is no defect
    # as `fraction_ci95`, of `attainable`
    fraction_attainable_ci95: tuple[float, float] | None = None
    # as `fraction_range`, of `attainable`
    fraction_attainable_range: tuple[float, float] | None = None
    # blocks that measured both; 0 with a `fraction`: imported, against the ceiling of another time,
    # without interval or range
    fraction_blocks: int = 0
    # why it has no fraction, though its ceiling or bound was measured; null: it has one, or there
    # is no reference
    no_fraction: NoFraction | None = None
    # of a rate: against the best of its ceiling at any size; null: no rate, or it lies in the
    # host's caches and the plateau does not
    of_plateau: OfPlateau | None = None
    # time lost in one operation, in us: its time, times 1 - `fraction_attainable` (or `fraction`);
    # 0: none; null: no fraction or no time
    lost_us: float | None = None
    overlap: Overlap | None = None  # of communication and computation; else null
    # bytes on links; null: not counted, or not in the record of this metric
    counted: CountedCase | None = None
    # the first of these that one of its launches has; its numbers are those of the good launches
    status: CellStatus
    flags: list[Flag]  # remarks
    command: str  # a line for a POSIX shell that repeats a launch of this cell

    @property
    def by_block(self) -> dict[Block, float]:
        """The launch median of each block."""
        return dict(zip(self.blocks, self.launch_medians, strict=True))

    @property
    def sessions(self) -> int:
        """The number of sessions that measured it often enough to show where their middle is."""
        return len(sessions_with_enough_launches([block.session for block in self.blocks]))

    @property
    def by_library(self) -> CeilingValue | None:
        """The best that a library can reach."""
        return self.attainable or self.ceiling

    @property
    def half_width(self) -> float | None:
        """Half of its interval, relative to the median; None without one."""
        if self.ci95 is None or not self.median:
            return None
        return (self.ci95[1] - self.ci95[0]) / 2 / self.median


class Beside(msgspec.Struct, kw_only=True):
    """An application in two values of one axis, in the blocks that have both."""

    axis: str  # the axis that differs
    value: str  # its value in the other one: the default
    speedup: Estimated  # how many times as fast as the other one: median over the blocks


class Scaled(msgspec.Struct, kw_only=True):
    """The scaling of an application from the fewest ranks, in the blocks that have both."""

    place: Place  # the path of the fewest ranks
    # `weak`: each rank has as much work as each rank there; `strong`: all ranks together have as
    # much work as there
    scaling: Literal["weak", "strong"]
    # time there over time here, for strong scaling over the ratio of the numbers of ranks too; 1 is
    # perfect
    efficiency: Estimated


class Roofline(msgspec.Struct, kw_only=True):
    """The least time of an iteration: what its ranks must copy within their memory, at the rate of
    that memory's ceiling."""

    us: float  # the least time, in us
    # the ceiling in GB/s: copies by one core for each rank (or the next measured number), or within
    # a GPU
    gbs: float
    place: Place  # where that was measured
    fraction: Estimated  # the least time over the measured one: median over blocks


class WhatIf(msgspec.Struct, kw_only=True):
    """An iteration with the messages of another library: its time, plus the difference of the times
    that messages of both should take."""

    who: Who  # the other library
    value: float  # the predicted time, in the cell's unit
    # smallest and largest prediction of a block; no interval, as the model errs too; null: none
    range: tuple[float, float] | None
    measured: float | None = None  # the same problem with that library; null: not measured


class MessageTime(msgspec.Struct, kw_only=True):
    """The time of a message of one size."""

    size_bytes: int  # of the message
    us: float  # its time alone, in us


class Deviation(msgspec.Struct, kw_only=True):
    """The difference between measured and predicted times of the messages of a problem, and effects
    that the model leaves out (docs/methods/statistics.md)."""

    off: float  # relative to the predicted time; above 0: they took longer
    far: bool  # by more than 20 %
    largest_bytes: int  # the largest of its messages
    # the nearest sizes of the study below and above, if their times differ by more than 20 %; else
    # empty
    around: list[MessageTime] = []
    own_bytes: int = 0  # bytes that a rank also sends to itself
    # time between its messages of GPU memory, in us, from 500 us on; else null
    pause_us: float | None = None
    pushed_out: bool = False  # its cells push its messages out of the host's caches


class Application(msgspec.Struct, kw_only=True):
    """One problem of an application (docs/reference/applications.md), and what follows from its
    time."""

    # the time of an iteration on the slowest rank; `x` of its case is the size of the problem
    cell: Cell
    # median of its second metric, in `rate_unit`; null: nothing measured, or this `mode` lacks what
    # the rate counts
    rate: float | None
    rate_unit: str  # unit of the rate
    # parts of an iteration in us, each on the rank that is slowest in it: medians over launches
    phases: dict[str, float]
    # share of the iteration beyond the longest computation of a rank; null: no computation, or
    # kernels run beside messages
    not_computing: float | None = None
    # `communicate` in us on the rank that waits least for others; null: no such part
    messages_us: float | None = None
    work: Work | None  # the least work of an iteration; null: not known
    # null: the memory of its ranks was not measured outside of caches, or its cells may stay in
    # caches
    roofline: Roofline | None = None
    # against the fewest ranks; null: fewer ranks with the same memory were not measured
    scaled: Scaled | None = None
    # longest `compute` of a rank over the mean of all: median over blocks; 1 is perfect; null: one
    # rank, or no computation
    imbalance: Estimated | None = None
    # saved against communication after computation, over the shorter of both: median over blocks;
    # null: not all `mode`s measured
    hidden: Estimated | None = None
    beside: list[Beside] = []  # against the same problem with the default of one axis
    # predicted time of its messages in us, from messages of this library on this path; null: none
    # of these
    predicted_us: float | None = None
    # smallest and largest prediction of a block, in us; no interval, as the model errs too; null:
    # no prediction
    predicted_range: tuple[float, float] | None = None
    # with the messages of other libraries of the study, if both are predicted
    what_if: list[WhatIf] = []
    # of `messages_us` from `predicted_us`; null: one of them is null
    deviation: Deviation | None = None


class Attainable(msgspec.Struct, kw_only=True):
    """The part of a ceiling that a library can attain, by methods without a need that no library
    can count on."""

    value: float  # median of `values`, in the unit of the ceiling
    ci95: tuple[float, float] | None  # its 95 % interval; null below 6 launches
    range: tuple[float, float]  # least and most of `values`
    # in each block, the value of the method that is best in the other half of the blocks
    values: list[float]
    otherwise: list[list[float]] = []  # other possible `values`
    blocks: list[Block]  # the block of each value
    method: str  # the best over all blocks
    stand_ins: dict[str, list[Block]] = {}  # other methods that counted, each with its blocks
    # in at least half of its blocks the method was measured by a few samples only: in full it may
    # be better or worse
    by_trials: bool = False

    @property
    def readings(self) -> list[dict[Block, float]]:
        """The attainable values in each block, and all that these may be too."""
        readings = (self.values, *self.otherwise)
        return [dict(zip(self.blocks, values, strict=True)) for values in readings]


class Pace(msgspec.Struct, kw_only=True):
    """One of the two groups that the samples of a ceiling's method fall into."""

    value: float  # median of its samples, and of these the median over the launches with both paces
    share: float  # of the samples of these launches
    launches: int  # launches with both paces


class CeilingPoint(msgspec.Struct, kw_only=True):
    """The value of a path without MPI at one size. A bound is the least time that follows from what
    was measured between its ranks: then `methods` has several times, of which the bound is the
    longest. If its CPUs were at several distances, the bound is that of the best one."""

    place: Place  # the path; local memory has paths of its own
    # it holds for all cases with the same benchmark, metric, `x` and memories, and the same value
    # of each of its axes
    case: Case
    unit: str  # `us`, `GB/s`, `M/s` or `ratio`
    better: Better  # which values are better
    # median of `values`; of a bound, like `ci95` and `range`, without blocks in `passed_over`
    value: float
    ci95: tuple[float, float] | None  # 95 % interval of `value`; null below 6 launches
    range: tuple[float, float]  # least and most of `values`
    # in each block, the value of the method that is best in the other half of the blocks
    values: list[float]
    # other possible `values`, if two methods count or paces may be judged otherwise; `ci95` and
    # intervals of fractions cover all
    otherwise: list[list[float]] = []
    blocks: list[Block]  # the block of each value
    # of each value, as in a Cell: of the method that counts there, or the median of others if that
    # was a trial
    cache_line_ns: list[float | None] = []
    # of a bound: blocks whose CPUs were at another distance than the best; only fractions of
    # launches at that distance use them
    passed_over: list[Block] = []
    # the best over all blocks, of those measured in more than half of the blocks (if none was: of
    # all)
    method: str
    stand_ins: dict[str, list[Block]] = {}  # other methods that counted, each with its blocks
    methods: dict[str, float]  # the value of every method
    # of methods: needs that no library can count on: `gpu`, `window` (docs/methods/ceilings.md)
    needs: dict[str, list[str]] = {}
    # the ceiling of methods without such needs; null: the same, or no such method was measured
    attainable: Attainable | None = None
    modes: list[Pace] = []  # two, the better first, if the best method has two paces; else empty
    window: int | None = 1  # messages in flight; null: not known
    lies_in: LiesIn | None = None  # as in a Cell; null for a bound
    # a defect: the rate in GB/s at which host memory copies, if the ceiling of messages in memory
    # is above it; else null
    above_memory: float | None = None
    fact: bool = False  # a fact of the path, the ceiling of no benchmark
    kind: CeilingKind = "measured"  # how it is known
    # `value` over `theoretical_gbs` of the path, a rate in one direction; null: not known, or
    # another kind of value
    of_theoretical: float | None = None

    @property
    def by_block(self) -> dict[Block, float]:
        """The value of the path in each block."""
        return dict(zip(self.blocks, self.values, strict=True))

    @property
    def readings(self) -> list[dict[Block, float]]:
        """The values of the path in each block, and all that these may be too."""
        readings = (self.values, *self.otherwise)
        return [dict(zip(self.blocks, values, strict=True)) for values in readings]

    @property
    def by_library(self) -> float:
        """The best that a library can reach."""
        return self.value if self.attainable is None else self.attainable.value


class Fit(msgspec.Struct, kw_only=True):
    """Hockney's model t(s) = latency + s / bandwidth of a curve: one for all sizes, or one below
    and one above the change of the protocol. Curves have none if the median error is 10 % or more,
    or the bandwidth is above the ceiling."""

    who: Who  # empty for a ceiling
    place: Place  # the path
    curve: Curve  # what was fitted
    # of an empty message, in us; for a rate, the time that each message of a window adds
    latency_us: float
    asymptotic_gbs: float  # bandwidth of infinitely long messages, in GB/s
    half_peak_bytes: float  # size that reaches half of it: latency times bandwidth
    smallest_bytes: int  # the first of the sizes that it describes
    largest_bytes: int  # the last of them
    median_error: float  # median relative error of the time over these sizes
    worst_error: float  # the largest


class Comparison(msgspec.Struct, kw_only=True):
    """Two alternatives in one case, over the blocks that both ran in, of the sessions that verdicts
    rest on."""

    first: Who  # one of them
    second: Who  # the other
    place: Place  # the path
    case: Case  # what both measured
    # of second to first: median over the blocks; above 1: the second is better, even if lower is
    # better
    ratio: float
    ci95: tuple[float, float] | None  # 95 % interval of `ratio`; null below 6 blocks
    blocks: int  # blocks that measured both
    # for this case only: logarithms of the ratios against 0, by sign flips; at least 1 / 2^(blocks
    # - 1)
    p_value: float
    p_adjusted: float  # adjusted for everything that the study compares
    verdict: Word  # on the second; never `mixed`


class CurveComparison(msgspec.Struct, kw_only=True):
    """Two alternatives in all cases of a curve, judged as one before any case is."""

    first: Who  # one of them
    second: Who  # the other
    place: Place  # the path
    curve: Curve  # what both measured
    # of second to first: mean over the cases in each block, of these the median; above 1: the
    # second is better
    ratio: float
    ci95: tuple[float, float] | None  # 95 % interval of `ratio`; null below 6 blocks
    p_value: float  # of that mean, as in a Comparison
    # that they differ in any case, adjusted for everything that the study compares
    p_adjusted: float
    verdict: Word  # on the second
    counts: dict[Word, int] = {}  # number of its cases with each verdict


class Unjudged(msgspec.Struct, kw_only=True):
    """Two alternatives that too few blocks leave undecided."""

    first: Who  # one of them
    second: Who  # the other


class Judging(msgspec.Struct, kw_only=True):
    """The number of questions that the blocks of a study can answer together
    (docs/methods/statistics.md)."""

    blocks: int = 0  # blocks of the sessions that verdicts rest on
    blocks_needed: int = 0  # blocks to judge all pairs of alternatives; 0: nothing was compared
    pairs: int = 0  # pairs of alternatives that were compared
    # pairs that are undecided because there are too few blocks: the last ones in the order of the
    # plan
    left_out: list[Unjudged] = []


class Peak(msgspec.Struct, kw_only=True):
    """The best that one path carries without MPI in one curve: a rate at the size where it is
    highest, a time at the smallest size above 0 B. The CeilingPoint of the same place and case has
    its interval."""

    place: Place  # the path
    case: Case  # of the CeilingPoint
    value: float  # what the path carries, in `unit`
    unit: str  # of `value`
    method: str  # the best method
    fact: bool  # as of a CeilingPoint
    largest: int  # largest size of the curve
    one_way: bool  # comparable with `theoretical_gbs`, a rate in one direction
    theoretical_gbs: float | None  # of the path, in GB/s; null: not known
    # `value` over `theoretical_gbs`; null: not known, or not comparable
    of_theoretical: float | None
    # below 80 % of the theoretical rate in its best direction, though 64 MiB or more were measured:
    # check the link or the memory
    suspect: bool = False


class Reference(msgspec.Struct, kw_only=True):
    """A value that a headline is compared with."""

    value: float  # in the headline's unit
    ci95: tuple[float, float] | None  # its 95 % interval; null below 6 blocks
    range: tuple[float, float]  # smallest and largest of a block
    x: int  # the size
    method: str  # the best method there, or what a bound follows from
    kind: CeilingKind  # how it is known
    lies_in: LiesIn | None = None  # as of a CeilingPoint
    by_trials: bool = False  # as of Attainable


# The certainty of who is first.
Standing = Literal[
    # it is first in 95 % of 2000 resamples of the blocks, and each verdict against another is
    # `faster` or `slower`
    "first",
    "tie",  # all in `tied` have the verdict `equivalent` against it
    # `tied` has those that are first in other resamples, or whose verdict against it is
    # `undecided`, `equivalent` or `two modes`
    "undecided",
    "alone",  # no other was measured there
    # fewer than 6 blocks have all, or count for verdicts; a figure above its ceiling is better; or
    # none counts
    "unknown",
]


class Headline(msgspec.Struct, kw_only=True):
    """The best alternative on one path in one curve, all at one size: a time at 8 B or the nearest
    size, a rate (and a ratio of times) at the largest. If a library skipped that size, or all
    failed in it, the next size is used.

    The best one has the best `median`. Not counted are figures that the benchmark staged itself,
    the ceiling in the place of a library, cells that lost half of their launches or more, and cells
    above their ceiling, which is wrong there.
    """

    place: Place  # the path
    case: Case  # the case that is shown
    unit: str  # of the numbers below
    better: Better  # which values are better
    best: Who | None  # the best one; null: none counts
    tied: list[Who]  # those that may be as good, the likeliest first
    # those of `tied` without a verdict against the best, as blocks were too few to judge all pairs
    unjudged: list[Who] = []
    # least blocks that one of them and the best have in common, and blocks to judge all pairs;
    # null: enough, or `unjudged` is empty
    unjudged_blocks: tuple[int, int] | None = None
    standing: Standing  # how certain that is
    value: float | None = None  # `median` of the best one; null: none counts
    fraction: float | None = None  # `fraction` of the best one
    fraction_ci95: tuple[float, float] | None = None  # `fraction_ci95` of the best one
    ceiling: Reference | None = None  # of this case; null: none
    # the best that a library can attain; null: the same as the ceiling
    attainable: Reference | None = None
    plateau: Reference | None = None  # of a rate: the best of its ceiling at any size; else null
    # the plateau is below the ceiling of this case in the same memory: noise hides which size is
    # the best
    plateau_low: bool = False
    # the plateau is not the ceiling at its size: in some blocks another size is the best
    plateau_of_several: bool = False


class Share(msgspec.Struct, kw_only=True):
    """The share of its reference that one alternative reaches."""

    who: Who  # whose it is
    share: float  # as of a Furthest


class Difference(msgspec.Struct, kw_only=True):
    """A difference between an imported figure and the study's figure for comparison."""

    name: str  # an axis, `buffers`, or `figure`: a mean instead of medians
    own: str  # of the imported figure
    study: str  # of the study


class Imported(msgspec.Struct, kw_only=True):
    """The figure of another tool and those of a study on one path, at one size: of a time the one
    nearest to 8 bytes, of a rate the largest, of sizes that a library of the study has too, if any.
    """

    who: Who  # name of the file and its tool
    place: Place  # the path
    case: Case  # what was measured
    unit: str  # of `value` and `library_value`
    better: Better  # which values are better
    value: float  # the imported figure: median over its files
    # best library of the study at the same size, in the same memories; null: none has that size
    library: Who | None = None
    library_value: float | None = None  # its median; null: none
    # of the same size; of rates, if that was not measured, the best at any; null: none
    ceiling: Reference | None = None
    # distances of the ceiling's CPUs, nearest first: round trips of a cache line in ns, nearest and
    # farthest block; empty: not known
    ceiling_ns: list[tuple[float, float]] = []
    # of `ceiling`, without interval; null: buffers are used otherwise, or the CPUs of the ceiling
    # were at several distances
    fraction: float | None = None
    # differences from the curve of the study that it is compared with
    differs: list[Difference] = []


class Source(msgspec.Struct, kw_only=True, frozen=True):
    """The description of a rule: a paper, a manual, an issue."""

    text: str  # a paper, a manual, an issue: who says what
    address: str  # where it is


# Where an imported figure stands.
AppraisalState = Literal[
    "near",  # it reaches 80 % or more of what such hardware sustains
    "below",  # it reaches less, or is low on any hardware
    "above",  # it is more than such hardware sustains: the hardware, or the figure, is another
    "unsure",  # the table alone cannot tell
    "wrong data",  # a validation failed
]


class LikelyReason(msgspec.Struct, kw_only=True):
    """A likely reason of a figure that another tool printed."""

    rule: str  # the rule that found it
    text: str  # in words
    certain: bool = False  # the output itself says so
    command: str = ""  # what to run next; empty: nothing


class Sustained(msgspec.Struct, kw_only=True):
    """The rate, or the time, that a path of such hardware sustains."""

    value: float  # in the unit of the figure
    path: str  # the path, in words
    source: Source  # where that was measured or published
    share: float | None = None  # of it that the figure reaches; null: they are not comparable


class Appraisal(msgspec.Struct, kw_only=True):
    """An imported figure, what such hardware sustains, the share of it, and the likely reason."""

    who: Who  # name of the file and its tool
    place: Place  # the path
    case: Case  # what was measured; of a matrix, the pair with the lowest rate
    tool: str  # that printed it
    # `us`, or `GB/s`: of collective operations the bus bandwidth, as nccl-tests defines it
    unit: str
    value: float  # the figure; 0: all payloads were wrong
    best: float | None = None  # of a matrix, the best pair; else null
    ranks: int | None = None  # null: not known
    hosts: int | None = None  # that the ranks were on; null: not known
    machine: str  # the hardware, as `--machine` takes it; empty: not known
    named: bool = False  # the user named it; else it was recognised in the file
    state: AppraisalState  # where it stands
    # what the path sustains; several where the table does not tell which path it was
    sustained: list[Sustained] = []
    reasons: list[LikelyReason] = []  # the likeliest first
    missing: str = ""  # what the table does not tell; empty: nothing that matters
    command: str = ""  # what to run next


class Furthest(msgspec.Struct, kw_only=True):
    """The case of a family with the least share of its reference, on one path with one kind of
    buffers: at the smallest size above 0 and at the largest."""

    family: str  # `collective`, `rma`, ...
    who: Who  # the library with its settings
    place: Place  # the path
    case: Case  # the operation and its size
    share: float  # of the reference that it reaches
    range: tuple[float, float]  # least and most of a block
    blocks: int  # blocks that measured both, 6 or more
    # the reference; `overlap`: `share` is the hidden share of communication or computation
    of: Literal["ceiling", "bound", "overlap"]
    beside: list[Share] = []  # of the same case, libraries other than MPI (NCCL, RCCL)


class OperationVariant(msgspec.Struct, kw_only=True):
    """One way of a GPU communication library to do an operation."""

    case: Case  # the operation, with the way to call it and to register its buffers
    value: float  # median of the launch medians, in us
    ci95: tuple[float, float] | None  # its 95 % interval; null below 6 launches
    # operations between two waits of the CPU, as in one graph: `value` is the time of one of them
    operations: int


class AgainstReference(msgspec.Struct, kw_only=True):
    """An MPI library relative to the reference, with the fastest of its own ways."""

    who: Who  # the library with its settings
    case: Case  # its fastest way
    value: float  # median of the launch medians, in us
    # its time over that of the reference, in the blocks that measured both; null: none did
    ratio: Estimated | None
    blocks: int  # such blocks


class OperationReference(msgspec.Struct, kw_only=True):
    """A collective operation at one size by a GPU communication library (NCCL, RCCL) at its best,
    and by the MPI libraries on the same path."""

    who: Who  # the GPU communication library with its settings
    place: Place  # the path
    # its ways, the fastest first, which is the reference; calls that are grouped come last, as they
    # run at the same time
    variants: list[OperationVariant]
    libraries: list[AgainstReference] = []  # the MPI libraries, the fastest first

    @property
    def best(self) -> OperationVariant:
        """The reference."""
        return self.variants[0]


class SlowerInGpuMemory(msgspec.Struct, kw_only=True):
    """The slowdown of an operation in GPU memory relative to host memory."""

    case: Case  # the operation in GPU memory
    # times as long as in host memory, or as low a rate; below 1: faster in GPU memory
    slower: Estimated
    blocks: int  # blocks that measured both


class InGpuMemory(msgspec.Struct, kw_only=True):
    """The operations of a library in GPU memory on one path at one size, relative to the memory of
    one host: on the first such path of as many ranks, each on a core of its own. Ratios of overlap
    do not count."""

    who: Who  # the library with its settings
    place: Place  # the path between GPUs
    host: str  # id of the path in host memory
    x: int  # the size, in bytes
    slower: float  # median over `operations`
    operations: list[SlowerInGpuMemory]  # the slowest first


class AwareAgainstStaged(msgspec.Struct, kw_only=True):
    """Device buffers that the library gets, relative to copies through host memory that the
    benchmark makes around a message between hosts, at one size."""

    x: int  # the size, in bytes
    # times as fast, or as high a rate, as with the copies; below 1: the copies are faster
    faster: Estimated
    blocks: int  # blocks that measured both
    carrier: Who  # the library that carried the copied messages, with its settings
    staging: str  # host memory of the copies, the faster one: `pinned` or `pageable`

    @property
    def is_faster(self) -> bool:
        """True if device buffers are faster, by the whole interval where there is one."""
        return (self.faster.ci95 or (self.faster.value,))[0] > 1


class StagedOrAware(msgspec.Struct, kw_only=True):
    """A library with device buffers on one path, relative to an application that copies them
    through host memory."""

    who: Who  # the library with its settings
    place: Place  # the path
    curve: Curve  # what was measured with device buffers
    # size in bytes from which device buffers are faster, at it and at every larger one that was
    # measured; null: the copies are not slower at the largest
    aware_from: int | None
    sizes: list[AwareAgainstStaged]  # in ascending order


class PairFigure(msgspec.Struct, kw_only=True):
    """One pair of a matrix."""

    pair: tuple[str, ...]  # names of both ends
    value: float  # median, in the matrix's unit
    fraction: float  # of the median pair; below 1 is worse, even if lower is better


class PairSource(msgspec.Struct, kw_only=True):
    """The figures of one contender, or of the ceiling, in one matrix."""

    who: Who  # empty for the ceiling
    figures: list[PairFigure]  # of each pair
    median: float  # of the median pair, in the matrix's unit
    slowest: tuple[str, ...]  # both ends of the pair with the least fraction
    fraction: float  # that fraction
    # it is slower than each of the others; at most 5 % of studies say so falsely of any
    # (docs/methods/statistics.md#findings)
    sure: bool
    blocks: int  # blocks with all pairs, after those that give the order; `sure` needs 5
    # GPU whose median pair is surely slower than that of each other GPU; null: none
    slow_gpu: str | None
    slow_gpu_fraction: float | None  # its pairs relative to those of the median GPU; null: none


class PairMatrix(msgspec.Struct, kw_only=True):
    """One benchmark between all pairs of one kind (`--all-pairs`), at the largest size that was
    measured."""

    kind: str  # `gpu-gpu` or `host-gpu`
    # either end of a pair may be the first; false: data went only from the first, or the ends are
    # unlike
    symmetric: bool
    case: Case  # what was measured
    unit: str  # of the figures
    sources: list[PairSource]  # of the ceiling and of each library


class Judgement(msgspec.Struct, kw_only=True):
    """The verdict on one library, or a ceiling, by a requirement
    (docs/how-to/requirements.md)."""

    requirement: str  # as it was given; where it has a pattern, with the path's id in its place
    path: str  # id of its path
    who: Who  # the library; empty for a ceiling
    met: bool  # the requirement is met
    unit: str  # of what is required: `GB/s`, `M/s`, `us`, `ratio`, `of ceiling` or `of theoretical`
    value: float | None = None  # the median in `unit`; null: there is none, as `words` say
    ci95: tuple[float, float] | None = None  # its interval; null below 6 launches
    # smallest and largest of a launch, of a fraction of a block; null: none
    range: tuple[float, float] | None = None
    words: str  # for people: `met it: 80.0 % of the ceiling ...`

    @property
    def sentence(self) -> str:
        """`Required gpu-gpu nvlink:bw>=0.9: openmpi met it: ...`."""
        return f"Required {self.requirement}: {self.who.label} {self.words}"


class Failure(msgspec.Struct, kw_only=True):
    """A launch that did not end well."""

    launch: int  # its number in `records.jsonl`
    session: int  # the run of the study
    who: Who  # empty for a ceiling
    place: Place  # the path
    # the benchmark in which it ended; if not known, all that it was to measure; none for a ceiling
    benchmarks: list[str]
    x: int | None = None  # of the case in which it ended, in `x_unit`; null: not known
    x_unit: str = "B"  # `B`, or the unit of the size of a problem
    status: Failed  # how it ended
    # what ended it: a signal, the program's words, or the message; empty: its launcher names
    # nothing but the end
    cause: str = ""
    message: str  # what is known of it
    # failures in a row without a sample, after which the same was launched no more; 0: it was
    given_up_after: int = 0
    # figures that it was to give and did not, because it failed; 0: it failed after them; null: not
    # known
    lost: int | None = None
    command: str  # repeats it
    log: str | None  # its complete output, relative to the study's folder; null: none


class EndedIn(msgspec.Struct, kw_only=True):
    """A benchmark that launches were to measure, or the case of it that they ended in."""

    benchmark: str  # in which launches ended; if not known, one that they were to measure
    x: int | None = None  # the case, in `x_unit`; null: not known
    x_unit: str = "B"  # `B`, or the unit of the size of a problem


class FailureKind(msgspec.Struct, kw_only=True):
    """Launches of one library on one path that ended alike: with the same status and, except for
    its numbers, the same cause. A launch without a cause is of the first kind that measured the
    same."""

    who: Who  # empty for a ceiling
    place: Place  # the path
    status: Failed  # as of a Failure
    cause: str  # of the first; others may differ in its numbers
    launches: list[int]  # their numbers in `records.jsonl`
    of: int = 0  # all launches of the library on the path, with those that ended well; 0: not known
    first: int  # the launch with the cause, the message, the command and the log
    ended_in: list[EndedIn]  # what they ended in; none for a ceiling
    message: str  # of the first
    given_up_after: int  # as of a Failure: the most of one
    lost: int | None = None  # as of a Failure: of all these launches
    command: str  # repeats the first
    log: str | None  # of the first; null: none


class Skip(msgspec.Struct, kw_only=True):
    """A case that a program did not measure, which is no failure of a launch."""

    who: Who  # empty for a ceiling
    place: Place  # the path
    benchmark: str  # of the case; of a ceiling, the mode of `nearpeak-native`
    method: str  # of a ceiling; else empty
    sizes: list[int]  # sizes at which it was skipped, in `x_unit`
    x_unit: str = "B"  # `B`, or the unit of the size of a problem
    message: str  # why


class LibraryInfo(msgspec.Struct, kw_only=True):
    """A library as it named itself."""

    name: str  # in this study
    family: str  # `openmpi`, `mpich`, `intel`, ...
    version: str  # of the library
    version_text: str  # `MPI_Get_library_version`, complete
    # variables that it always gets, from its catalogue's entry or its module
    env: dict[str, str] = {}
    settings: list[Settings]  # those that were measured, with what each gives to the library
    native: bool = False  # it is the ceiling in the place of a library, and compared with nothing
    # parts that its makers ship and that were left out (`nearpeak bundle --for-processor`); empty:
    # none
    lacks: str = ""
    # a line for each of its modules that should have loaded and did not
    # (docs/contributing/adding-a-library.md#is-a-library-whole)
    broken: list[str] = []
    mpi: bool = True  # false: NCCL, RCCL or the ceilings, which are measured beside MPI
    scope: str = ""  # what it is measured in, a sentence; empty: everything
    # from the output of another tool: measured at another time, and compared with nothing
    imported: bool = False


# What stands out, each a file in nearpeak.findings.rules.
FindingKind = Literal[
    "adapter",
    "bidirectional",
    "blocking",
    "calls",
    "collectives",
    "datatypes",
    "device_datatypes",
    "dip",
    "directions",
    "dma_buf",
    "far",
    "gpu_support",
    "guidelines",
    "idle_link",
    "inherited",
    "ipc",
    "larger",
    "links",
    "lookups",
    "pointer_query",
    "managed",
    "more_than_payload",
    "mps",
    "noncontiguous",
    "numa",
    "one_nic",
    "one_sided",
    "overlap",
    "pageable",
    "parts",
    "peers",
    "pieces",
    "reductions",
    "registration",
    "settings",
    "settings_files",
    "shared_gpu",
    "single_copy",
    "staged",
    "throttled",
    "through_host",
    "tuning_tables",
    "visible_devices",
    "waits_for_gpu",
    "without_cuda",
    "wrong_path",
    "yields",
]


EvidenceOf = Literal[
    "own",  # of the one that loses
    "alternative",  # of the alternative
    "own ceiling",  # the best that a library can reach in the case of the loss
    "alternative ceiling",  # the best that a library can reach in the case of the alternative
]


class Evidence(msgspec.Struct, kw_only=True):
    """A figure that a finding rests on: of a library in the blocks that have the other one too, so
    that it may differ from that of its cell; of a ceiling in all of its blocks."""

    of: EvidenceOf  # whose it is
    value: float  # the median, in `unit`
    unit: str  # of the numbers; a time that is compared with a rate is a rate here
    ci95: tuple[float, float] | None  # its 95 % interval; null below 6 launches
    range: tuple[float, float]  # smallest and largest of a block
    window: int | None = None  # messages in flight; null: of a ceiling, or not known
    # factor on the measured value: the operation moves that many times the bytes (`reductions`), or
    # a message there and back (`one_sided`)
    scaled: float = 1.0


class Alternative(msgspec.Struct, kw_only=True):
    """An alternative that does better, or does less. It may differ in its library or settings, its
    path (`mps`), its buffers (`directions`), its benchmark or its axes."""

    who: Who  # the library with its settings
    place: Place  # the path
    case: Case  # what was measured


class Cost(msgspec.Struct, kw_only=True):
    """The loss relative to the alternative, in pairs of one block."""

    # how many times better the alternative is, above 1: median over the blocks with both
    ratio: float
    # interval: all of a study hold in 95 % of studies; null: not among the first questions, as
    # blocks are too few (docs/methods/statistics.md#findings)
    ci95: tuple[float, float] | None
    range: tuple[float, float]  # smallest and largest ratio of a block
    blocks: int  # blocks with both figures, of the sessions that verdicts rest on
    # of the figure that has more; if more than `blocks`, its median in tables is another one
    launches: int = 0
    # ratio of the two medians of these blocks, if it differs from `ratio` by more than a tenth;
    # else null
    of_medians: float | None = None
    # how many times better the ceiling of the alternative is, a property of the path; null: not
    # asked
    ceilings: float | None = None
    # lost in one operation of `case`, in us: difference of the medians (of a `dip`: to the gap of
    # the alternative); 0: not known
    lost_us: float
    share: float  # of the operation's time (of a rate: of the better one): 1 - 1 / `ratio`
    cases: int  # cases that lose like this on this path with these buffers


class SettingChange(msgspec.Struct, kw_only=True):
    """One difference of settings."""

    # `env`: a variable of the environment; `flags`: all flags of the launcher; `unset`: all
    # variables that the settings leave out
    kind: Literal["env", "flags", "unset"]
    name: str = ""  # of the variable; else empty
    value: str | None  # with the better settings; null: they leave it out
    instead: str | None  # with the others; null: they leave it out
    effect: str = ""  # what it does, if a rule names it; else empty


class Tried(msgspec.Struct, kw_only=True):
    """The same case with other values of axes, which is better in each block that has both."""

    axes: dict[str, str]  # axes that differ, with the better values
    value: float  # median in these blocks, in `unit`
    unit: str  # of `value`
    ratio: float  # how many times better it is: median over these blocks
    blocks: int  # blocks with both


class Remedy(msgspec.Struct, kw_only=True):
    """A remedy for a finding."""

    text: str  # what to do: one sentence for all of a kind
    settings: Settings | None = None  # settings to run with, if these are the remedy; else null
    # differences from the settings that lose; without `settings`: what the rule names, fits the
    # library, and nothing in force sets
    changes: list[SettingChange] = []
    # of the axes that the text names, the best that the study measured; null: nothing better
    tried: Tried | None = None
    # command that searches for settings that make this case faster (docs/how-to/tune.md), if the
    # rule names some; else empty
    tune: str = ""


# The kind of a recorded fact.
FactOf = Literal[
    "variable",  # a variable that launches inherited
    "doctor",  # a warning of `nearpeak machine --check`
    "slowed",  # a cause that slowed launches
    "operation",  # the end of an operation with device buffers
    "rank",  # the place where a rank ran
    "devices",  # the devices that a rank could see
    "adapter",  # the place of an adapter
    "part",  # a part of the time of a message
    # bytes that links counted
    "counted",
    "way",  # the time of a message in one direction, where that of the other differs much
    "table",  # a table of its tuning that a library did not load
]


class Fact(msgspec.Struct, kw_only=True):
    """A recorded fact that a finding rests on."""

    of: FactOf  # the kind of fact
    name: str  # of the variable, the check, the operation, ...
    value: str  # what is recorded of it
    # launches of libraries that recorded it; null: it is of the whole study
    launches: int | None = None


class Check(msgspec.Struct, kw_only=True):
    """A command that shows one of the two figures, or what was recorded."""

    # whose figure it shows: `own` (also of facts) or `alternative`
    of: Literal["own", "alternative"]
    command: str  # a line for a POSIX shell: one launch


class InMessage(msgspec.Struct, kw_only=True):
    """The share of parts in the time of a message, as `nearpeak explain` measured it."""

    messages: int  # messages that were measured
    time_us: float  # of one message while traced, in us
    slower: float  # times as long as without tracing
    share: float  # of the parts, in `time_us`
    lost_us: float  # by the parts without tracing, in us, if all grows alike while traced


class Finding(msgspec.Struct, kw_only=True):
    """Something that stands out: a loss, in the cells and ceilings; recorded `facts`, without a
    `cost`; or a figure far worse than one of something that does less (`noncontiguous`,
    `reductions`, `overlap`), without a `cost` and never `sure`. There is one loss for each kind,
    library with its settings, path (all pairs of GPUs are one) and buffers, reported at the case
    that loses most time. It is sure, or beyond the limit in each of its blocks, 4 or more.

    The order is that of `weighted_us`, the largest first; then those without a time, the `sure`
    ones first; last, losses with settings that nobody has without asking for them.

    Times of different sizes are never added up: nobody runs one message of each size.
    """

    kind: FindingKind  # the rule that found it (docs/reference/rules.md)
    # of a loss: certainly beyond the limit, of which at most 5 % of studies report a false one; of
    # facts: enough messages and launches show it (docs/reference/rules.md)
    sure: bool
    who: Who | None  # the library that loses, or that facts concern; null: all, as in the next two
    place: Place | None  # the path
    case: Case | None  # that loses most time; null: all
    apart: dict[str, str] = {}  # axes of `case` that distinguish it from other cases of the study
    # what does better, or does less; null: a bound is better, or it is a fact
    alternative: Alternative | None = None
    evidence: list[Evidence] = []  # figures that it rests on
    facts: list[Fact] = []  # recorded facts that it rests on; empty for losses
    cost: Cost | None = None  # what is lost; null: no figures show it, or the alternative does less
    message: InMessage | None = None  # of facts about messages: their share of one; else null
    # time that one operation surely loses (by the low end of the interval) beyond what its ceilings
    # explain, times how common it is (findings/weights.py), in us; 0: not known
    weighted_us: float = 0.0
    remedy: Remedy  # what to do about it
    check: list[Check]  # how to see it: a launch of each of the two, or of what was recorded
    sources: list[Source] = []  # descriptions of the rule
    # others with the same reason, not reported alone: losses with the same cause, or smaller shares
    # of messages
    explains: "list[Finding]" = []


class Conditions(msgspec.Struct, kw_only=True):
    """Other work on the machine during the measurement, on the host where the study was started.
    Fields that depend on the load are null if no launch recorded it."""

    cores: int  # of the machine
    # processes that ran or waited in the minute before: median over the launches with the fewest
    # ranks, of the session with the most others
    load: float | None = None
    ranks: int | None = None  # of those launches, which the load includes
    # cores that others kept busy: `load` without `ranks`, at most `cores`
    busy_cores: float | None = None
    # others took time of the ranks: over one process beyond the cores that ranks leave (of the
    # widest launches, if a quarter is free), or by `nearpeak machine --check`
    loaded: bool
    sessions: list[int] = []  # sessions with other work, from 0, if others had none; else empty


class TwoModes(msgspec.Struct, kw_only=True):
    """A headline figure whose launches fall into two groups: of those of its path, the one whose
    groups are farthest apart."""

    who: Who  # the library with its settings
    place: Place  # the path
    case: Case  # as of its Cell
    unit: str  # of the modes
    modes: list[Mode]  # both, the lower first
    others: int = 0  # number of other such figures of the path


# The advice, the first things first.
AdviceKind = Literal[
    "failures",  # find out why launches of `who` failed
    "path",  # check this path, which carries less than it should (`suspect` of Peak)
    "loss",  # see to the finding that loses most of those that are `sure`
    "launches",  # measure more before changing anything
    # nothing to do: the best library is at 80 % of the ceiling or above in all headlines of the
    # first sheet
    "near",
    "far",  # the best library is significantly below that here: try other settings or libraries
    # launches scatter too much: the interval of the best one's fraction contains 80 %, or its ends
    # differ by more than a factor of 2
    "open",
]


class Advice(msgspec.Struct, kw_only=True):
    """Advice to a reader. Fields that a kind has no use for are null. The last five kinds exclude
    each other."""

    kind: AdviceKind  # what to do
    # whose launches failed; who loses; who is best (`near`: everywhere; null: several)
    who: Who | None = None
    place: Place | None = None  # the path
    case: Case | None = None  # of the Peak, the Finding or the Headline
    # `path`: of the theoretical rate; `near`, `far`, `open`: of the ceiling, where the best library
    # is furthest from it
    fraction: float | None = None
    launches: int | None = None  # `failures`: that failed; `launches`: that an interval takes
    finding: int | None = None  # `loss`: its number in `findings`, from 0
    fraction_ci95: tuple[float, float] | None = None  # `open`: 95 % interval of `fraction`
    # `far`: method that carries within 15 % what the best library does; null: none, or the
    # ceiling's own
    like: CeilingValue | None = None
    why: list[Cause] = []  # `open`: known reasons; empty: none


class AtDistance(msgspec.Struct, kw_only=True):
    """The blocks of one path in which the CPUs of its ranks were about so far apart. Neighbouring
    distances that differ by more than a factor of 1.5 are two."""

    # round trip of a cache line between the CPUs in ns, of the nearest block and the farthest:
    # medians over the path's ceilings
    ns: tuple[float, float]
    blocks: list[Block]  # blocks with this distance
    # of these blocks from the median block: median over the path's ceilings; above 0 is faster
    deviation: float
    range: tuple[float, float]  # the same of single ceilings: lowest and highest


class Drift(msgspec.Struct, kw_only=True):
    """The values of one path without MPI in each block, relative to all blocks of the study."""

    place: Place  # the path
    blocks: list[Block]  # blocks with ceilings of it
    # of each block: median over the path's ceilings, each relative to its own median block; above 0
    # is faster
    deviations: list[float]
    # successive blocks that differ from the rest by more than chance: their cells have the flag
    # `drift`, uncorrected; empty: none
    changed: list[Block] = []
    step: float | None = None  # relative difference of these from the rest; null: none changed
    # the same of single ceilings with blocks on both sides: lowest and highest; null: none changed
    step_range: tuple[float, float] | None = None
    # distances of the CPUs of its ranks, nearest first; empty: only one, or not known
    distances: list[AtDistance] = []
    # least step half-way, in most ceilings, that half of such studies would detect, relative; null:
    # a change, or fewer than 4 blocks
    tells_from: float | None = None
    # best block over worst block of the ceiling whose blocks differ most, which alone shows no
    # drift; null: none
    widest: float | None = None
    widest_case: Case | None = None  # that ceiling; null: none

    @property
    def moved(self) -> bool:
        """True if most of the blocks that changed were at another distance than most others."""
        inside = [len({*distance.blocks} & {*self.changed}) for distance in self.distances]
        others = [len({*distance.blocks} - {*self.changed}) for distance in self.distances]
        if not any(inside) or not any(others):
            return False
        return inside.index(max(inside)) != others.index(max(others))


class SessionInfo(msgspec.Struct, kw_only=True):
    """One run of a study: the first, or one that `--resume` or `--extend` began."""

    session: int  # 0, 1, ...
    started: str  # ISO 8601 in UTC
    nearpeak: str  # version of Nearpeak that measured
    # begun with `--force`: the machine, driver, library or build may differ from the session before
    forced: bool
    # facts of `machine`, `driver`, `library`, `build` and `environment`, each by its name
    fingerprint: dict[str, dict[str, str]]
    blocks: int = 0  # blocks in which libraries were measured
    # verdicts rest on its blocks: its machine and software are those of the group of sessions with
    # the most blocks
    verdicts: bool = False
    # how the study had ended before this session added blocks, and what was asked for; empty: it
    # added none
    added: str = ""
    source: str = ""  # the file of another tool that it stands for; empty: measured here


RuleState = Literal["met", "not met", "not applicable"]


class Precision(msgspec.Struct, kw_only=True):
    """The width of the 95 % intervals of cells: half of each, relative to its median."""

    intervals: int  # number of intervals
    median: float  # half of them are as narrow, or narrower
    aim_of_rates: float  # aim of a study for rates
    aim_of_times: float  # aim of a study for times
    wider: int  # intervals wider than the aim (flag `imprecise`)
    widest: float  # the widest, relative to its aim
    who: Who  # of the widest, the library
    place: Place  # of the widest, the path
    case: Case  # of the widest, what was measured


class Rule(msgspec.Struct, kw_only=True):
    """One of the twelve rules of Hoefler and Belli (SC15), and the verdict on this study."""

    number: int  # 1 to 12, as in the paper
    rule: str  # in our words
    state: RuleState  # the verdict
    how: str  # why, with the study's numbers


class Results(msgspec.Struct, kw_only=True):
    """The complete file."""

    schema: int  # version of this format
    nearpeak: str  # version of Nearpeak that measured
    study: str  # id of the study
    started: str  # beginning of the study, ISO 8601 in UTC
    # its last run came to its end, even with failures or less precision than the aim; false: cut
    # off or interrupted
    complete: bool
    ended: str  # why it ended: every cell is precise, the budget is spent, ...; empty: cut off
    sessions: list[SessionInfo]  # its runs
    machine: Machine  # where it ran
    libraries: list[LibraryInfo]  # the MPI libraries, in the order of the plan
    paths: list[DataPath]  # the data paths of the plan
    benchmarks: list[Benchmark]  # what was measured, as its program describes it
    # figures of operations on messages, in the order of the plan: path, library and settings,
    # benchmark and axes, size
    cells: list[Cell]
    applications: list[Application] = []  # figures of applications, which are in no cell above
    ceilings: list[CeilingPoint]  # what the paths carry without MPI
    fits: list[Fit]  # Hockney's model of the curves that it describes
    comparisons: list[Comparison]  # every pair of alternatives in every case
    curves: list[CurveComparison]  # every pair of alternatives in every curve
    # how many pairs of alternatives the blocks could judge
    judging: Judging = msgspec.field(default_factory=Judging)
    counting: Counting | None = None  # links whose bytes were counted; null: none
    # other work on the machine during the measurement; null: not known
    conditions: Conditions | None = None
    # a verdict for each library and requirement (`--require`), in the order given; empty: none was
    # given
    requirements: list[Judgement] = []
    headlines: list[Headline] = []  # the best library on each path in each curve, at one size
    # of each path, the headline figure whose launches fall into two groups that are farthest apart
    modes: list[TwoModes] = []
    peaks: list[Peak] = []  # the best that each path carries without MPI in each curve
    # of studies of all pairs: a matrix for each kind of pair and benchmark
    pairs: list[PairMatrix] = []
    furthest: list[Furthest] = []  # of each family and path, the case furthest from its reference
    # how many times slower each library is in GPU memory than in host memory, at each size
    gpu_memory: list[InGpuMemory] = []
    # from which size each library's way with device buffers is faster than copies by the
    # application; empty: nothing was measured with both
    staged_or_aware: list[StagedOrAware] = []
    # of each path, collective operation and size, the best of NCCL or RCCL, and the MPI libraries
    # relative to it
    references: list[OperationReference] = []
    # figures of other tools beside those of the study on the same path; empty if everything was
    # imported
    imported: list[Imported] = []
    appraisals: list[Appraisal] = []  # of figures of other tools, those that are lowest first
    failures: list[Failure]  # launches that did not end well
    failure_kinds: list[FailureKind] = []  # the same, those that ended alike together
    skipped: list[Skip] = []  # cases that a program did not measure, each reason once
    # operations that each library did with each kind of device buffers
    awareness: list[Awareness] = []
    # operations of these that failed, those that ended alike together, without what the study left
    # out before its start
    unaware: list[Unaware] = []
    # what was not measured to save time, in the order in which it was left out
    left_out: list[LeftOut] = []
    # parts of the time of single messages, in the order in which `nearpeak explain --study`
    # measured them
    explanations: list[Explanation] = []
    findings: list[Finding] = []  # what stands out, what costs most time first
    advice: list[Advice] = []  # what a reader should do, most urgent first
    precision: Precision | None = None  # the width of the intervals; null: no cell has one
    drift: list[Drift]  # what each path carried without MPI, block by block
    checklist: list[Rule]  # twelve rules of good benchmarking, and whether this study meets them

    @property
    def loaded(self) -> bool:
        """True if other work is known to have taken the ranks' time."""
        return self.conditions is not None and self.conditions.loaded

    @property
    def timed(self) -> list[Cell]:
        """The cells of operations on messages, and of applications."""
        return self.cells + [problem.cell for problem in self.applications]

    @property
    def measuring_sessions(self) -> list[SessionInfo]:
        """The sessions in which anything was measured: no others count."""
        blocks = [cell.blocks for cell in self.timed] + [point.blocks for point in self.ceilings]
        measuring = {block.session for group in blocks for block in group}
        return [session for session in self.sessions if session.session in measuring]
