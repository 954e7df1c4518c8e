# SPDX-License-Identifier: Apache-2.0
"""results.json (docs/results.md): the results of a study, made only from its records."""

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
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.outcomes import CellStatus, Failed
from nearpeak.terms.path import DataPath
from nearpeak.terms.work import Work

SCHEMA = 5

# "measured" without MPI in the same case; a "bound" that follows from what was (bounds.py); or
# "ideal": the best that there can be, on any machine
Kind = Literal["measured", "bound", "ideal"]

# Where the bytes of a case lie while it is measured (locality.py): in caches of one core; in one
# that cores share; in those of a GPU, or they may; or in memory.
LiesIn = Literal["core cache", "shared cache", "device cache", "memory"]
HOST_CACHES = ("core cache", "shared cache")

# Why launches may scatter: other work on the machine; two groups of launches; hardware that was
# throttled; or a path that changed.
Cause = Literal["other work", "two modes", "held down", "sessions", "drift"]

# Why a cell has no fraction, though its ceiling or bound was measured: no block has both, or the
# bound does not count in those that have, as the CPUs were at another distance there.
NoFraction = Literal["other blocks", "other distance"]

# What must be known of a cell.
Flag = Literal[
    "few launches",
    "mean",
    "imprecise",
    "sessions apart",
    "fractions apart",
    "few samples",
    "bimodal",
    "held down",
    "drift",
    "fewer blocks",
    "above ceiling",
]


class CeilingValue(msgspec.Struct, kw_only=True):
    """The value of the path without MPI in the cell's case, and the method that is best there."""

    value: float  # in the cell's unit
    method: str
    kind: Kind = "measured"


class Mode(msgspec.Struct, kw_only=True):
    """One of the two groups that a cell's launch medians fall into."""

    median: float  # in the cell's unit
    share: float  # of the launches
    blocks: list[Block]
    conditions: dict[str, str]  # what its launches share and no launch of the other group has


class Estimated(msgspec.Struct, kw_only=True):
    """A median over launches, of what may be 0 or below."""

    value: float
    ci95: tuple[float, float] | None  # null below 6 launches
    range: tuple[float, float]  # smallest and largest of a launch


class Overlap(msgspec.Struct, kw_only=True):
    """The share of the shorter of communication and computation that went on during the other;
    times are medians over the launches."""

    hidden: Estimated  # (communicate + compute - both) / min(communicate, compute) of each launch
    communicate_us: float  # alone
    compute_us: float  # alone
    both_us: float  # at once
    # The device's own time for its work, with communication over without; null: it had none.
    device_slowdown: Estimated | None = None


class OfPlateau(msgspec.Struct, kw_only=True):
    """A rate against the plateau, the best that its ceiling reaches at any size: in the host's
    memory of sizes beyond the caches, and then of no rate within them."""

    value: float  # of the plateau, in the cell's unit
    x: int  # where that is
    method: str
    fraction: float  # as `fraction` of a cell, of that
    ci95: tuple[float, float] | None
    range: tuple[float, float]
    blocks: int  # that measured both


class Cell(msgspec.Struct, kw_only=True):
    """One library on one path in one case: its launch medians summed up."""

    who: Who
    place: Place
    case: Case
    unit: str
    better: Better
    window: int | None  # None: not known, or nothing was measured
    lies_in: LiesIn | None = None  # where its bytes lie; null: not known, or they are no messages
    median: float | None  # of the launch medians
    ci95: tuple[float, float] | None  # null below 6 launches
    range: tuple[float, float] | None  # smallest and largest launch median
    launch_medians: list[float]  # in block order
    blocks: list[Block]  # of each
    cache_line_ns: list[float | None] = []  # of each: how far apart the ranks' CPUs were
    p05: float | None  # of the samples of all launches
    p95: float | None
    minimum: float | None  # None: not known, or nothing was measured
    outlier_share: float | None = None  # of the samples: labelled (3 IQR off its launch), kept
    modes: list[Mode] = []  # two, when the flag "bimodal" is set
    first_use_us: float | None  # median over launches
    at_least: float | None = None  # in its unit, where launches gave it up as too slow
    algbw_gbs: float | None = None  # of a collective operation, as nccl-tests reports it
    busbw_gbs: float | None = None
    launches: int
    failed: int = 0  # launches that ended in it as `status` says, of a status that counts as a loss
    ceiling: CeilingValue | None
    fraction: float | None  # near to 1 is near to the ceiling, whatever is better
    fraction_ci95: tuple[float, float] | None
    fraction_range: tuple[float, float] | None = None  # smallest and largest of a block
    # The same against what a library can attain; null: that is the ceiling itself.
    attainable: CeilingValue | None = None
    fraction_attainable: float | None = None
    fraction_attainable_ci95: tuple[float, float] | None = None
    fraction_attainable_range: tuple[float, float] | None = None
    # That measured both; flag "fewer blocks": not all of the cell's. 0: of what was imported, whose
    # fraction is of the median of the ceiling at another time, without interval or range.
    fraction_blocks: int = 0
    no_fraction: NoFraction | None = None  # null: it has one, or nothing to be a fraction of
    of_plateau: OfPlateau | None = None  # of rates
    # By one operation against what a library can attain, else the ceiling; null: it has neither.
    lost_us: float | None = None
    overlap: Overlap | None = None  # of communication and computation
    status: CellStatus  # "ok" also where nothing can be a ceiling
    flags: list[Flag]
    command: str  # reproduces one launch of this cell

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
    """An application in two variants of one axis, in the blocks that have both."""

    axis: str
    value: str  # of the other one: its default
    speedup: Estimated  # how many times as fast as the other one


class Scaled(msgspec.Struct, kw_only=True):
    """The scaling of an application from the fewest ranks, in the blocks that have both."""

    place: Place  # of the fewest ranks
    scaling: Literal["weak", "strong"]  # weak: each rank has as much to do as there
    efficiency: Estimated  # 1 where more ranks do that much more in the same time


class Roofline(msgspec.Struct, kw_only=True):
    """The least time of an iteration: what its ranks must copy within their memory, at the rate of
    that memory's ceiling."""

    us: float
    gbs: float  # of the ceiling, for all ranks that share the memory
    place: Place  # where that was measured
    fraction: Estimated  # of it that is reached: the least time over the measured one


class WhatIf(msgspec.Struct, kw_only=True):
    """An iteration with the messages of another library: with the difference of the times that
    messages of both should take."""

    who: Who  # the other one
    value: float  # in the cell's unit
    # What the least and the most of single blocks come to: no interval, as the model errs too.
    range: tuple[float, float] | None
    measured: float | None = None  # the same problem with that library


class MessageTime(msgspec.Struct, kw_only=True):
    """The time of a message of one size."""

    size_bytes: int
    us: float


class Deviation(msgspec.Struct, kw_only=True):
    """The difference between the measured and the predicted time of the messages of a problem, and
    effects that the model leaves out."""

    off: float  # of the predicted time; above 0: they took longer
    far: bool  # so far that it is reported
    largest_bytes: int  # of its messages
    # The sizes of the study around that, where their times are far from each other.
    around: list[MessageTime] = []
    own_bytes: int = 0  # that a rank also sends to itself
    pause_us: float | None = None  # between its messages of GPU memory, if long
    pushed_out: bool = False  # its cells push its messages out of the caches


class Application(msgspec.Struct, kw_only=True):
    """One problem of an application: the time of an iteration, and what follows from it."""

    cell: Cell  # its time, on the slowest rank; against no ceiling
    rate: float | None  # the median of its second metric
    rate_unit: str
    phases: dict[str, float]  # us of an iteration on the rank that is slowest in each, medians
    # The share of an iteration that is no computation; null: it has none, or kernels compute while
    # the CPU does the rest.
    not_computing: float | None = None
    # Of its messages on the rank that waits least for others.
    messages_us: float | None = None
    work: Work | None
    roofline: Roofline | None = None
    scaled: Scaled | None = None
    imbalance: Estimated | None = None  # of its computation: the longest over the mean of all ranks
    # Of the shorter of communication and computation, against one after the other.
    hidden: Estimated | None = None
    beside: list[Beside] = []
    # Of its messages, by the times of messages in the same study (prediction.py); without
    # those of a rank to itself (`work`).
    predicted_us: float | None = None
    # The least and the most that a single block predicts: how far its messages scatter, and no
    # interval, as the model errs too.
    predicted_range: tuple[float, float] | None = None
    what_if: list[WhatIf] = []  # where both can be predicted
    deviation: Deviation | None = None  # of `messages_us` from that


class Attainable(msgspec.Struct, kw_only=True):
    """The part of a ceiling that a library can attain: the envelope of the methods that need
    nothing which no library can count on. Fields as of CeilingPoint."""

    value: float
    ci95: tuple[float, float] | None
    range: tuple[float, float]
    values: list[float]
    otherwise: list[list[float]] = []
    blocks: list[Block]
    method: str
    stand_ins: dict[str, list[Block]] = {}
    # In at least half of the blocks the method was measured only by a few samples, as others were
    # better there: in full it may be better or worse.
    by_trials: bool = False

    @property
    def readings(self) -> list[dict[Block, float]]:
        """The attainable values in each block, and all that these may be too."""
        readings = (self.values, *self.otherwise)
        return [dict(zip(self.blocks, values, strict=True)) for values in readings]


class Pace(msgspec.Struct, kw_only=True):
    """One of the two modes that the samples of a ceiling's method fall into."""

    value: float  # the median of its samples, over the launches that have both
    share: float  # of the samples of these launches
    launches: int


class CeilingPoint(msgspec.Struct, kw_only=True):
    """One point of a path's ceiling: what the hardware carries by any of the methods."""

    place: Place
    case: Case  # its axes are those that it holds for
    unit: str
    better: Better
    value: float  # of `values`, the median: of a bound, but for those of `passed_over`
    ci95: tuple[float, float] | None
    range: tuple[float, float]
    values: list[float]  # of each block that has the winner
    # What these may be too: of either of two methods that may be the best, and if paces are judged
    # the other way. Intervals span all.
    otherwise: list[list[float]] = []
    blocks: list[Block]
    cache_line_ns: list[float | None] = []  # in each block: how far apart the ranks' CPUs were
    # Of a bound: blocks that measured what it follows from, between CPUs at another distance than
    # the best one. Only launches at the same distance are compared with their `values`.
    passed_over: list[Block] = []
    method: str  # the best over all blocks
    stand_ins: dict[str, list[Block]] = {}  # others that counted in its place, and where
    methods: dict[str, float]  # every method's median
    needs: dict[str, list[str]] = {}  # of methods: what no library can count on, where any
    attainable: Attainable | None = None  # by a library; null: the same as the ceiling
    modes: list[Pace] = []  # two, the better one first, where the winner has two paces
    window: int | None = 1  # messages in flight; None: not known
    lies_in: LiesIn | None = None  # where its bytes lie; null: not known, or a bound
    above_memory: float | None = None  # a defect: it is above what the memory copies, which is this
    fact: bool = False  # of the path: no benchmark is compared with it
    kind: Kind = "measured"  # of a bound, `method` names what it follows from
    # Of the link's theoretical rate in one direction; null: unknown, or of another kind.
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
    """Hockney's model t(s) = latency + s / bandwidth of the sizes of one protocol of a curve."""

    who: Who  # CEILING for that of a ceiling
    place: Place
    curve: Curve
    latency_us: float
    asymptotic_gbs: float
    half_peak_bytes: float  # n_1/2 = latency * bandwidth
    smallest_bytes: int  # of the sizes that it describes
    largest_bytes: int
    median_error: float  # relative, of the model over these sizes
    worst_error: float


class Comparison(msgspec.Struct, kw_only=True):
    """Two alternatives in one case, over the blocks that both ran in."""

    first: Who
    second: Who
    place: Place
    case: Case
    ratio: float  # of second to first, above 1: the second is better
    ci95: tuple[float, float] | None
    blocks: int  # that measured both
    p_value: float  # by flips of signs, of this case only
    p_adjusted: float  # for all that the study compares
    # On the second. "two modes": launches of one of them fall into two groups that nothing recorded
    # distinguishes.
    verdict: Word


class CurveComparison(msgspec.Struct, kw_only=True):
    """Two alternatives in all cases of a curve, judged as one before any case is."""

    first: Who
    second: Who
    place: Place
    curve: Curve
    # Of second to first, above 1: the second is better; of the mean of all cases in each block.
    ratio: float
    ci95: tuple[float, float] | None
    p_value: float  # of that mean only
    p_adjusted: float  # that they differ in any case, for all that the study compares
    verdict: Word  # "mixed": some of its cases are faster, some slower
    counts: dict[Word, int] = {}  # of the verdicts on its cases


class Unjudged(msgspec.Struct, kw_only=True):
    """Two alternatives that too few blocks leave undecided."""

    first: Who
    second: Who


class Judging(msgspec.Struct, kw_only=True):
    """The number of questions that the blocks of a study can answer together
    (statistics/sign_flip.py)."""

    blocks: int = 0  # of the sessions that verdicts rest on
    blocks_needed: int = 0  # to judge all pairs of alternatives; 0: nothing is compared
    pairs: int = 0  # of alternatives that were compared
    left_out: list[Unjudged] = []


class Peak(msgspec.Struct, kw_only=True):
    """The best that one path carries without MPI in one curve: the best of its ceiling."""

    place: Place
    case: Case  # of its CeilingPoint, which has the interval and all methods
    value: float
    unit: str
    method: str
    fact: bool  # as of the CeilingPoint
    largest: int  # of the ceiling, as `x` of its case
    one_way: bool  # whether the theoretical rate is of the same kind
    theoretical_gbs: float | None  # of the path
    of_theoretical: float | None  # as of the CeilingPoint
    # Large messages, and even the best of its direction is far below the theoretical rate.
    suspect: bool = False


class Reference(msgspec.Struct, kw_only=True):
    """A value that a headline is compared with."""

    value: float  # in the headline's unit
    ci95: tuple[float, float] | None
    range: tuple[float, float]
    x: int  # where that is
    method: str
    kind: Kind
    lies_in: LiesIn | None = None
    by_trials: bool = False  # as of Attainable


class Headline(msgspec.Struct, kw_only=True):
    """The best alternative on one path in one curve, at the size at which all are reported
    (headlines.py)."""

    place: Place
    case: Case  # that is reported
    unit: str
    better: Better
    best: Who | None  # null: none has a valid figure
    tied: list[Who]  # whom nothing sets apart from the best
    # Of these, between whom and the best no verdict was sought: the blocks were too few for all.
    unjudged: list[Who] = []
    # "first": the best one is first beyond doubt; "tie": all in `tied` are equivalent to it;
    # "undecided": not all are, but nothing distinguishes them; "alone": no other was measured
    # there; "unknown": there is too little data
    standing: Literal["first", "tie", "undecided", "alone", "unknown"]
    value: float | None = None  # of the best one, and of the ceiling
    fraction: float | None = None
    fraction_ci95: tuple[float, float] | None = None
    ceiling: Reference | None = None  # of this case
    attainable: Reference | None = None  # of it by a library; null: the same
    plateau: Reference | None = None  # of a rate: the best of its ceiling at any size
    # It came out below the ceiling of this case in the same memory: blocks scatter too much.
    plateau_low: bool = False
    # It is not the ceiling at its size: in some blocks another size is the best.
    plateau_of_several: bool = False


class Share(msgspec.Struct, kw_only=True):
    """The share of its reference that one alternative reaches."""

    who: Who
    share: float


class Difference(msgspec.Struct, kw_only=True):
    """A difference between an imported figure and the study's figure for comparison."""

    name: str  # an axis, "buffers", or "figure": a mean instead of medians
    own: str
    study: str


class Imported(msgspec.Struct, kw_only=True):
    """The figure of another tool and those of a study on one path, at one size."""

    who: Who
    place: Place
    case: Case
    unit: str
    better: Better
    value: float
    # What the study has nearest to it: the best library at the same size, in the same memories.
    library: Who | None = None  # null: none has the size
    library_value: float | None = None
    # At the same size; of rates at another size the best at any. Null: nothing was measured.
    ceiling: Reference | None = None
    # The distances that the CPUs of that were at in the study: of each a cache line's round trip in
    # the nearest and the farthest block. Nobody knows that of an imported figure's CPUs.
    ceiling_ns: list[tuple[float, float]] = []
    # Null: the ceiling is not of the same case but for the size, or of several distances.
    fraction: float | None = None
    differs: list[Difference] = []  # from the curve of the study that it is compared with


class Furthest(msgspec.Struct, kw_only=True):
    """The case of a family with the least share of its reference, on one path, at one size."""

    family: str
    who: Who
    place: Place
    case: Case
    share: float
    range: tuple[float, float]  # of it, smallest and largest of a block
    blocks: int  # that measured both: 6 or more
    of: Literal["ceiling", "bound", "overlap"]  # what that is of; "overlap": it is the least hidden
    beside: list[Share] = []  # of libraries other than MPI in the same case: NCCL, RCCL


class SlowerInGpuMemory(msgspec.Struct, kw_only=True):
    """The slowdown of an operation in GPU memory relative to host memory: the factor by which its
    time is longer, or its rate lower; below 1 it is faster there."""

    case: Case  # in GPU memory
    slower: Estimated
    blocks: int  # that measured both


class InGpuMemory(msgspec.Struct, kw_only=True):
    """The operations of a library between GPUs, relative to host memory, at one size."""

    who: Who
    place: Place
    host: str  # the id of the path within host memory
    x: int
    slower: float  # the median over the operations
    operations: list[SlowerInGpuMemory]  # the slowest first


class PairFigure(msgspec.Struct, kw_only=True):
    """One pair of a matrix."""

    pair: tuple[str, ...]  # the names of both ends
    value: float  # in the matrix's unit: the median
    fraction: float  # of the median pair; below 1 is worse, whatever is better


class PairSource(msgspec.Struct, kw_only=True):
    """The figures of one contender, or of the ceiling, in one matrix."""

    who: Who  # CEILING for that of a ceiling
    figures: list[PairFigure]
    median: float  # of the median pair
    slowest: tuple[str, ...]  # the pair with the least fraction,
    fraction: float  # and that
    sure: bool  # that it is slower than each of the others
    # With all pairs, behind those that give the order; `sure` takes 5 at least.
    blocks: int
    slow_gpu: str | None  # whose median pair is significantly slower than each other GPU's,
    slow_gpu_fraction: float | None  # and how near they are to those of the median GPU


class PairMatrix(msgspec.Struct, kw_only=True):
    """One benchmark between all pairs of one kind, at the largest size that was measured."""

    kind: str  # "gpu-gpu" or "host-gpu"
    # True if either end of a pair may be the first; else data went only from the first.
    symmetric: bool
    case: Case
    unit: str
    sources: list[PairSource]


class Judgement(msgspec.Struct, kw_only=True):
    """The verdict on one library, or a ceiling, by a requirement (requirements.py)."""

    requirement: str  # as it was given
    path: str  # its id
    who: Who
    met: bool
    unit: str  # of what is required: "GB/s", "M/s", "us", "ratio", "of ceiling", "of theoretical"
    value: float | None = None  # in that unit; null: there is none, as `words` say
    ci95: tuple[float, float] | None = None
    range: tuple[float, float] | None = None
    words: str  # for people: "met it: 80.0 % of the ceiling ..."

    @property
    def sentence(self) -> str:
        """`Required gpu-gpu nvlink:bw>=0.9: openmpi met it: ...`."""
        return f"Required {self.requirement}: {self.who.label} {self.words}"


class Failure(msgspec.Struct, kw_only=True):
    """A launch that did not end well."""

    launch: int
    session: int
    who: Who  # CEILING for that of a ceiling
    place: Place
    benchmarks: list[str]  # that it was to measure, or the one it ended in; none for a ceiling
    x: int | None = None  # of the case that it ended in, where that is known
    x_unit: str = "B"
    status: Failed
    cause: str = ""  # what ended it; empty: its launcher names nothing but the end
    message: str
    # Failures in a row, after which nothing like it was launched; 0: it was.
    given_up_after: int = 0
    command: str
    log: str | None


class EndedIn(msgspec.Struct, kw_only=True):
    """A benchmark that launches were to measure, or the case of it that they ended in."""

    benchmark: str
    x: int | None = None  # where known
    x_unit: str = "B"


class FailureKind(msgspec.Struct, kw_only=True):
    """Launches of one library in one place that ended alike."""

    who: Who  # CEILING for those of a ceiling
    place: Place
    status: Failed
    cause: str  # of the first; others may differ in its numbers
    launches: list[int]
    first: int  # of these, of which message, command and log are: the first that has a cause
    ended_in: list[EndedIn]  # none for a ceiling
    message: str
    given_up_after: int  # as of a Failure: the most of one
    command: str
    log: str | None


class Skip(msgspec.Struct, kw_only=True):
    """A case that a program did not measure, and why: reported once however many launches say
    so."""

    who: Who  # CEILING for that of a ceiling
    place: Place
    benchmark: str
    method: str  # of a ceiling, else ""
    sizes: list[int]
    x_unit: str = "B"  # what they count
    message: str


class LibraryInfo(msgspec.Struct, kw_only=True):
    """A library as it named itself."""

    name: str
    family: str
    version: str
    version_text: str
    env: dict[str, str] = {}  # as given in its catalogue's entry or its module
    settings: list[Settings]  # those that were measured, with what each gives to it
    native: bool = False  # the ceiling in the place of a library, which is none
    lacks: str = ""  # parts of its release that were left out; empty: none
    broken: list[str] = []  # its modules that should have loaded here and did not, a line each
    mpi: bool = True  # False: NCCL, RCCL and the ceilings
    scope: str = ""  # what it is measured in, a sentence; empty: everything
    imported: bool = False  # from the output of another tool: measured at another time


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
    "inherited",
    "ipc",
    "larger",
    "lookups",
    "pointer_query",
    "managed",
    "mps",
    "noncontiguous",
    "numa",
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
    "yields",
]


EvidenceOf = Literal["own", "alternative", "own ceiling", "alternative ceiling"]


class Evidence(msgspec.Struct, kw_only=True):
    """A figure that a finding rests on: of a library in the blocks that have the other one too, of
    a ceiling in all of its own."""

    of: EvidenceOf
    value: float  # the median
    unit: str
    ci95: tuple[float, float] | None
    range: tuple[float, float]
    window: int | None = None  # messages in flight; null: of a ceiling, or not known
    scaled: float = 1.0  # the factor on the measured value: it moves that many times the bytes


class Alternative(msgspec.Struct, kw_only=True):
    """An alternative that does better, and the case."""

    who: Who
    place: Place
    case: Case


class Cost(msgspec.Struct, kw_only=True):
    """The loss relative to the alternative, in pairs of one block."""

    ratio: float  # how many times better the alternative is, above 1
    # Of it, so wide that all of a study hold in 95 % of studies; null of what is not asked first,
    # where blocks are too few for more
    ci95: tuple[float, float] | None
    range: tuple[float, float]  # smallest and largest of a block
    blocks: int  # that have both figures, and are of the sessions that verdicts rest on
    launches: int = 0  # of the figure that has more: in tables it is of all of them
    # The ratio of the two medians of these blocks, where it is another one by more than a tenth:
    # blocks differ so much. null: it is not, or the ratio is no ratio of the two figures.
    of_medians: float | None = None
    ceilings: float | None = None  # of the ratio, what their ceilings have too; null: not asked
    lost_us: float  # by one operation; 0: not known
    share: float  # of its time, or of the better rate: 1 - 1 / ratio
    cases: int  # that lose so on this path with these buffers


class SettingChange(msgspec.Struct, kw_only=True):
    """One difference of settings: a variable of the environment, all flags of the launcher, or all
    variables that they leave out."""

    kind: Literal["env", "flags", "unset"]
    name: str = ""  # of a variable
    value: str | None  # with the better settings; null: they leave it out
    instead: str | None  # with the others
    effect: str = ""  # what it does, where a rule names it


class Tried(msgspec.Struct, kw_only=True):
    """The same case with other values of axes, which is better in each block that has both."""

    axes: dict[str, str]  # that differ, with the better values
    value: float  # in these blocks
    unit: str
    ratio: float  # how many times better it is: median over these blocks
    blocks: int


class Remedy(msgspec.Struct, kw_only=True):
    """A remedy for a finding."""

    text: str  # a sentence, the same for all of a kind
    settings: Settings | None = None  # to run with, where these are the remedy,
    # and how they differ from those that lose. Without them: what the rule names, fits the library,
    # and nothing in force sets.
    changes: list[SettingChange] = []
    tried: Tried | None = None  # of the axes that the text names: the best that the study measured
    tune: str = ""  # a command that looks for settings that help, where a setting may


# What was recorded: a variable that launches inherited; what doctor said; what slowed launches;
# what became of an operation with device buffers; where a rank ran; which
# devices it could see; where an adapter is; a part of a message; or a table of its tuning that a
# library did not load.
FactOf = Literal[
    "variable", "doctor", "slowed", "operation", "rank", "devices", "adapter", "part", "table"
]


class Fact(msgspec.Struct, kw_only=True):
    """A recorded fact that a finding rests on."""

    of: FactOf
    name: str  # of the variable, the operation, ...
    value: str  # what is recorded of it
    launches: int | None = None  # that recorded it; null: it is of the whole study


class Source(msgspec.Struct, kw_only=True, frozen=True):
    """The description of a rule: a paper, a manual, an issue."""

    text: str
    address: str


class Check(msgspec.Struct, kw_only=True):
    """A command that shows one of the two figures, or what was recorded."""

    of: Literal["own", "alternative"]
    command: str  # one launch of it


class InMessage(msgspec.Struct, kw_only=True):
    """The share of parts in the time of a message, as `nearpeak explain` measured it."""

    messages: int  # that were looked at
    time_us: float  # of one of them, under the microscope
    slower: float  # how many times as long it takes under it
    share: float  # of the parts
    lost_us: float  # by them without the microscope, if all grows alike under it


class Finding(msgspec.Struct, kw_only=True):
    """Something that stands out: a loss, reported at the case where the ratio is greatest, or what
    was recorded with the figures (`facts`), which has no `cost`."""

    kind: FindingKind  # the rule that found it
    # Of a loss: at most 5 % of studies have a false one among their sure ones. Facts are sure, but
    # those of few messages or launches, or of a share that may be the microscope's.
    sure: bool
    who: Who | None  # that loses, or that facts concern; null: all, as in the next two
    place: Place | None
    case: Case | None
    apart: dict[str, str] = {}  # axes of `case` that distinguish it from others of the study
    alternative: Alternative | None = None  # null: a bound is the better one, or it is no loss
    evidence: list[Evidence] = []
    facts: list[Fact] = []
    cost: Cost | None = None
    message: InMessage | None = None
    remedy: Remedy
    check: list[Check]
    sources: list[Source] = []
    explains: "list[Finding]" = []  # others of the same reason, not reported by themselves


class Conditions(msgspec.Struct, kw_only=True):
    """Other work on the machine during the measurement, in the session with the most of it. Fields
    are null where no launch recorded the load."""

    cores: int  # of the machine
    load: float | None = None  # processes that ran or waited, mean of a minute: median of launches
    ranks: int | None = None  # the most of a launch, which are among these
    busy_cores: float | None = None  # kept busy by others: what is left of the load, at most all
    loaded: bool  # by others, so that they took the time of the ranks
    sessions: list[int] = []  # in which it was, where in others it was not


class TwoModes(msgspec.Struct, kw_only=True):
    """A bimodal figure among those reported first: of the figures of its path the one whose groups
    are farthest apart."""

    who: Who
    place: Place
    case: Case
    unit: str
    modes: list[Mode]  # as of its cell
    others: int = 0  # more such figures of the path


class Advice(msgspec.Struct, kw_only=True):
    """Advice to a reader. Fields that a kind has no use for are null."""

    # Find out why launches of `who` failed; check this path, which carries less than it should; see
    # to this finding; measure more; nothing, as the best one is near everywhere; try others, as the
    # best one is far from the ceiling here; or find out why launches scatter so much that
    # neither of the two is certain.
    kind: Literal["failures", "path", "loss", "launches", "near", "far", "open"]
    who: Who | None = None  # of "near": who is best everywhere; null: several
    place: Place | None = None
    case: Case | None = None
    fraction: float | None = None  # of the theoretical rate ("path"); of the ceiling, the furthest
    launches: int | None = None  # that failed, or that it takes
    finding: int | None = None  # its number in `findings`, from 0
    fraction_ci95: tuple[float, float] | None = None  # of `fraction` ("open")
    like: CeilingValue | None = None  # what carries as much as the best one without MPI ("far")
    why: list[Cause] = []  # what is known of why they scatter


class AtDistance(msgspec.Struct, kw_only=True):
    """The blocks of one path in which the CPUs of its ranks were about so far apart."""

    ns: tuple[float, float]  # a cache line's round trip: of the nearest block, of the farthest
    blocks: list[Block]
    deviation: float  # of these blocks, as of one in `Drift.deviations`
    range: tuple[float, float]  # the same of single ceilings: the lowest, the highest


class Drift(msgspec.Struct, kw_only=True):
    """The values of one path without MPI in each block, relative to all blocks of the study."""

    place: Place
    blocks: list[Block]
    deviations: list[float]  # relative to the median block: median over the path's ceilings
    changed: list[Block] = []  # that differ from the rest by more than chance; none: no change
    step: float | None = None  # how these differ from the rest, relative
    # The same of single ceilings that have blocks on both sides: the lowest, the highest.
    step_range: tuple[float, float] | None = None
    distances: list[AtDistance] = []  # the nearest first; empty: one, or not known
    # Where none changed: the least step half-way, in most ceilings, that half of such studies would
    # tell, relative.
    tells_from: float | None = None
    # Of the ceiling whose blocks differ most: the best over the worst. No single ceiling is judged.
    widest: float | None = None
    widest_case: Case | None = None

    @property
    def moved(self) -> bool:
        """True if most of the blocks that changed were at another distance than most others."""
        inside = [len({*distance.blocks} & {*self.changed}) for distance in self.distances]
        others = [len({*distance.blocks} - {*self.changed}) for distance in self.distances]
        if not any(inside) or not any(others):
            return False
        return inside.index(max(inside)) != others.index(max(others))


class SessionInfo(msgspec.Struct, kw_only=True):
    """One run of a study."""

    session: int
    started: str
    nearpeak: str
    forced: bool  # continued on another machine, driver, library or build
    fingerprint: dict[str, dict[str, str]]
    blocks: int = 0  # in which libraries were measured
    verdicts: bool = False  # whether verdicts rest on its blocks
    added: str = ""  # how the study stood that blocks were added to, and what was asked for
    source: str = ""  # the file of another tool that it stands for; empty: it was measured here


RuleState = Literal["met", "not met", "not applicable"]


class Precision(msgspec.Struct, kw_only=True):
    """The width of the 95 % intervals of cells: half of each, relative to its median."""

    intervals: int
    median: float  # half of them are as narrow, or narrower
    aim_of_rates: float
    aim_of_times: float
    wider: int  # than the aim
    widest: float  # against its aim
    who: Who  # whose that is,
    place: Place  # where
    case: Case  # and in what


class Rule(msgspec.Struct, kw_only=True):
    """One of the twelve rules of Hoefler and Belli (SC15), and the verdict on this study."""

    number: int
    rule: str
    state: RuleState
    how: str


class Results(msgspec.Struct, kw_only=True):
    """The whole of results.json, where each place and each command stands once (shared.py)."""

    schema: int
    nearpeak: str
    study: str
    started: str
    complete: bool
    ended: str  # why no more was measured
    sessions: list[SessionInfo]
    machine: Machine
    libraries: list[LibraryInfo]
    paths: list[DataPath]
    benchmarks: list[Benchmark]  # what they said of themselves
    cells: list[Cell]  # of operations on messages
    applications: list[Application] = []
    ceilings: list[CeilingPoint]
    fits: list[Fit]
    comparisons: list[Comparison]
    curves: list[CurveComparison]
    judging: Judging = msgspec.field(default_factory=Judging)
    conditions: Conditions | None = None  # null: nothing is known of them
    requirements: list[Judgement] = []  # how it stands to those that were given, in their order
    headlines: list[Headline] = []
    modes: list[TwoModes] = []  # of each path that has any
    peaks: list[Peak] = []
    pairs: list[PairMatrix] = []  # of studies of all pairs
    furthest: list[Furthest] = []  # of each family
    gpu_memory: list[InGpuMemory] = []
    imported: list[Imported] = []  # into a study
    failures: list[Failure]
    failure_kinds: list[FailureKind] = []
    skipped: list[Skip] = []
    awareness: list[Awareness] = []
    unaware: list[Unaware] = []
    left_out: list[LeftOut] = []  # for want of time
    explanations: list[Explanation] = []  # of messages, in the order in which they were made
    findings: list[Finding] = []  # the significantly greatest ratio first
    advice: list[Advice] = []  # the first things first
    precision: Precision | None = None  # null: no cell has an interval
    drift: list[Drift]
    checklist: list[Rule]

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
