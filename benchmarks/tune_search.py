# SPDX-License-Identifier: Apache-2.0
"""Simulates searches for settings with planted optima and the noise of real launches: tables of
benchmarks/RESULTS.md.

Usage: python benchmarks/tune_search.py [--problems N] [--launches N ...] [--proofs N]

In each problem a message's time is a sum of parts that a few of forty settings make shorter or
longer, with a second protocol that is faster only together with another setting; values fail,
launches scatter by 3 %, and one in twenty is slow by up to half. Half of this noise is shared by
all targets of a launch. The benchmark compares the search
of `nearpeak tune` with random search and with Optuna's TPE sampler, which drop and prove nothing.
Each has as many launches. The figure is the share of the greatest possible gain that a search
finds, computed without noise. In further problems no value changes anything: what is taken there is
false. Nothing is measured; the seeds are fixed.

A second table has eight targets that share none, half or all of their noise, where launches scatter
by 3 % or by 10 %: what searches find, and how often proofs are false, where no value changes
anything.
"""

import argparse
import itertools
import math
import multiprocessing
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.pool import Pool

import numpy as np
import optuna

from nearpeak.arrays import Floats
from nearpeak.tune.bench import Bench, Failed
from nearpeak.tune.budget import TRIED, Work
from nearpeak.tune.candidates import Candidate, Env
from nearpeak.tune.rounds import DEFAULT, Rounds
from nearpeak.tune.search import PROOF_ROUNDS, TO_COME, Search

SCATTER, SLOW_SHARE, SLOW = 0.03, 0.05, 0.5
SETTINGS = 40  # most change nothing
FAILING = 0.08  # of values
TARGETS, MANY_TARGETS = 3, 8
SHARED = 0.5  # of the variance of launches: what all targets of a launch have in common
MANY_LAUNCHES = 100  # of a search with many targets
EARLIER = 12  # launches of default settings before a proof
PARTS = 6  # that a message's time is the sum of


@dataclass
class Problem:
    """The time of a message is a sum of parts, other ones with another protocol; a value makes a
    part of one protocol shorter or longer."""

    values: dict[str, list[str]]
    parts: Floats  # protocols x parts x targets
    factors: dict[tuple[str, str], tuple[int, int, float]]  # protocol, part, times as long
    protocols: dict[tuple[str, str], int]  # which a value chooses; else 0
    failing: set[tuple[str, str]]

    def gains(self, env: Env) -> Floats | None:
        """As logarithms, without noise; None: it fails."""
        return None if set(env.items()) & self.failing else self._times({}) - self._times(env)

    def _times(self, env: Env) -> Floats:
        chosen = sorted(env.items())
        protocol = max((self.protocols.get(value, 0) for value in chosen), default=0)
        parts = self.parts[protocol].copy()
        for value in chosen:
            where, part, factor = self.factors.get(value, (-1, 0, 1.0))
            if where == protocol:
                parts[part] *= factor
        return np.asarray(np.log(parts.sum(axis=0)))

    def greatest(self) -> float:
        """The mean gain of the best values, by trying each protocol with all that helps in it."""
        best = 0.0
        for choice in [None, *self.protocols]:
            protocol = 0 if choice is None else self.protocols[choice]
            env = {} if choice is None else dict([choice])
            for name, values in self.values.items():
                helping = [
                    (self.factors[name, value][2], value)
                    for value in values
                    if (name, value) in self.factors
                    and (name, value) not in self.failing
                    and self.factors[name, value][0] == protocol
                    and self.factors[name, value][2] < 1
                ]
                if helping and name not in env:
                    env[name] = min(helping)[1]
            found = self.gains(env)
            best = max(best, 0.0 if found is None else float(found.mean()))
        return best


def problem(seed: int, targets: int = TARGETS) -> Problem:
    """As catalogues are."""
    chance = random.Random(seed)
    count = [1, 1, 1, 2, 2, 4]
    values = {f"S{n}": [str(v) for v in range(chance.choice(count))] for n in range(SETTINGS)}
    names = chance.sample(sorted(values), 18)
    switch = names[0]
    values[switch] = ["0", "1"]
    # The second protocol has fewer parts, of which one is long until a setting mends it: a pair.
    parts = np.array(
        [[[chance.expovariate(1.0) for _ in range(targets)] for _ in range(PARTS)] for _ in "01"]
    )
    parts[1] *= 0.5
    parts[1, 0] = 1.2 * parts[0].sum(axis=0)
    factors: dict[tuple[str, str], tuple[int, int, float]] = {}
    factors[names[1], values[names[1]][-1]] = (1, 0, 0.1)
    largest = list(np.argsort(-parts[0].mean(axis=1)))
    for place, name in enumerate(names[2:5]):  # thresholds have a best value
        best = chance.randrange(len(values[name]))
        for at, value in enumerate(values[name]):
            factor = chance.uniform(0.1, 0.5)
            factors[name, value] = (0, int(largest[place]), 1 - (1 - factor) / (1 + abs(at - best)))
    factors[names[5], values[names[5]][0]] = (1, 1, 0.3)
    for name in names[6:18]:  # as of UCX over a GPU: a third of the values harm
        for value in values[name]:
            factors[name, value] = (0, chance.randrange(PARTS), chance.uniform(1.5, 10.0))
    every = [(name, value) for name, own in values.items() for value in own]
    failing = {each for each in every if chance.random() < FAILING and each not in factors}
    return Problem(values, parts, factors, {(switch, "1"): 1}, failing)


class Launches(Bench):
    """A problem with noise, and a number of launches. `shared`: the shared part of the variance."""

    def __init__(
        self,
        given: Problem,
        seed: int,
        launches: int,
        shared: float = SHARED,
        scatter: float = SCATTER,
    ) -> None:
        self.problem = given
        self.most = launches
        self.done = 0
        self._chance = random.Random(seed)
        self._shared = shared
        self._scatter = scatter

    def measure(self, env: Env, why: str) -> Floats | Failed:
        assert why
        self.done += 1
        gains = self.problem.gains(env)
        if gains is None:
            return Failed("planted")
        rest = np.array([self._noise() for _ in gains])
        noise = math.sqrt(self._shared) * self._noise() + math.sqrt(1 - self._shared) * rest
        return np.asarray(-gains + noise)

    def _noise(self) -> float:
        slow = SLOW * self._chance.random() if self._chance.random() < SLOW_SHARE else 0.0
        return self._chance.gauss(0, self._scatter) + slow

    def check(self, env: Env) -> str:
        return "" if self.problem.gains(env) is not None else "planted"

    def places(self) -> list[str]:
        return []

    def elsewhere(self, env: Env, place: str) -> dict[str, float] | Failed:
        raise AssertionError(place, env)

    def left(self) -> float:
        return 1 - self.done / min(TRIED * self.most, self.most - TO_COME)

    def holds(self, launches: int, checks: int, work: Work) -> bool:
        assert work
        assert checks <= 1
        return self.done + launches <= self.most

    def foreseen(self, launches: int) -> float | None:
        return None if self.done + launches <= TRIED * self.most else 1.0

    def time_added(self) -> bool:
        return False


def ours(bench: Launches, seed: int) -> Env:
    """`nearpeak tune`'s."""
    candidates = [
        Candidate(((name, value),)) for name, own in bench.problem.values.items() for value in own
    ]
    return Search(bench, candidates, seed).run().taken


def named(bench: Launches, seed: int) -> Env:
    """The same where rules named the two values that help the usual protocol most by themselves,
    and one that changes nothing."""
    given = bench.problem
    helping = sorted(
        (factor, value)
        for value, (protocol, _, factor) in given.factors.items()
        if protocol == 0 and factor < 1 and value not in given.failing
    )
    idle = [
        (name, value)
        for name, own in given.values.items()
        for value in own
        if (name, value) not in {*given.factors, *given.protocols, *given.failing}
    ]
    values = [Candidate((value,)) for value in [*(each for _, each in helping[:2]), idle[0]]]
    others = [Candidate(((n, value),)) for n, own in given.values.items() for value in own]
    candidates = list(dict.fromkeys([*values, *others]))
    return Search(bench, candidates, seed, first=len(values)).run().taken


def at_random(bench: Launches, seed: int) -> Env:
    """Each setting at any of its values or its default; the best of them again, five times each."""
    chance = random.Random(seed)
    seen: list[tuple[float, Env]] = []
    while bench.done < bench.most * 0.8:
        env = {
            n: chance.choice(v) for n, v in bench.problem.values.items() if chance.random() < 0.5
        }
        if not isinstance(found := bench.measure(env, "random"), Failed):
            seen.append((float(found.mean()), env))
    return _best_again(bench, seen)


def tpe(bench: Launches, seed: int) -> Env:
    """Optuna's sampler, multivariate, from the library as it is; then as above."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seen: list[tuple[float, Env]] = []

    def objective(trial: optuna.Trial) -> float:
        env = {}
        for name, values in bench.problem.values.items():
            value = trial.suggest_categorical(name, ["default", *values])
            if value != "default":
                env[name] = value
        found = bench.measure(env, "tpe")
        if isinstance(found, Failed):
            return 10.0
        seen.append((float(found.mean()), env))
        return float(found.mean())

    sampler = optuna.samplers.TPESampler(
        seed=seed, multivariate=True, warn_independent_sampling=False
    )
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial(dict.fromkeys(bench.problem.values, "default"))
    study.optimize(objective, n_trials=int(bench.most * 0.8))
    return _best_again(bench, seen)


def _best_again(bench: Launches, seen: list[tuple[float, Env]]) -> Env:
    top = sorted(seen, key=lambda each: each[0])[:8]
    again: list[tuple[float, Env]] = []
    each = max(1, int(bench.most * 0.2 / max(1, len(top))))
    for _, env in top:
        found = [bench.measure(env, "again") for _ in range(each)]
        costs = [float(one.mean()) for one in found if not isinstance(one, Failed)]
        again.append((float(np.median(costs)), env))
    return min(again, key=lambda one: one[0])[1] if again else {}


WAYS: dict[str, Callable[[Launches, int], Env]] = {
    "nearpeak tune": ours,
    "  values named": named,
    "random": at_random,
    "TPE alone": tpe,
}


def outcome(way: str, seed: int, launches: int) -> tuple[float, int]:
    """The share of the greatest gain that a search finds, and the settings of it."""
    given = problem(seed)
    env = WAYS[way](Launches(given, seed, launches), seed)
    return share_of(given, env), len(env)


def takes_idle(seed: int, launches: int) -> bool:
    """True if the search takes anything where no value changes anything."""
    idle = replace(problem(seed), factors={}, protocols={})
    return bool(ours(Launches(idle, seed, launches), seed))


def share_of(given: Problem, env: Env) -> float:
    """The share of the greatest gain that these settings have."""
    gains = given.gains(env)
    return 0.0 if gains is None else float(gains.mean()) / given.greatest()


def with_many_targets(seed: int, shared: float, scatter: float) -> float:
    """The share of the greatest gain that a search with many targets finds."""
    given = problem(seed, MANY_TARGETS)
    return share_of(given, ours(Launches(given, seed, MANY_LAUNCHES, shared, scatter), seed))


def proves_idle(seed: int, shared: float, scatter: float) -> bool:
    """True if settings that change nothing are proved to be better, by many targets."""
    idle = Problem({}, np.ones((1, 1, MANY_TARGETS)), {}, {}, set())
    bench = Launches(idle, seed, MANY_LAUNCHES, shared, scatter)
    rounds = Rounds(bench, random.Random(seed))
    for _ in range(EARLIER):
        rounds.launch(DEFAULT, "default")
    settings = Candidate((("S0", "0"),))
    least, most = PROOF_ROUNDS
    compared = rounds.compare(
        DEFAULT, [settings], "proof", most, lambda found: found.rounds < least or found.is_open
    )
    return compared.estimates[settings].is_proof


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--launches", type=int, nargs="*", default=[50, 100, 200])
    parser.add_argument("--proofs", type=int, default=1000, help="of settings without effect")
    options = parser.parse_args()
    seeds = range(options.problems)
    with multiprocessing.Pool() as pool:
        print_ways(pool, seeds, options.launches)
        print_shared(pool, seeds, range(options.proofs))


def print_ways(pool: Pool, seeds: range, many: list[int]) -> None:
    """Prints the gain that each search finds, by the number of launches."""
    print("launches  search              found of the greatest gain: median [10 %, 90 %]  settings")
    for launches in many:
        for name in WAYS:
            rows = pool.starmap(outcome, [(name, seed, launches) for seed in seeds], 1)
            low, middle, high = np.quantile([share for share, _ in rows], [0.1, 0.5, 0.9])
            print(
                f"{launches:8d}  {name:20s}{middle:14.0%} [{low:.0%}, {high:.0%}]"
                f"{np.median([size for _, size in rows]):20.0f}",
                flush=True,
            )
        false = sum(pool.starmap(takes_idle, [(seed, launches) for seed in seeds], 1))
        print(f"{launches:8d}  {'without any effect':20s}{false} of {len(seeds)} take something")


def print_shared(pool: Pool, seeds: range, proofs: range) -> None:
    """Prints what searches with many targets find, and how many proofs are false."""
    print(f"{MANY_TARGETS} targets, {MANY_LAUNCHES} launches")
    print(f"scatter  shared  found: median [10 %, 90 %]  false proofs of {len(proofs)}")
    for scatter, shared in itertools.product([SCATTER, 0.1], [0.0, 0.5, 1.0]):
        noise = (shared, scatter)
        found = pool.starmap(with_many_targets, [(seed, *noise) for seed in seeds], 1)
        false = sum(pool.starmap(proves_idle, [(seed, *noise) for seed in proofs]))
        low, middle, high = np.quantile(found, [0.1, 0.5, 0.9])
        print(
            f"{scatter:7.0%}  {shared:6.0%}  {middle:14.0%} [{low:.0%}, {high:.0%}]{false:15d}",
            flush=True,
        )


if __name__ == "__main__":
    main()
