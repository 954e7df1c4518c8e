# SPDX-License-Identifier: Apache-2.0
"""plan.json: what a study is going to run. Enough to resume it and to make its report.

A plan grows by additions, which are recorded (`AmendmentRecord`): contenders, variants and launches
are appended, and none is ever renumbered.
"""

import itertools
import random
from collections.abc import Callable, Container, Iterable
from typing import Literal, NamedTuple, TypeVar

import msgspec

from nearpeak.launching.describe import Variant
from nearpeak.libraries.library import Contender
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.benchmarks import Benchmark, by_name, named
from nearpeak.terms.identity import CEILING, Axes, Place, Who
from nearpeak.terms.left_out import LeftOut, LeftOutKind
from nearpeak.terms.path import DataPath
from nearpeak.terms.private import FreeText, HostName, Kept, Public

SCHEMA = 4
LEAST_SAMPLES = 11  # of a case, however long one takes
LATER_SAMPLES = 5  # and in the later blocks: the scatter lies between launches
# The slot: the pilot has the least. A shorter one is lost where something takes a CPU for a few ms
# (docs/methods/statistics.md).
LEAST_SLOT_MS, MOST_SLOT_MS = 20.0, 200.0
PILOT_BLOCKS = 2  # their results shape the later blocks (stages.py)
Role = Literal[
    "mpi",  # a library
    "ceiling",  # the path without MPI
]
T = TypeVar("T", bound="Template")
VariantKey = tuple[str, str, Axes]  # its benchmark, buffers and axes


class Spare(msgspec.Struct, kw_only=True, frozen=True):
    """A part of the study that may still be left out, if launches take longer than guessed."""

    kind: LeftOutKind
    name: FreeText
    why: FreeText
    variants: list[int] = []  # indexes into Plan.variants, wherever they are measured
    paths: list[Kept] = []  # with all that is measured there
    contender: int | None = None  # index into Plan.contenders: only of this one there


class Group(msgspec.Struct, kw_only=True, frozen=True):
    """Variants of different benchmarks that a launch measures one after the other, with the same
    buffers, in the same state of them, and at the same sizes. A ceiling has none."""

    buffers: Public = "H,H"  # kind, as in the `groups` of a launch
    axes: dict[Public, Public] = {}  # of a ceiling: `reuse` and `touch`, which are matched
    variants: tuple[int, ...] = ()  # numbers of `variants`, from 0

    def __post_init__(self) -> None:
        if type(self.axes) is not Axes:  # declared as a type that msgspec knows
            msgspec.structs.force_setattr(self, "axes", Axes(self.axes))


class Template(msgspec.Struct, kw_only=True, frozen=True):
    """A launch that every block has once: groups that it measures one after the other.

    A ceiling has no contender. Between two hosts there are several: over TCP, and over an RDMA
    adapter.
    """

    role: Role  # what it measures
    path: Kept  # id of the data path
    contender: int | None = None  # number in `contenders`, from 0; null for a ceiling
    groups: tuple[Group, ...]  # measured one after the other
    # of a ceiling: the RDMA adapter that it is measured with; else null
    adapter: FreeText | None = None
    since: int = 0  # first block that has it

    @property
    def variants(self) -> tuple[int, ...]:
        """Indexes into Plan.variants, in the order of measurement."""
        return tuple(number for group in self.groups for number in group.variants)

    def only(self: T, wanted: Callable[[int], bool]) -> T | None:
        """Returns the template with only the wanted variants; None without any. A ceiling stays
        whole."""
        if self.role == "ceiling":
            return self
        groups = [
            msgspec.structs.replace(group, variants=tuple(filter(wanted, group.variants)))
            for group in self.groups
        ]
        left = tuple(group for group in groups if group.variants)
        return msgspec.structs.replace(self, groups=left) if left else None


class LaunchId(NamedTuple):
    """The identity of a launch of a plan, however often it was tried."""

    block: int
    template: int  # index into Plan.launches


class PlannedLaunch(Template, kw_only=True, frozen=True):
    """One launch of a template, or of a part of it, in the order of measurement."""

    template: int  # index into Plan.launches
    block: int
    seed: int
    slot_ms: float
    least_samples: int = LEAST_SAMPLES  # of a case, however long one takes
    methods: tuple[str, ...] = ()  # of a ceiling: only these; empty: all

    @property
    def id(self) -> LaunchId:
        """The identity of the launch."""
        return LaunchId(self.block, self.template)


class Addition(msgspec.Struct, kw_only=True, frozen=True):
    """Additions to a plan: each list is appended to that of its name in `plan.json`, so that
    nothing is renumbered. Numbers count through the complete lists."""

    contenders: list[Contender] = []  # libraries with their settings
    variants: list[Variant] = []  # benchmarks with their axes and buffers
    launches: list[Template] = []  # launches of a block
    awareness: list[Awareness] = []  # operations tried with device buffers


def _check(kind: str, named: Iterable[object], existing: Container[object]) -> None:
    """ValueError where a plan names something that it has not."""
    for name in itertools.filterfalse(existing.__contains__, named):
        raise ValueError(f"there is no {kind} {name}")


class Plan(msgspec.Struct, kw_only=True):
    """The whole plan. Records and budget decide how many blocks are run."""

    schema: int
    study: Public  # id
    created: Public
    seed: int
    sizes: list[int]
    slot_ms: float  # of all launches; of those of the first blocks where it is not fixed
    slot_fixed: bool = True  # False: the later blocks have the slot that their scatter asks for
    window: int
    in_flight_bytes: int
    gpu_in_flight_bytes: int  # where a rank has memory of a GPU's driver
    looks: list[int]  # numbers of blocks after which precision is judged; the last is the most
    budget_seconds: float | None  # as it was asked for
    launch_limit_seconds: float
    hosts: list[HostName]
    remote_shell: FreeText | None
    contenders: list[Contender]
    benchmarks: list[Benchmark]  # of the variants
    variants: list[Variant]
    paths: list[DataPath]
    launches: list[Template]  # of one block
    awareness: list[Awareness] = []
    trial_seconds: float = 0.0  # that these took before the first launch: they count in the budget
    perftest: bool = False  # whether its programs are there, for ceilings over RDMA adapters
    deviation: float = 0.03  # of launch medians, relative: assumed until some were measured
    # By path: bytes of a message from which its ceiling no longer grows, beyond `sizes`.
    plateaus: dict[Kept, int] = {}
    # Of `sizes`, those of benchmarks without a measured ceiling and of ceilings between more than
    # two ends; empty: all of them.
    few_sizes: list[int] = []
    left_out: list[LeftOut] = []
    spare: list[Spare] = []  # what comes next, in order
    problem_sizes: dict[Public, list[int]] = {}  # by application, in what it is measured over
    requirements: list[FreeText] = []  # as they were given, for all sessions
    # The seconds of the job in which the study began, if fewer than the budget's.
    job_seconds: float | None = None
    counters: bool = True  # the bytes on links are counted
    explain: int = 0  # messages after the measuring, in time on top of the budget

    def __post_init__(self) -> None:
        """ValueError where a part names another that is missing."""
        contenders = [None, *range(len(self.contenders))]
        variants = itertools.chain(*(launch.variants for launch in self.launches))
        _check(
            "benchmark", (variant.benchmark for variant in self.variants), by_name(self.benchmarks)
        )
        _check("path", (launch.path for launch in self.launches), {path.id for path in self.paths})
        _check("contender", (launch.contender for launch in self.launches), contenders)
        _check("variant", variants, range(len(self.variants)))

    def grown(self, by: Addition) -> "Plan":
        """Returns the plan with an addition; ValueError if that names something that neither of
        them has."""
        return msgspec.structs.replace(
            self,
            contenders=[*self.contenders, *by.contenders],
            variants=[*self.variants, *by.variants],
            launches=[*self.launches, *by.launches],
            awareness=[*self.awareness, *by.awareness],
        )

    @property
    def fitted_seconds(self) -> float | None:
        """The budget that the plan was fitted to, which is that of the first session."""
        return self.job_seconds or self.budget_seconds

    @property
    def variant_numbers(self) -> dict[VariantKey, int]:
        """Indexes into `variants`."""
        return {
            (variant.benchmark, variant.buffers, Axes(variant.axes)): number
            for number, variant in enumerate(self.variants)
        }

    def sizes_of(self, benchmark: Benchmark) -> list[int]:
        """Bytes of the messages that libraries are measured at; the problems of an application."""
        if not benchmark.over_bytes:
            return benchmark.sizes(self.problem_sizes[benchmark.name])
        few = self.few_sizes and benchmark.ceiling != "measured"
        return benchmark.sizes(self.few_sizes if few else self.sizes)

    def sizes_in(self, launch: Template, group: Group) -> list[int]:
        """Bytes of the messages of a group of a launch, of which its benchmarks may leave some out;
        of an application's, the sizes of its problem."""
        if application := self.application(launch):
            return self.sizes_of(application)
        wide = len(self.find_path(launch.path).ends) > 2
        few = self.has_few(group.variants[0]) if group.variants else wide
        return self.few_sizes if self.few_sizes and few else self.sizes

    def application(self, launch: Template) -> Benchmark | None:
        """Returns the application that a launch measures, which then has it for itself."""
        if not launch.variants:
            return None
        benchmark = self.benchmark(self.variants[launch.variants[0]])
        return None if benchmark.over_bytes else benchmark

    def has_few(self, number: int) -> bool:
        """True if a variant is measured at a few sizes."""
        few = bool(self.few_sizes)
        return few and self.benchmark(self.variants[number]).ceiling != "measured"

    def benchmark(self, variant: Variant) -> Benchmark:
        """Returns the benchmark of a variant."""
        return named(self.benchmarks, variant.benchmark)

    def find_path(self, path_id: str) -> DataPath:
        """The path with this id."""
        return next(path for path in self.paths if path.id == path_id)

    def left_out_later(self, number: int, budget_seconds: float, block: int) -> LeftOut:
        """Describes a part of `spare` that a study left out from a block on, and the budget that
        would have kept it."""
        spare = self.spare[number]
        names = dict.fromkeys(self.variants[index].benchmark for index in spare.variants)
        return LeftOut(
            kind=spare.kind,
            name=spare.name,
            why=spare.why,
            benchmarks=[] if spare.kind == "staging" else list(names),
            paths=spare.paths if spare.contender is None else [],
            who=None if spare.contender is None else self.contenders[spare.contender].who,
            path=None if spare.contender is None else spare.paths[0],
            budget_seconds=budget_seconds,
            after_blocks=block,
        )

    def who(self, launch: Template) -> Who:
        """Returns the library and the settings that a launch measures."""
        return CEILING if launch.contender is None else self.contenders[launch.contender].who

    def place(self, launch: Template) -> Place:
        """Returns the place that a launch measures."""
        return self.find_path(launch.path).place

    def order(self, block: int) -> list[str]:
        """The benchmarks in the order in which every launch of a block measures those it has.

        One order for all of them: how long a process has run changes its pages.
        """
        names = [benchmark.name for benchmark in self.benchmarks]
        random.Random(f"{self.seed} benchmarks {block}").shuffle(names)
        return names

    def block(self, number: int) -> list[PlannedLaunch]:
        """Returns the launches of a block in an order of its own, which follows from seed and
        number."""
        chance = random.Random(f"{self.seed} block {number}")
        indexes = [index for index, launch in enumerate(self.launches) if launch.since <= number]
        chance.shuffle(indexes)
        return [self.planned(LaunchId(number, index), chance.getrandbits(31)) for index in indexes]

    def _chance(self, block: int, group: Group) -> float:
        """Returns the random number that orders a group in its launch: the same in all launches of
        a block."""
        few = any(map(self.has_few, group.variants))
        text = f"{self.seed} group {block} {group.buffers} {group.axes} {few}"
        return random.Random(text).random()

    def planned(self, launch: LaunchId, seed: int) -> PlannedLaunch:
        """Returns a launch with the plan's own slot and sampling."""
        block, template = launch
        places = {name: place for place, name in enumerate(self.order(block))}
        made = self.launches[template]
        groups = [
            msgspec.structs.replace(
                group,
                variants=tuple(
                    sorted(group.variants, key=lambda index: places[self.variants[index].benchmark])
                ),
            )
            for group in made.groups
        ]
        groups.sort(key=lambda group: self._chance(block, group))
        return PlannedLaunch(
            **{**msgspec.structs.asdict(made), "groups": tuple(groups)},
            template=template,
            block=block,
            seed=seed,
            slot_ms=self.slot_ms,
        )
