# SPDX-License-Identifier: Apache-2.0
"""Estimates how long launches will take: a guess before the first one, then measured times."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from nearpeak.launching.program_records import SamplesRecord, timed
from nearpeak.libraries.families import is_ceiling
from nearpeak.planning.ceilings import ceiling_benchmarks, in_flight_bytes
from nearpeak.planning.plan import (
    LATER_SAMPLES,
    LEAST_SAMPLES,
    PILOT_BLOCKS,
    Group,
    Plan,
    PlannedLaunch,
    Template,
)
from nearpeak.terms.benchmarks import GPU_FACTS, SIZED_GPU_FACTS, Benchmark, named
from nearpeak.terms.buffers import needs_gpu
from nearpeak.terms.path import DataPath


@dataclass(frozen=True)
class Guess:
    """The assumed cost of launches of one kind, before any was measured."""

    start: float  # seconds: launcher, MPI_Init, ending
    case: float  # seconds for each case: buffers, first use, verification
    slots: float  # for each case, warm-up included; a ceiling tries several methods
    samples: float  # times the least samples, for messages too large for the slot
    gbs: float  # GB/s


# From studies of a small virtual machine (2 cores), so that larger ones are early, not late.
GUESSES = {
    ("mpi", "memory"): Guess(start=1.0, case=0.0, slots=1.2, samples=1.5, gbs=6.8),
    ("mpi", "network"): Guess(start=0.8, case=0.0, slots=1.2, samples=1.0, gbs=1.2),
    ("ceiling", "memory"): Guess(start=0.2, case=0.03, slots=1.8, samples=1.5, gbs=7.8),
    ("ceiling", "network"): Guess(start=0.2, case=0.03, slots=1.8, samples=1.2, gbs=0.8),
    # From machines with one and two H200; the start is that of the GPU's driver in each process.
    ("mpi", "gpu"): Guess(start=2.5, case=0.0, slots=1.2, samples=1.5, gbs=20.0),
    ("ceiling", "gpu"): Guess(start=2.0, case=0.0, slots=2.5, samples=1.5, gbs=50.0),
    # About ten runs of perftest's programs for each case: a guess, never measured.
    ("ceiling", "verbs"): Guess(start=1.0, case=4.0, slots=2.0, samples=1.0, gbs=10.0),
}
FACTS_OF_NO_SIZE = 4  # cases of each: one of each kind of memory, at most
OTHER_ROUNDS = 10  # of a case that are no samples: first use, warm-up, verification
WARM_SLOT = 1.1  # a slot, and the tenth of it that the warm-up may take
APPLICATION_SECONDS = 1.5  # of a case: its cells are filled and verified several times
MOST_TOGETHER = 8  # pairs of ranks that are assumed to move data at once as fast as one does
# A launch is slow if it takes this many times its guess and the usual ratio. In recorded studies
# the slowest one took 3.1 times as long, and one whose library copies badly through the host's
# memory a hundred times.
SLOW = 6.0
# Of a memory ceiling, two cases of arrays that exceed the caches: 2.5 s with 2 cores, 6.0 with 16.
LOCAL_SECONDS, LOCAL_CPU_SECONDS, LOCAL_CPUS = 2.0, 0.25, 16

Kind = tuple[str, str]  # a key of GUESSES


@dataclass(frozen=True)
class Cost:
    """Seconds of a launch, or of a part of one: some in any case, more with each ms of the slot.

    And more with each of the least samples, where these take longer than the slot.
    """

    fixed: float = 0.0
    per_ms: float = 0.0
    per_sample: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.fixed + other.fixed,
            self.per_ms + other.per_ms,
            self.per_sample + other.per_sample,
        )

    def seconds(self, slot_ms: float, least_samples: int) -> float:
        """Returns the seconds with this slot and this least number of samples."""
        return self.fixed + self.per_ms * slot_ms + self.per_sample * least_samples


def kind_of(plan: Plan, launch: Template) -> Kind:
    """Returns the kind of a launch: launches of one kind cost and scatter alike."""
    native = launch.contender is None or is_ceiling(plan.contenders[launch.contender].library)
    role = "ceiling" if native else "mpi"  # as a library it tries its methods too
    transport = plan.find_path(launch.path).transport
    if launch.adapter:
        return role, "verbs"
    on_gpu = transport != "local" and needs_gpu(launch.groups[0].buffers)
    return role, "gpu" if on_gpu else transport


def least_samples(plan: Plan, kind: Kind, block: int) -> int:
    """Returns the least samples of a case in the launches of a kind in a block.

    A ceiling takes as many in all blocks: with fewer, a bimodal one would not show.
    """
    role, _ = kind
    as_ever = plan.slot_fixed or role == "ceiling" or block < PILOT_BLOCKS
    return LEAST_SAMPLES if as_ever else LATER_SAMPLES


def guess_cost(plan: Plan, launch: Template) -> Cost:
    """Returns the cost of one launch, from its sizes and a guessed bandwidth."""
    path = plan.find_path(launch.path)
    if path.is_local:
        cpus = len(path.ends[0].cpus)
        return Cost(LOCAL_SECONDS + LOCAL_CPU_SECONDS * min(cpus, LOCAL_CPUS))
    guess = GUESSES[kind_of(plan, launch)]
    cost = Cost(guess.start)
    if application := plan.application(launch):
        cases = len(plan.sizes_of(application))
        return cost + Cost(APPLICATION_SECONDS * cases, guess.slots * cases / 1000)
    for number, group in enumerate(launch.groups):
        if number and kind_of(plan, launch)[0] == "ceiling":  # other processes
            cost += Cost(guess.start)
        cost += _guess_group(plan, path, launch, group, guess)
    return cost


def _guess_group(plan: Plan, path: DataPath, launch: Template, group: Group, guess: Guess) -> Cost:
    """Returns the cost of only the cases of a group."""
    if launch.role == "mpi":
        names = [plan.variants[number].benchmark for number in group.variants]
    else:
        names = ceiling_benchmarks(plan, path, group.buffers)
    together = min(len(path.ends) // 2, MOST_TOGETHER)
    cost = Cost()
    for benchmark in [named(plan.benchmarks, name) for name in names]:
        for size in _sizes(plan, launch, group, benchmark):
            moved = guess.samples * _sample_bytes(plan, path, group, benchmark, size)
            sample_seconds = moved / (guess.gbs * 1e9) / together
            cost += Cost(
                guess.case + OTHER_ROUNDS * sample_seconds, guess.slots / 1000, sample_seconds
            )
    if launch.role == "ceiling" and needs_gpu(group.buffers):
        sized = len(SIZED_GPU_FACTS) * len(plan.sizes)
        others = FACTS_OF_NO_SIZE * (len(GPU_FACTS) - len(SIZED_GPU_FACTS))
        cost += Cost(0.0, (sized + others) / 1000)
    return cost


def _sizes(plan: Plan, launch: Template, group: Group, benchmark: Benchmark) -> list[int]:
    """Returns the sizes at which a launch measures a benchmark: for the rates of a ceiling, the
    plateau too."""
    plateau = plan.plateaus.get(launch.path)
    if plateau is None or launch.role != "ceiling" or benchmark.main.better != "higher":
        return benchmark.sizes(plan.sizes_in(launch, group))
    return [*benchmark.sizes(plan.sizes_in(launch, group)), plateau]


def _sample_bytes(plan: Plan, path: DataPath, group: Group, benchmark: Benchmark, size: int) -> int:
    """Bytes that one sample moves at least, between all ranks."""
    ranks = len(path.ends)
    if benchmark.traffic is not None:
        return round(ranks * benchmark.traffic.bytes(size, ranks))
    most = in_flight_bytes(plan, group.buffers) // max(size, 1)
    return ranks // 2 * benchmark.moves.bytes(size, max(1, min(plan.window, most)))


class Manner(NamedTuple):
    """The manner of measurement of a launch, which is the same in many blocks."""

    slot_ms: float
    least_samples: int
    methods: tuple[str, ...]
    variants: tuple[int, ...] = ()


class Part(NamedTuple):
    """The cost of a case of a launch, or (without a method and a variant) of everything but its
    cases."""

    cost: Cost
    variant: int | None = None  # index into Plan.variants; None: of a ceiling
    method: str | None = None


Parts = list[Part]


def parts_of(
    samples: Iterable[SamplesRecord],
    seconds: float,
    slot_ms: float,
    least_samples: int,
    variant_of: Callable[[SamplesRecord], int | None] = lambda _: None,
) -> Parts:
    """Splits the seconds of a launch into its cases and the rest.

    The time of a case grows with the slot where the slot held more than the least samples.
    """
    cases = timed(samples)
    parts: Parts = []
    for case in cases:
        bound = case.iterations > least_samples * case.batch
        if bound:
            growing = min(case.seconds, WARM_SLOT * slot_ms / 1000)
            cost = Cost(case.seconds - growing, growing / slot_ms)
        else:
            sample_seconds = case.seconds / (least_samples + OTHER_ROUNDS)
            cost = Cost(sample_seconds * OTHER_ROUNDS, 0.0, sample_seconds)
        parts.append(Part(cost, variant_of(case), case.method))
    rest = seconds - sum(case.seconds for case in cases)
    return [Part(Cost(max(0.0, rest))), *parts]


class Estimate:
    """Estimates the seconds of launches of a plan, better with each that was measured."""

    def __init__(self, plan: Plan) -> None:
        self._guesses = [guess_cost(plan, launch) for launch in plan.launches]
        self._libraries = {
            number for number, launch in enumerate(plan.launches) if launch.role == "mpi"
        }
        # By index into Plan.launches.
        self._measured: dict[int, dict[Manner, list[float]]] = {}
        self._parts: dict[int, list[Parts]] = {}
        # Guessed and measured seconds of launches of libraries that ended well: how long a hang or
        # a crash takes says nothing of how fast a library is.
        self._ended_well: dict[int, list[tuple[float, float]]] = {}

    def add(
        self, template: int, manner: Manner, seconds: float, parts: Parts, *, ok: bool = True
    ) -> None:
        """Takes in the seconds of a launch that was measured in this manner."""
        if ok and template in self._libraries:
            guess = self._guesses[template].seconds(manner.slot_ms, manner.least_samples)
            self._ended_well.setdefault(template, []).append((guess, seconds))
        self._measured.setdefault(template, {}).setdefault(manner, []).append(seconds)
        self._parts.setdefault(template, []).append(parts)

    def seconds(self, launches: Iterable[PlannedLaunch]) -> float:
        """Returns the seconds of these launches, one after the other."""
        correction = self._correction()
        return sum(self._launch_seconds(launch, correction) for launch in launches)

    def _launch_seconds(self, launch: PlannedLaunch, correction: float) -> float:
        manner = manner_of(launch)
        if times := self._measured.get(launch.template, {}).get(manner):
            return statistics.fmean(times)
        if others := self._parts.get(launch.template):
            return _seconds(others, manner)
        guess = self._guesses[launch.template]
        return guess.seconds(launch.slot_ms, launch.least_samples) * correction

    def is_slow(self, templates: Iterable[int]) -> bool:
        """True if, for these templates, measured time over guessed time is more than 6, and more
        than 6 times the median of that ratio over this study's launches of libraries."""
        usual, measured = self._usual_and_measured(templates)
        return measured > SLOW * usual

    def lost(self, templates: Iterable[int]) -> float:
        """Returns the seconds that launches of these templates took beyond what is usual."""
        usual, measured = self._usual_and_measured(templates)
        return max(0.0, measured - usual)

    def _usual_and_measured(self, templates: Iterable[int]) -> tuple[float, float]:
        """Returns the usual and the measured seconds of launches of these templates. The usual ones
        follow from this study, where all may take longer than guessed."""
        ratios = [
            measured / guess for times in self._ended_well.values() for guess, measured in times
        ]
        usual = max(1.0, statistics.median_low(ratios)) if ratios else 1.0
        pairs = [pair for template in templates for pair in self._ended_well.get(template, [])]
        return usual * sum(guess for guess, _ in pairs), sum(measured for _, measured in pairs)

    def _correction(self) -> float:
        """Measured to guessed time, over what was measured."""
        guessed = measured = 0.0
        for template, manners in self._measured.items():
            for manner, times in manners.items():
                guess = self._guesses[template].seconds(manner.slot_ms, manner.least_samples)
                guessed += len(times) * guess
                measured += sum(times)
        return measured / guessed if guessed else 1.0


def manner_of(launch: PlannedLaunch) -> Manner:
    """Returns the manner in which a launch is to be measured."""
    variants = tuple(sorted(launch.variants))
    return Manner(launch.slot_ms, launch.least_samples, launch.methods, variants)


def _seconds(launches: Iterable[Parts], manner: Manner) -> float:
    """Returns the seconds of a launch in another manner: of each variant the mean of the launches
    that measured it."""
    times: dict[int | None, list[float]] = defaultdict(list)
    for parts in launches:
        sums: dict[int | None, float] = defaultdict(float)
        for cost, variant, method in parts:
            if method is None or not manner.methods or method in manner.methods:
                sums[variant] += cost.seconds(manner.slot_ms, manner.least_samples)
        for variant, seconds in sums.items():
            times[variant].append(seconds)
    wanted = (None, *manner.variants)
    return sum(statistics.fmean(times[variant]) for variant in wanted if variant in times)
