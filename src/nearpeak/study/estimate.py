# SPDX-License-Identifier: Apache-2.0
"""How long launches will take: a guess before the first one, then what was measured."""

import statistics
from collections.abc import Iterable

from nearpeak.study.model import Plan, PlannedLaunch

# What one launch is taken to be, before anything was measured.
START_SECONDS = {"mpi": 1.0, "ceiling": 0.2}  # launcher, MPI_Init, wiring, ending
GUESSED_GBS = {"memory": 3.0, "network": 1.0, "local": 5.0}
LEAST_SAMPLES = 11
WARM_UP = 1.15  # warm-up may take a tenth of a slot, first use and verification the rest
# (metric, method) pairs that a ceiling launch measures at every size, by transport.
CEILING_CASES = {"memory": 9, "network": 3, "local": 2}

Key = tuple[str, str, int | None, int | None, tuple[tuple[str, str], ...]]


def key_of(launch: PlannedLaunch) -> Key:
    """What a launch has in common with its repetitions in other blocks."""
    axes = tuple(sorted(launch.axes.items()))
    return (launch.role, launch.path, launch.contender, launch.variant, axes)


def guess_seconds(
    launch: PlannedLaunch, transport: str, sizes: Iterable[int], slot_ms: float
) -> float:
    """Seconds of one launch, from its sizes (bytes), its slot and a guessed bandwidth."""
    rate = GUESSED_GBS[transport] * 1e9
    # A sample moves its message there and back; verification and first use move it again.
    one_case = sum(
        max(slot_ms / 1000 * WARM_UP, size / rate * 2 * LEAST_SAMPLES) + 4 * size / rate
        for size in sizes
    )
    cases = CEILING_CASES[transport] if launch.role == "ceiling" else 1
    return START_SECONDS[launch.role] + cases * one_case


class Estimate:
    """Seconds that launches of a plan will take; knows better with each that was measured."""

    def __init__(self, plan: Plan) -> None:
        transports = {path.id: path.transport for path in plan.paths}
        self._guesses = {
            key_of(launch): guess_seconds(launch, transports[launch.path], plan.sizes, plan.slot_ms)
            for launch in plan.launches
        }
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
