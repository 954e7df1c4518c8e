# SPDX-License-Identifier: Apache-2.0
"""results.json (docs/results.md): what a study found, made from its records alone."""

import msgspec

from nearpeak.libraries.model import Settings
from nearpeak.machine.model import Machine, Path
from nearpeak.study.benchmarks import Benchmark
from nearpeak.study.model import Awareness

SCHEMA = 2


class CeilingValue(msgspec.Struct, kw_only=True):
    """What the path carries without MPI at the cell's size, and the method that won there."""

    value: float  # in the cell's unit
    method: str


class Mode(msgspec.Struct, kw_only=True):
    """One of the two groups that a cell's launch medians fall into."""

    median: float  # in the cell's unit
    share: float  # of the launches
    blocks: list[int]
    conditions: dict[str, str]  # what its launches share and no launch of the other group has


class Cell(msgspec.Struct, kw_only=True):
    """One (library, settings, path, case): its launch medians summed up."""

    library: str
    settings: str
    path: str
    benchmark: str
    metric: str
    size_bytes: int
    buffers: str
    axes: dict[str, str]
    unit: str
    better: str  # "lower" or "higher"
    window: int | None  # None: nothing was measured
    median: float | None  # of the launch medians
    ci95: tuple[float, float] | None  # null below 6 launches
    range: tuple[float, float] | None  # smallest and largest launch median
    launch_medians: list[float]  # in block order
    blocks: list[int]  # the block of each
    p05: float | None  # of the samples of all launches
    p95: float | None
    minimum: float | None
    outlier_share: float | None = None  # of the samples: labelled (3 IQR off its launch), kept
    modes: list[Mode] = []  # two, when the flag "bimodal" is set
    first_use_us: float | None  # median over launches
    launches: int
    ceiling: CeilingValue | None
    fraction: float | None  # near to 1 is near to the ceiling, whatever is better
    fraction_ci95: tuple[float, float] | None
    # "ok" (also where nothing can be a ceiling), "no ceiling", "above ceiling", "crashed", ...
    status: str
    flags: list[str]  # "few launches", "bimodal", "imprecise", "drift", ...
    command: str  # reproduces one launch of this cell


class Pace(msgspec.Struct, kw_only=True):
    """One of the two modes that the samples of a ceiling's method fall into."""

    value: float  # the median of its samples, over the launches that have both
    share: float  # of the samples of these launches
    launches: int


class CeilingPoint(msgspec.Struct, kw_only=True):
    """One point of a path's ceiling: the envelope of its methods."""

    path: str
    metric: str
    size_bytes: int
    buffers: str
    axes: dict[str, str]
    unit: str
    better: str
    value: float
    ci95: tuple[float, float] | None
    range: tuple[float, float]
    method: str
    methods: dict[str, float]  # every method's median
    # What moves a whole window at once, as no library can: facts of the path, of no ceiling.
    together: dict[str, float] = {}
    modes: list[Pace] = []  # two, the better one first, where the winner has two paces
    launches: int

    def fits(self, axes: dict[str, str]) -> bool:
        """Whether it holds for a case with these axes: those that both have are equal.

        Between unlike memories half a round trip is the mean of two ways, and no ceiling of one.
        """
        mixed = len(set(self.buffers.split(","))) > 1
        if mixed and axes.get("direction", "both") != "both":
            return False
        return all(axes.get(name, value) == value for name, value in self.axes.items())


class Fit(msgspec.Struct, kw_only=True):
    """Hockney's model t(s) = latency + s / bandwidth of one curve over the sizes."""

    library: str  # "" for the ceiling
    settings: str
    path: str
    benchmark: str
    metric: str
    buffers: str
    axes: dict[str, str]
    latency_us: float
    asymptotic_gbs: float
    half_peak_bytes: float  # n_1/2 = latency * bandwidth
    worst_error: float  # largest relative error of the model over the sizes


class Comparison(msgspec.Struct, kw_only=True):
    """Two alternatives in one cell, over the blocks that both ran in."""

    first: tuple[str, str]  # library, settings
    second: tuple[str, str]
    path: str
    benchmark: str
    metric: str
    size_bytes: int
    buffers: str
    axes: dict[str, str]
    ratio: float  # of second to first, above 1: the second is better
    ci95: tuple[float, float] | None
    p_value: float
    p_holm: float
    verdict: str  # "faster", "slower", "equivalent" or "undecided": the second against the first


class Failure(msgspec.Struct, kw_only=True):
    """A launch that did not end well."""

    launch: int
    library: str
    settings: str
    path: str
    benchmark: str
    status: str
    message: str
    command: str
    log: str | None


class Skip(msgspec.Struct, kw_only=True):
    """A case that a program did not measure, and why: told once however many launches say so."""

    library: str  # "" for a ceiling
    settings: str
    path: str
    benchmark: str
    method: str | None  # of a ceiling
    sizes: list[int]
    message: str


class LibraryInfo(msgspec.Struct, kw_only=True):
    """A library as it named itself."""

    name: str
    family: str
    version: str
    version_text: str
    env: dict[str, str] = {}  # what it gets as it is, in its catalogue's entry or its module
    settings: list[str]
    given: list[Settings] = []  # what each of the settings gives to it, in the same order


class Finding(msgspec.Struct, kw_only=True):
    """Something that stands out in the cells, at the size where most is lost."""

    kind: str  # "blocking", "settings", "mps", "directions" or "staged"
    loss: float  # how many times better the other figure is, above 1
    sentence: str  # with the figures
    library: str  # that loses
    settings: str
    path: str
    benchmark: str
    metric: str
    buffers: str
    axes: dict[str, str]
    size_bytes: int


class Drift(msgspec.Struct, kw_only=True):
    """One block's copy probe against all blocks of the study."""

    block: int
    probe_gbs: float
    deviation: float  # relative to the median block
    flagged: bool


class Rule(msgspec.Struct, kw_only=True):
    """One of the twelve rules of Hoefler and Belli (SC15), and how this study stands to it."""

    number: int
    rule: str
    state: str  # "met", "not met" or "not applicable"
    how: str


class Results(msgspec.Struct, kw_only=True):
    """The whole of results.json."""

    schema: int
    nearpeak: str
    study: str
    started: str
    complete: bool
    machine: Machine
    libraries: list[LibraryInfo]
    paths: list[Path]
    benchmarks: list[Benchmark]  # what they said of themselves
    cells: list[Cell]
    ceilings: list[CeilingPoint]
    fits: list[Fit]
    comparisons: list[Comparison]
    failures: list[Failure]
    skipped: list[Skip] = []
    awareness: list[Awareness] = []
    findings: list[Finding] = []  # the greatest loss first
    drift: list[Drift]
    checklist: list[Rule]
