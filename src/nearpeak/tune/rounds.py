# SPDX-License-Identifier: Apache-2.0
"""Interleaved rounds: settings are launched alternately with what they are compared with."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.tune.bench import Bench, Failed
from nearpeak.tune.candidates import Candidate
from nearpeak.tune.estimate import Estimate, estimate, noise_of

DEFAULT = Candidate(())  # the library as it is
LEAST_EQUAL = 3  # launches with equal settings that show the noise of launches


class Compared(NamedTuple):
    """The gains of settings over a base, as logarithms."""

    gains: dict[Candidate, Floats]  # rounds x targets
    failed: dict[Candidate, str]  # reasons

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return max(map(len, self.gains.values()), default=0)

    def estimates(self, noise: Floats) -> dict[Candidate, Estimate]:
        """Returns the estimates of the settings that had a round. `noise`: of a launch."""
        return {candidate: estimate(gains, noise) for candidate, gains in self.gains.items()}


class Rounds:
    """The launches of a search."""

    def __init__(self, bench: Bench, chance: random.Random) -> None:
        self._bench = bench
        self._chance = chance
        self._costs: dict[Candidate, list[Floats]] = {DEFAULT: []}

    @property
    def default(self) -> Floats:
        """The usual costs of default settings."""
        return np.asarray(np.median(self._costs[DEFAULT], axis=0))

    def noise(self) -> Floats:
        """Returns the noise of one launch, by target."""
        equal = [costs for costs in self._costs.values() if len(costs) >= LEAST_EQUAL]
        deviations = [np.array(costs) - np.median(costs, axis=0) for costs in equal]
        return noise_of(list(np.vstack(deviations or [np.zeros_like(self.default)])))

    def launch(self, candidate: Candidate, purpose: str) -> Floats | Failed:
        """Measures one launch."""
        measured = self._bench.measure(dict(candidate.env), purpose)
        if not isinstance(measured, Failed):
            self._costs.setdefault(candidate, []).append(measured)
        return measured

    def compare(
        self,
        base: Candidate,
        others: Sequence[Candidate],
        purpose: str,
        most: int,
        goes_on: Callable[[int, Compared], bool],
    ) -> Compared:
        """Runs at most this many rounds of the base and the others, in random order. Those that
        fail leave. `goes_on`: True if another round follows, by the number of its launches and the
        gains so far.

        If the default settings fail as the base, the round is repeated, as no setting is to blame.
        """
        compared = Compared({other: np.zeros((0, 0)) for other in others}, {})
        for _ in range(2 * most):
            enough = not compared.gains or compared.rounds >= most
            if enough or not goes_on(len(compared.gains) + 1, compared):
                break
            costs = self._round([base, *compared.gains], purpose)
            for candidate, measured in costs.items():
                if candidate != DEFAULT and isinstance(measured, Failed):
                    compared.failed[candidate] = measured.why
                    compared.gains.pop(candidate, None)
            if base in compared.failed:
                break
            _add(compared.gains, costs, costs[base])
        return Compared(
            {c: gains for c, gains in compared.gains.items() if len(gains)}, compared.failed
        )

    def _round(
        self, settings: Sequence[Candidate], purpose: str
    ) -> dict[Candidate, Floats | Failed]:
        order = list(settings)
        self._chance.shuffle(order)
        return {candidate: self.launch(candidate, purpose) for candidate in order}


def _add(
    gains: dict[Candidate, Floats],
    costs: dict[Candidate, Floats | Failed],
    base: Floats | Failed,
) -> None:
    """Adds a round; none if the base failed."""
    for candidate, earlier in gains.items():
        measured = costs[candidate]
        if not isinstance(base, Failed) and not isinstance(measured, Failed):
            row = (base - measured)[np.newaxis]
            gains[candidate] = np.vstack([earlier, row]) if len(earlier) else row
