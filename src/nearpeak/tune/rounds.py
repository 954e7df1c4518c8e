# SPDX-License-Identifier: Apache-2.0
"""Interleaved rounds: settings are launched alternately with what they are compared with."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.tune.bench import Bench, Failed
from nearpeak.tune.candidates import Candidate
from nearpeak.tune.estimate import LEAST_GAIN, Estimate, Noise, estimate, noise_of

DEFAULT = Candidate(())  # the library as it is
LEAST_EQUAL = 3  # launches with equal settings that show the noise of launches


@dataclass
class Compared:
    """The gains of settings over a base, as logarithms."""

    gains: dict[Candidate, Floats]  # rounds x targets
    failed: dict[Candidate, str]  # reasons
    noise: Noise
    # Why the default settings failed as the base, in each round that was lost so.
    lost: list[str] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return max(map(len, self.gains.values()), default=0)

    @property
    def launches(self) -> int:
        """The launches of another round."""
        return len(self.gains) + 1

    @property
    def estimates(self) -> dict[Candidate, Estimate]:
        """The estimates of the settings, after the first round."""
        return {c: estimate(gains, self.noise) for c, gains in self.gains.items() if len(gains)}

    @property
    def is_open(self) -> bool:
        """True if more rounds may decide about one of the settings."""
        return any(estimated.is_open for estimated in self.estimates.values())

    @property
    def best(self) -> Candidate | None:
        """The best settings, if they are better than the base. Of those within a standard error of
        the best, they are the ones with fewest variables (the rule of one standard error: Breiman
        et al., Classification and Regression Trees, 1984, 3.4.3)."""
        better = {
            candidate: estimated
            for candidate, estimated in self.estimates.items()
            if estimated.mean > LEAST_GAIN and not estimated.harms
        }
        best = max(better.values(), key=lambda estimated: estimated.mean, default=None)
        near = [c for c, e in better.items() if best and e.mean >= best.mean - best.error]
        return min(near, key=lambda c: (len(c.env), -better[c].mean), default=None)


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

    def noise(self) -> Noise:
        """Returns the noise of one launch."""
        equal = [np.array(costs) for costs in self._costs.values() if len(costs) >= LEAST_EQUAL]
        return noise_of(equal or [self.default[np.newaxis]])

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
        goes_on: Callable[[Compared], bool],
    ) -> Compared:
        """Runs at most this many rounds of the base and the others, in random order, as long as
        `goes_on`. Those that fail leave.

        If the default settings fail as the base, the round is repeated, as no setting is to blame.
        """
        compared = Compared({other: np.zeros((0, 0)) for other in others}, {}, self.noise())
        for _ in range(2 * most):
            enough = not compared.gains or compared.rounds >= most or base in compared.failed
            if enough or not goes_on(compared):
                break
            costs = self._round([base, *compared.gains], purpose)
            _add(compared, base, costs)
            compared.noise = self.noise()
        return compared

    def _round(
        self, settings: Sequence[Candidate], purpose: str
    ) -> dict[Candidate, Floats | Failed]:
        order = list(settings)
        self._chance.shuffle(order)
        return {candidate: self.launch(candidate, purpose) for candidate in order}


def _add(compared: Compared, base: Candidate, costs: dict[Candidate, Floats | Failed]) -> None:
    """Adds a round; no gains if the base failed."""
    usual = costs[base]
    if isinstance(usual, Failed) and base == DEFAULT:
        compared.lost.append(usual.why)
    for candidate, measured in costs.items():
        if isinstance(measured, Failed):
            if candidate != DEFAULT:
                compared.failed[candidate] = measured.why
                compared.gains.pop(candidate, None)
        elif candidate in compared.gains and not isinstance(usual, Failed):
            earlier = list(compared.gains[candidate])
            compared.gains[candidate] = np.array([*earlier, usual - measured])
