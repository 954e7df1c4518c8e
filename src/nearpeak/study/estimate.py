# SPDX-License-Identifier: Apache-2.0
"""How long launches will take: a guess before the first one, then what was measured."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from nearpeak.libraries.families import is_native
from nearpeak.study.benchmarks import Benchmark, named
from nearpeak.study.buffers import ceiling_benchmarks, in_flight_bytes, needs_gpu
from nearpeak.study.model import GPU_FACTS, Plan, PlannedLaunch

LEAST_SAMPLES = 11  # of a case, however long one takes


@dataclass(frozen=True)
class Guess:
    """What launches of one kind are taken to cost before any was measured."""

    start: float  # seconds: launcher, MPI_Init, ending
    case: float  # seconds for each case: buffers, first use, verification
    slots: float  # for each case, warm-up included; a ceiling tries several methods
    samples: float  # times the least samples, for messages too large for the slot
    gbs: float  # GB/s


# From studies of a small virtual machine (2 cores), so that larger ones are early, not late.
GUESSES = {
    ("mpi", "memory"): Guess(start=0.6, case=0.0, slots=1.2, samples=1.5, gbs=5.0),
    ("mpi", "network"): Guess(start=0.6, case=0.0, slots=1.2, samples=1.0, gbs=2.5),
    ("ceiling", "memory"): Guess(start=0.2, case=0.05, slots=1.8, samples=1.5, gbs=5.0),
    ("ceiling", "network"): Guess(start=0.2, case=0.06, slots=1.8, samples=1.2, gbs=2.5),
    # From a machine with 2x H200; the start is that of the GPU's driver in each process.
    ("mpi", "gpu"): Guess(start=2.5, case=0.0, slots=1.2, samples=1.5, gbs=20.0),
    ("ceiling", "gpu"): Guess(start=2.0, case=0.05, slots=2.5, samples=1.5, gbs=50.0),
    # About ten runs of perftest's programs for each case: a guess, never measured.
    ("ceiling", "verbs"): Guess(start=1.0, case=4.0, slots=2.0, samples=1.0, gbs=10.0),
}
LOCAL_SECONDS = 2.5  # of a memory ceiling: two cases of one large size

Key = tuple[str, str, int | None, tuple[int, ...], tuple[tuple[str, str], ...], str, str | None]


def key_of(launch: PlannedLaunch) -> Key:
    """What a launch has in common with its repetitions in other blocks."""
    axes = tuple(sorted(launch.axes.items()))
    variants = tuple(launch.variants)
    shared = (launch.role, launch.path, launch.contender, variants, axes, launch.buffers)
    return (*shared, launch.adapter)


def guess_seconds(plan: Plan, launch: PlannedLaunch) -> float:
    """Seconds of one launch, from its sizes, its slot and a guessed bandwidth."""
    path = next(path for path in plan.paths if path.id == launch.path)
    if path.transport == "local":
        return LOCAL_SECONDS
    kind = "gpu" if needs_gpu(launch.buffers) else path.transport
    role = launch.role
    if launch.contender is not None and is_native(plan.contenders[launch.contender].library):
        role = "ceiling"  # in the place of a library it tries its methods too
    guess = GUESSES[role, "verbs" if launch.adapter else kind]
    if launch.role == "mpi":
        names = [plan.variants[number].benchmark for number in launch.variants]
    else:
        names = ceiling_benchmarks(plan, path, launch.buffers)
    seconds = guess.start
    for benchmark in [named(plan.benchmarks, name) for name in names]:
        pairs = len(path.ends) // 2
        for size in plan.sizes:
            moved = LEAST_SAMPLES * guess.samples * pairs
            moved *= _sample_bytes(plan, launch, benchmark, size)
            seconds += guess.case + guess.slots * plan.slot_ms / 1000 + moved / (guess.gbs * 1e9)
    if launch.role == "ceiling" and needs_gpu(launch.buffers):
        seconds += len(GPU_FACTS) * len(plan.sizes) * plan.slot_ms / 1000
    return seconds


def _sample_bytes(plan: Plan, launch: PlannedLaunch, benchmark: Benchmark, size: int) -> int:
    """Bytes that one sample moves at least between two ranks."""
    most = in_flight_bytes(plan, launch.buffers) // max(size, 1)
    return benchmark.moves.bytes(size, max(1, min(plan.window, most)))


class Estimate:
    """Seconds that launches of a plan will take; knows better with each that was measured."""

    def __init__(self, plan: Plan) -> None:
        self._guesses = {key_of(launch): guess_seconds(plan, launch) for launch in plan.launches}
        self._measured: dict[Key, list[float]] = {}

    def add(self, launch: PlannedLaunch, seconds: float) -> None:
        """A launch took so long."""
        self._measured.setdefault(key_of(launch), []).append(seconds)

    def seconds(self, launches: Iterable[PlannedLaunch]) -> float:
        """How long these launches will take, one after the other."""
        correction = self._correction()
        total = 0.0
        for launch in launches:
            key = key_of(launch)
            if known := self._measured.get(key):
                total += statistics.fmean(known)
            else:
                total += self._guesses[key] * correction
        return total

    def _correction(self) -> float:
        """Measured to guessed time, over what was measured."""
        guessed = sum(self._guesses[key] for key in self._measured)
        measured = sum(statistics.fmean(times) for times in self._measured.values())
        return measured / guessed if guessed else 1.0
