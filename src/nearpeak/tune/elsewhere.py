# SPDX-License-Identifier: Apache-2.0
"""The price of settings elsewhere, and the part of them that costs nothing there."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from nearpeak.tune.bench import Bench, Failed
from nearpeak.tune.candidates import Candidate, Env
from nearpeak.tune.estimate import HARM, Noise, estimate

ROUNDS = 3
BROKEN = 10.0  # the cost of a failure elsewhere, as a logarithm


class NoTime(Exception):
    """The time does not hold a price."""


class Elsewhere:
    """The places of a bench other than that of the targets."""

    def __init__(
        self,
        bench: Bench,
        noise: Noise,
        tell: Callable[[str], None],
        have_failed: Callable[[Candidate], bool] = lambda _: False,
    ) -> None:
        """`have_failed`: true of settings with which a launch of the search failed."""
        self._bench = bench
        self._noise = float(noise.targets.max())  # of any case
        self._tell = tell
        self._have_failed = have_failed

    def free(self, env: Env) -> tuple[Env, str]:
        """Drops variables that make messages elsewhere slower, one after the other: each time the
        one without which the rest costs least. Returns the rest, and what the time did not hold."""
        try:
            prices = self._prices(env, self._bench.places())
        except NoTime:
            return env, "what it costs elsewhere, which the study alone tells"
        try:
            while prices:
                env, prices = self._cheapest(env, list(prices))
        except NoTime:
            return {}, "what of it costs nothing elsewhere"
        return env, ""

    def _cheapest(self, env: Env, places: Sequence[str]) -> tuple[Env, dict[str, float]]:
        """Returns the variables but one, and their prices at these places."""
        cheapest: tuple[Env, dict[str, float]] = {}, {}
        least = math.inf
        for name in env:
            without = {other: value for other, value in env.items() if other != name}
            if self._have_failed(Candidate(tuple(without.items()))):
                continue
            prices = self._prices(without, places) if without else {}
            if sum(prices.values()) < least:
                least, cheapest = sum(prices.values()), (without, prices)
            if not prices and without:
                break
        return cheapest

    def _prices(self, env: Env, places: Sequence[str]) -> dict[str, float]:
        """Returns the places where cases are significantly slower than by default, or fail, with
        the sum of the losses as logarithms. NoTime."""
        prices = {}
        for place in places:
            if not self._bench.holds(2 * ROUNDS, 0, "search"):
                raise NoTime
            prices[place] = self._price(env, place)
        return {place: price for place, price in prices.items() if price}

    def _price(self, env: Env, place: str) -> float:
        """Returns the loss at a place, as a logarithm. A round without a loss of more than `HARM`
        settles it."""
        rounds: list[dict[str, float]] = []
        for _ in range(ROUNDS):
            plain, with_it = (self._bench.elsewhere(variables, place) for variables in ({}, env))
            if isinstance(plain, Failed):
                return 0.0  # nothing is lost
            if isinstance(with_it, Failed):
                return BROKEN
            rounds.append({case: plain[case] - with_it[case] for case in plain if case in with_it})
            if all(gain > -HARM for gain in rounds[-1].values()):
                return 0.0
        return self._loss(rounds, f"{place}: slower with {Candidate(tuple(env.items())).label}")

    def _loss(self, rounds: Sequence[dict[str, float]], heading: str) -> float:
        """Returns the sum of the significant losses of cases, and prints the cases."""
        common = set.intersection(*map(set, rounds))
        cases = [case for case in rounds[0] if case in common]
        gains = np.array([list(map(round_gains.__getitem__, cases)) for round_gains in rounds])
        estimated = estimate(gains, Noise(np.full(len(cases), self._noise), self._noise))
        slower = [case for case, is_slow in zip(cases, estimated.slower, strict=True) if is_slow]
        if slower:
            self._tell(f"{heading}: {', '.join(slower)}")
        return float(-estimated.gains[estimated.slower].sum())
