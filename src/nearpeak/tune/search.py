# SPDX-License-Identifier: Apache-2.0
"""The search for settings: proposes trials, and decides which values are taken.

It begins with the named values, each alone, then the library's own cost model with ceilings of this
machine, and then the values of both that help together. The good ones are taken, and those of them
that are not needed are dropped.

Then many values are tried together, since a launch with twenty values has information on all of
them: first at random, half of these trials on top of the taken values, then as Optuna's TPE sampler
proposes them from all trials so far. The best trials, the values of them that matter by regression,
and the best single values race against the taken ones in interleaved rounds. The winner is taken if
it is significantly better, in fresh launches too. In the end, values that are not needed are
dropped, and all that worked must still work. benchmarks/tune_search.py has simulations.

All decisions follow from the figures, in the order of measurement, and from the seed. A search is
therefore resumed by playing back the recorded launches (trials.py).
"""

import itertools
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.numbers import count
from nearpeak.terms.logs import brief
from nearpeak.terms.sizes import format_seconds
from nearpeak.tune.budget import Work
from nearpeak.tune.candidates import Candidate, Env, agreeing, by_variable, together
from nearpeak.tune.estimate import (
    HARM,
    LEAST_GAIN,
    LIKELY,
    SURE,
    Estimate,
    effects_of,
    estimate,
    noise_of,
)
from nearpeak.tune.sampler import Sampler

SCREENED_BETWEEN = 5  # trials between two launches of the taken settings, which show drift
REFERENCE = 5  # launches whose median a single trial is compared with
CALIBRATED_ROUNDS = 6  # as many as a 95 % interval needs
SHARE_CALIBRATED = 0.15  # of the time, at most, for these rounds
STARTING = 20  # random trials that the sampler starts from
SHARE_SAMPLED = 0.7  # of the time that is left, for trials of values together
REFERENCE_EVERY = 8  # of these trials
MOST_AGAIN = 6  # repeated trials: the sampler proposes nothing new
MOST_TURNS = 3
MOST_OFFERS = 3
MOST_FAILING = 2  # values with the same needs: if this many fail, all do
MOST_RACING = 8  # side by side
MOST_ROUNDS = 7
MOST_MORE = 14  # further rounds, if nothing was taken and a candidate seems better
LEAST_ROUNDS = 3
PROOF = 2 * (LEAST_ROUNDS + 1)  # launches: rounds of two
TAKEN = 3  # launches of newly taken settings
WON = PROOF + TAKEN + PROOF  # launches after a race: two proofs
DROPPED = PROOF + TAKEN  # launches of leaving something out
TO_COME = 2 * LEAST_ROUNDS + WON  # launches after trials: at least a race of two
NOISES = 3.0  # of single launches: a trial that is better by this much is promising
BROKEN = 10.0  # the cost of a failure elsewhere, as a logarithm
PENALTY = 2.0  # of the loss of a target compared with default settings, beyond `HARM`


class Failed(NamedTuple):
    """A trial without figures: it crashed, hung, was wrong, or the library refused it."""

    why: str


class Bench(Protocol):
    """The interface that measures."""

    def measure(self, env: Env, purpose: str) -> Floats | Failed:
        """Measures the cost of each target (targets.cost) in one launch; less is better."""

    def check(self, env: Env) -> str | None:
        """Returns what no longer works with these variables; empty if all works that works without
        them. None: the time was over before all was checked."""

    def places(self) -> list[str]:
        """Returns the other places where the library is used, and where taken settings may cost
        time."""

    def elsewhere(self, env: Env, place: str) -> dict[str, float] | Failed:
        """Measures the costs of the cases of one launch at this place."""

    def left(self) -> float:
        """Returns the share of the time for trials that is left."""

    def holds(self, launches: int, checks: int, work: Work) -> bool:
        """True if the time for this kind of work holds this many usual launches and checks."""

    def foreseen(self, launches: int) -> float | None:
        """Returns the seconds of a budget that would hold this many trials and the work after them;
        None if the present one does."""

    def time_added(self) -> bool:
        """True if time was added when the search had ended; it counts from then on."""

    def lend(self) -> bool:
        """True if a study can spare time for trials; it counts from then on."""


class Offer(NamedTuple):
    """A candidate that makes some targets faster and others slower."""

    candidate: Candidate
    gains: tuple[float, ...]  # of each target, as logarithms


class Calibration(NamedTuple):
    """The library's own cost model with ceilings, and no other settings."""

    candidate: Candidate
    gains: list[Floats]  # of each round, by target, over default settings


@dataclass
class Outcome:
    """The result of a search."""

    taken: Env = field(default_factory=dict)
    free: Env = field(default_factory=dict)  # the part of `taken` that costs nothing elsewhere
    refused: dict[str, str] = field(default_factory=dict)  # reasons, by label
    offers: list[Offer] = field(default_factory=list)
    calibration: Calibration | None = None
    tried: int = 0  # values
    lacking: list[str] = field(default_factory=list)  # work that the time did not hold


class Search:
    """One search on a bench."""

    def __init__(
        self,
        bench: Bench,
        candidates: Sequence[Candidate],
        seed: int,
        tell: Callable[[str], None] = lambda _: None,
        first: int = 0,
        calibrated: Sequence[Candidate] = (),
        last: Sequence[Candidate] = (),
    ) -> None:
        """`candidates`: single values, each with its needs; the first `first` ones are tried alone
        before all others. `calibrated`: further values, tried together after them. `last`: values
        that are tried only after all others."""
        self._bench = bench
        self._chance = random.Random(seed)
        self._seed = seed
        self._tell = tell
        self._candidates = list(dict.fromkeys([*candidates, *calibrated]))
        self._calibrated = calibrated
        self._first = first
        self._last = frozenset(last).difference(candidates[:first])
        self._checks = 1  # still to come
        self._references: list[Floats] = []  # launches of the taken settings
        self._default: Floats = np.zeros(0)  # the usual costs of default settings
        self._scatter: list[Floats] = []  # deviations of earlier references from their medians
        self._tried: list[tuple[frozenset[Candidate], float]] = []  # trials: values, and cost
        self._by_target: list[Floats] = []  # costs of each trial
        self._undecided: dict[Candidate, list[Floats]] = {}  # gains in the last race
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Searches, and continues as long as time is added, or as the study's time is free because
        nothing was taken."""
        if not self._reference(TAKEN):
            return self.outcome
        self._bench.check({})  # its duration must be known to plan the later ones
        self._foresee()
        self._screen(self._candidates[: self._first])
        self._calibrate()
        if self._take_best(self._promising()):
            self._prune()
        self._go_on()
        while self._bench.time_added() or (not self.outcome.taken and self._bench.lend()):
            self.outcome.lacking, self.outcome.offers = [], []
            self._checks = 1
            if not self.outcome.taken and self._take_best(self._best(self._triable())):
                self._prune()
            self._go_on()
        self._tell_undecided()
        return self.outcome

    def _tell_undecided(self) -> None:
        """Prints the best candidate of a race that ran out of time, if nothing was taken."""
        if self.outcome.taken or not self._undecided:
            return
        candidate, gains = max(self._undecided.items(), key=lambda pair: float(np.mean(pair[1])))
        if len(gains) < MOST_ROUNDS + MOST_MORE:
            rounds = f"rounds that tell whether {candidate.label} is better"
            times = speedups(np.mean(gains, axis=0))
            self._lack(f"{rounds}: {times} times as fast in {count(len(gains), 'round')} so far")

    def _foresee(self) -> None:
        """Prints the budget that would hold a launch of each value, if the present one does not."""
        values = len(self._candidates)
        if seconds := self._bench.foreseen(values):
            self._tell(
                f"{values} values are tried many at a time, the most promising ones alone: one"
                f" launch for each would need a --budget of about {format_seconds(seconds)}"
            )

    def _go_on(self) -> None:
        """Searches until nothing helps any more or the time is over, and proves what it takes."""
        while True:
            if self._climb() or self._race_on():
                self._prune()
            self._prove()
            if not self.outcome.taken:
                break
            broken = self._bench.check(self.outcome.taken)
            if broken is None:
                self._lack("whether all that worked still works with it, so it is not taken")
                self.outcome.taken = {}
            if not broken:
                break
            self._without_broken(broken)
        self._checks = 0
        self._leave_what_costs()
        self._offers()

    def _calibrate(self) -> None:
        """Measures the gain of ceilings in the library's own cost model. No launch has selected
        these values, so the rounds are unbiased."""
        values = self._working(self._calibrated)
        before = self._bench.left()
        while values and math.isnan(self._try(values, "calibrated")):
            self._find_failing(values)
            kept = self._working(values)
            if len(kept) == len(values):
                return  # they fail only together
            values, before = kept, self._bench.left()
        if not values:
            return
        self.outcome.calibration = Calibration(together(values), [])
        if 2 * CALIBRATED_ROUNDS * (before - self._bench.left()) > SHARE_CALIBRATED:
            self._lack(f"{CALIBRATED_ROUNDS} rounds of measured ceilings alone")
            return
        for _ in range(CALIBRATED_ROUNDS):
            gains = self._against(dict(together(values).env), "calibrated", 1, "search")
            if gains is None:
                break
            self.outcome.calibration.gains.append(gains[0])

    def _holds(self, launches: int, work: Work) -> bool:
        """True if the time holds this many launches, and the check if it is still to come."""
        return self._bench.holds(launches, self._checks, work)

    @property
    def _race_work(self) -> Work:
        """The kind of work of a race: once something is taken, a race only improves it."""
        return "search" if self.outcome.taken else "proof"

    def _lack(self, omission: str) -> None:
        """Prints once that the time did not hold this."""
        if omission not in self.outcome.lacking:
            self.outcome.lacking.append(omission)
            self._tell(f"no time for: {omission}")

    def _promising(self) -> list[Candidate]:
        """Returns combinations of the named values and the measured ceilings that were each better
        in a launch: both together, with either one's value of a variable that both have, and each
        of the two."""
        named = [
            candidate
            for candidate in self._working(self._candidates[: self._first])
            if self._is_clear([candidate])
        ]
        measured = self._working(self._calibrated)
        if not self._is_clear(measured):
            measured = []
        combined = [together(values) for values in ([*named, *measured], [*measured, *named])]
        combined += [together(measured), together(named)]
        return [candidate for candidate in dict.fromkeys(combined) if candidate.env]

    def _is_clear(self, values: Sequence[Candidate]) -> bool:
        """True if a launch with exactly these values was clearly better than the taken ones."""
        costs = [cost for tried, cost in self._tried if tried == frozenset(values)]
        usual = self._cost(np.median(self._references, axis=0))
        return min(costs, default=math.inf) < usual - NOISES * float(self._noise().mean())

    def _climb(self) -> bool:
        """Takes better values until the time is over or none is better. True if any was taken."""
        taken = False
        for _ in range(MOST_TURNS):
            until = self._bench.left() * (1 - SHARE_SAMPLED)
            sampler = Sampler(self._triable(), self._seed)
            for values, cost in self._tried:
                sampler.learn(values, cost)
            self._spread(sampler, until)
            self._sample(sampler, until)
            better = self._take_best(self._best(self._triable()))
            taken = taken or better
            waiting, self._last = self._last, frozenset()
            if not (better or waiting) or self._bench.left() <= 0:
                break
        return taken

    def _triable(self) -> list[Candidate]:
        """Returns the candidates that may be tried now."""
        return [
            candidate
            for candidate in self._working(self._candidates)
            if candidate not in self._last
        ]

    def _working(self, values: Sequence[Candidate]) -> list[Candidate]:
        return [candidate for candidate in values if candidate.label not in self.outcome.refused]

    def _without_broken(self, reason: str) -> None:
        """Refuses the values that break an operation, and returns to the default settings."""
        taken = self._taken_values()
        broken = {
            candidate: self._bench.check(dict(candidate.env))
            for candidate in taken
            if self._holds(0, "proof")
        }
        for candidate in taken:
            alone = broken.get(candidate)
            if alone or not any(broken.values()):
                self._refuse(candidate, alone or f"together: {reason}")
        kept = [len(self._working(list(values))) == len(values) for values, _ in self._tried]
        self._tried = list(itertools.compress(self._tried, kept))
        self._by_target = list(itertools.compress(self._by_target, kept))
        self._take({})

    def _taken_values(self) -> list[Candidate]:
        return [
            candidate
            for candidate in self._candidates
            if set(candidate.env) <= set(self.outcome.taken.items())
        ]

    def _reference(self, launches: int) -> bool:
        """Measures the taken values again; true if a launch worked."""
        worked, reason = False, ""
        for _ in range(launches):
            if isinstance(costs := self._bench.measure(self.outcome.taken, "taken"), Failed):
                reason = costs.why
                continue
            self._references.append(costs)
            worked = True
            if not self.outcome.taken:
                self._default = np.median(self._references, axis=0)
                self._tried.append((frozenset(), self._cost(costs)))
                self._by_target.append(costs)
        if not worked and not self.outcome.taken:
            self._tell(f"the library as it is: {brief(reason)}")
        return worked

    def _cost(self, costs: Floats) -> float:
        """Returns the cost of a launch: the mean over the targets, plus a penalty for each that is
        slower than by default."""
        slower = np.maximum(0.0, costs - self._default - HARM)
        return float(costs.mean() + PENALTY * np.sum(slower))

    def _noise(self) -> Floats:
        """Returns the noise of one launch, by target."""
        deviations = np.array(self._references) - np.median(self._references, axis=0)
        return noise_of([*self._scatter, *deviations])

    def _screen(self, candidates: Sequence[Candidate]) -> None:
        """Launches each value alone. Unless the value is clearly better, it has a second launch,
        since the first may be slow by chance, between CPUs that were just moved."""
        for number, candidate in enumerate([*candidates, *candidates]):
            if self._bench.left() <= 0:
                break
            if number % SCREENED_BETWEEN == 0:
                self._reference(1)
            if candidate.label not in self.outcome.refused and not self._is_clear([candidate]):
                self._try([candidate], "alone")

    def _try(self, values: Sequence[Candidate], purpose: str) -> float:
        """Launches the values that agree, and returns the cost; nan if it failed."""
        values = agreeing(values)
        costs = self._bench.measure(dict(together(values).env), purpose)
        if isinstance(costs, Failed):
            if len(values) == 1:
                self._refuse(values[0], costs.why)
            return math.nan
        cost = self._cost(costs)
        self._tried.append((frozenset(values), cost))
        self._by_target.append(costs)
        self.outcome.tried = len({candidate for tried, _ in self._tried for candidate in tried})
        name = values[0].label if len(values) == 1 else f"{len(values)} values together"
        self._tell(f"{name}: {speedups(self._gains(costs))}")
        return cost

    def _spread(self, sampler: Sampler, until: float) -> None:
        """Tries random values, half of the time on top of the taken ones, until there are enough
        trials of many values for the sampler to start from. If a trial fails, the next ones have
        fewer values, and the failing value is searched for."""
        share = 0.5
        taken = self._taken_values()
        values = by_variable(self._triable())
        for _ in range(STARTING - sum(len(tried) > 1 for tried, _ in self._tried)):
            if self._bench.left() <= until:
                break
            chosen = [
                self._chance.choice(alternatives)
                for alternatives in values.values()
                if self._chance.random() < share
            ]
            chosen = self._working(chosen)
            if not chosen:
                continue
            beside = taken if taken and self._chance.random() < 0.5 else []
            cost = self._try([*beside, *chosen], "spread")
            if math.isnan(cost):
                self._find_failing(agreeing(chosen))
                share = max(share / 1.5, 0.05)
            else:
                sampler.learn(chosen, cost)

    def _find_failing(self, chosen: Sequence[Candidate]) -> None:
        """Refuses one of several values that fail together, if it also fails alone. Launches that
        work on the way count as trials."""
        suspects = list(chosen)
        while len(suspects) > 1:
            if self._bench.left() <= 0:
                return
            half = suspects[: len(suspects) // 2]
            if not math.isnan(self._try(half, "which")):
                half = suspects[len(suspects) // 2 :]
                if len(half) > 1 and not math.isnan(self._try(half, "which")):
                    return  # they fail only together
            suspects = half
        if suspects[0].label not in self.outcome.refused:
            self._try(suspects, "which")

    def _gains(self, costs: Floats) -> Floats:
        """Returns the gains of one launch over the usual launch of the taken values."""
        return np.asarray(np.median(self._references[-REFERENCE:], axis=0) - costs)

    def _refuse(self, candidate: Candidate, reason: str) -> None:
        reason = brief(reason)
        self.outcome.refused[candidate.label] = reason
        self._tell(f"{candidate.label}: refused: {reason}")
        self._refuse_alike(candidate)

    def _refuse_alike(self, candidate: Candidate) -> None:
        """Refuses all values with the same needs as a refused one, if none has worked with them."""
        needed = Candidate(candidate.env[:-1])
        alike = [other for other in self._candidates if other.env[:-1] == needed.env]
        if not needed.env or any(other in tried for tried, _ in self._tried for other in alike):
            return
        rest = self._working(alike)
        if rest and len(alike) - len(rest) >= MOST_FAILING:
            reason = f"nothing worked with {needed.label}"
            self.outcome.refused.update({other.label: reason for other in rest})
            self._tell(f"{needed.label}: not tried further, nor what needs it")

    def _sample(self, sampler: Sampler, until: float) -> None:
        """Tries values together, as the sampler proposes them."""
        again = 0
        for number in itertools.count():
            if self._bench.left() <= until or again > MOST_AGAIN:
                break
            if number % REFERENCE_EVERY == 0:
                self._reference(1)
            values = sampler.ask()
            values = agreeing(values)
            again += any(set(values) == tried for tried, _ in self._tried)
            sampler.tell(self._try(values, "together") if values else math.nan)

    def _best(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Returns candidates that may beat the taken values: the values that matter by all trials,
        the ceilings, the two best trials of several values, the values of these that matter, and
        the two best single values."""
        costs = np.array([cost for _, cost in self._tried])
        effects = dict(zip(candidates, map(float, self._effects(candidates, costs)), strict=True))
        several = sorted(
            (trial for trial in self._tried if len(trial[0]) > 1), key=lambda trial: trial[1]
        )
        combined = []
        for values, _ in several[:2]:
            ordered = [candidate for candidate in candidates if candidate in values]
            matter = [candidate for candidate in ordered if effects[candidate] > LEAST_GAIN / 2]
            combined += [together(matter), together(ordered)]
        best = together(_best_values(candidates, effects))
        alone = sorted(candidates, key=lambda candidate: -effects[candidate])[:2]
        measured = self._calibrated if self.outcome.calibration else ()
        calibrated = together(self._working(measured))
        return [
            candidate
            for candidate in dict.fromkeys([best, calibrated, *combined, *alone])
            if candidate.env
        ]

    def _effects(self, candidates: Sequence[Candidate], costs: Floats) -> Floats:
        rows = np.array([[float(c in values) for c in candidates] for values, _ in self._tried])
        return effects_of(rows, costs)

    def _leave_what_costs(self) -> None:
        """Drops taken variables that make messages elsewhere slower, one after the other: each time
        the one without which the rest costs least."""
        self.outcome.free = free = self.outcome.taken
        prices = self._prices(free, self._bench.places()) if free else {}
        if prices is None:
            self._lack("what it costs elsewhere, which the study alone tells")
        while prices:
            places = list(prices)
            prices = {}
            best = math.inf
            for name in free:
                without = {k: v for k, v in free.items() if k != name}
                left = self._prices(without, places) if without else {}
                if left is None:
                    self._lack("what of it costs nothing elsewhere")
                    self.outcome.free = {}
                    return
                if sum(left.values()) < best:
                    best, prices, self.outcome.free = sum(left.values()), left, without
                if not left and without:
                    break
            free = self.outcome.free

    def _prices(self, env: Env, places: Sequence[str]) -> dict[str, float] | None:
        """Returns the places where cases are significantly slower than by default, or fail, with
        the sum of the losses as logarithms; None if the time does not hold the launches."""
        prices = {}
        for place in places:
            if not self._holds(2 * LEAST_ROUNDS, "search"):
                return None
            prices[place] = self._price(env, place)
        return {place: price for place, price in prices.items() if price}

    def _price(self, env: Env, place: str) -> float:
        """Returns the loss at a place, as a logarithm. A round without a loss of more than `HARM`
        settles it."""
        rounds: list[dict[str, float]] = []
        for _ in range(LEAST_ROUNDS):
            plain, with_it = (self._bench.elsewhere(variables, place) for variables in ({}, env))
            if isinstance(plain, Failed):
                return 0.0  # nothing is lost
            if isinstance(with_it, Failed):
                return BROKEN
            rounds.append({case: plain[case] - with_it[case] for case in plain if case in with_it})
            if all(gain > -HARM for gain in rounds[-1].values()):
                return 0.0
        common = set.intersection(*map(set, rounds))
        cases = [case for case in rounds[0] if case in common]
        gains = np.array([list(map(round_gains.__getitem__, cases)) for round_gains in rounds])
        estimated = estimate(gains, np.full(len(cases), self._noise().max()))
        if estimated.harms:
            slower = [
                case for case, is_slower in zip(cases, estimated.slower, strict=True) if is_slower
            ]
            self._tell(
                f"{place}: slower with {Candidate(tuple(env.items())).label}: {', '.join(slower)}"
            )
        return float(-estimated.gains[estimated.slower].sum())

    def _offers(self) -> None:
        """Measures values that seem to make one target faster and another slower."""
        if not (candidates := self._triable()):
            return
        work: Work = "search" if self.outcome.taken else "rest"
        effects = self._effects(candidates, np.array(self._by_target))
        split = (effects.max(axis=1) > 2 * HARM) & (effects.min(axis=1) < -2 * HARM)
        order = sorted(np.flatnonzero(split), key=lambda place: -float(effects[place].max()))
        for place in order[:MOST_OFFERS]:
            if not self._holds(2 * LEAST_ROUNDS, work):
                self._lack("what makes some targets alone faster")
                return
            candidate = candidates[int(place)]
            gains = self._against(
                {**self.outcome.taken, **dict(candidate.env)}, "offer", LEAST_ROUNDS, work
            )
            if gains is None:
                continue
            estimated = estimate(gains, self._noise())
            if estimated.harms and (estimated.gains > HARM).any():
                self._offer(candidate, estimated.gains)

    def _take_best(self, running: Sequence[Candidate]) -> bool:
        """Races these candidates, the first ones of too many. True if one was taken."""
        others = [candidate for candidate in running if dict(candidate.env) != self.outcome.taken]
        others = others[:MOST_RACING]
        while others and not self._holds(LEAST_ROUNDS * (len(others) + 1) + WON, self._race_work):
            others.pop()
        if running and not others and not self.outcome.taken:
            self._lack("a race of what seems better, so nothing of it is taken")
        self._undecided = {}
        return self._take_winner(self._race({candidate: [] for candidate in others}, MOST_ROUNDS))

    def _race_on(self) -> bool:
        """Continues the last race with the undecided candidates that seemed better, if nothing was
        taken, in time that no study needs. True if one was taken."""
        if self.outcome.taken or not self._undecided:
            return False
        gains, self._undecided = self._undecided, {}
        return self._take_winner(self._race(gains, MOST_MORE))

    def _take_winner(self, differences: Mapping[Candidate, Sequence[Floats]]) -> bool:
        """Takes the winner of a race; true if one was taken."""
        noise = self._noise()
        estimates = {c: estimate(np.array(gains), noise) for c, gains in differences.items()}
        for candidate in _simplest_first(estimates):
            estimated = estimates[candidate]
            if not estimated.harms and not estimated.better and estimated.mean > LEAST_GAIN:
                self._undecided[candidate] = list(differences[candidate])
            if estimated.harms or not estimated.better:
                continue
            if not self._holds(WON, self._race_work):
                self._lack("fresh rounds of what won the race, so it is not taken")
                return False
            fresh = self._against(dict(candidate.env), "again", LEAST_ROUNDS + 1, self._race_work)
            if fresh is None or not estimate(fresh, self._noise()).better_by(LIKELY):
                continue
            # A few rounds cannot show harm significantly: all rounds are tested together, and the
            # fresh ones with a lower threshold.
            rounds = estimate(np.vstack([differences[candidate], fresh]), self._noise())
            if rounds.harms or estimate(fresh, self._noise()).slower_by(LIKELY).any():
                continue
            if self._take(dict(candidate.env)):
                return True
            self._refuse(candidate, "it worked at first, and then no more")
        return False

    def _offer(self, candidate: Candidate, gains: Floats) -> None:
        self.outcome.offers.append(Offer(candidate, tuple(map(float, gains))))
        self._tell(f"{candidate.label}: faster for some targets alone: {speedups(gains)}")

    def _take(self, env: Env) -> bool:
        """Makes these variables the new reference; false, and unchanged, if they do not work."""
        before, references, scatter = self.outcome.taken, self._references, self._scatter
        self._scatter = [*scatter, *(np.array(references) - np.median(references, axis=0))]
        self._references, self.outcome.taken = [], env
        if not self._reference(TAKEN):
            self._references, self.outcome.taken, self._scatter = references, before, scatter
            return False
        label = Candidate(tuple(env.items())).label
        self._tell(f"taken: {label or 'the library as it is'}")
        return True

    def _race(
        self, gains: dict[Candidate, list[Floats]], rounds: int
    ) -> dict[Candidate, list[Floats]]:
        """Runs at most this many rounds of these candidates and the taken values, in random order.
        Candidates that fall behind leave. `gains`: of earlier rounds.

        Returns the gain of each round, by target, of each candidate that is left.
        """
        racing, run = count(len(gains), "candidate"), 0
        for done in range(1, rounds + 1):
            if not gains or not self._holds(len(gains) + 1 + WON, self._race_work):
                break
            self._round(gains)
            run = done
            noise = self._noise()
            estimates = {
                c: estimate(np.array(candidate_gains), noise)
                for c, candidate_gains in gains.items()
                if candidate_gains
            }
            if not estimates or done < 2:
                continue
            best = max(estimates.values(), key=lambda estimated: estimated.mean)
            near = 0
            for candidate, estimated in estimates.items():
                near += best.mean - estimated.mean <= best.error + estimated.error
                behind = best.mean - estimated.mean > SURE * (best.error + estimated.error)
                hopeless = estimated.mean + LIKELY * estimated.error < LEAST_GAIN
                if behind or hopeless:
                    del gains[candidate]
            if done >= LEAST_ROUNDS and (
                (best.better and near == 1) or not any(map(self._open_still, gains.values()))
            ):
                break
        left = {
            c: candidate_gains
            for c, candidate_gains in gains.items()
            if len(candidate_gains) >= LEAST_ROUNDS
        }
        if run:
            against = "what is taken" if self.outcome.taken else "the library as it is"
            means = "; ".join(f"{c.label}: {speedups(np.mean(left[c], axis=0))}" for c in left)
            summary = f"race of {racing} against {against}, {count(run, 'round')}"
            self._tell(f"{summary}: {means or 'none is ahead'}")
        return left

    def _open_still(self, gains: Sequence[Floats]) -> bool:
        """True if more rounds may decide about a candidate."""
        estimated = estimate(np.array(gains), self._noise())
        return not (estimated.better or estimated.harms)

    def _round(self, gains: dict[Candidate, list[Floats]]) -> None:
        """Runs a round of all candidates. Those that fail are refused and leave."""
        order: list[Candidate | None] = [None, *gains]
        self._chance.shuffle(order)
        by_candidate: dict[Candidate | None, Floats] = {}
        for candidate in order:
            env = self.outcome.taken if candidate is None else dict(candidate.env)
            measured = self._bench.measure(env, "race")
            if not isinstance(measured, Failed):
                by_candidate[candidate] = measured
            elif candidate is not None:
                self._refuse(candidate, measured.why)
                del gains[candidate]
        if None not in by_candidate:
            return
        self._references.append(by_candidate[None])
        for candidate, costs in by_candidate.items():
            if candidate is not None:
                gains[candidate].append(by_candidate[None] - costs)

    def _prune(self) -> None:
        """Drops taken variables that are not needed: halves, then quarters, then single ones,
        beginning with those that seem to matter least."""
        matter = self._matter()
        size = (len(self.outcome.taken) + 1) // 2
        while size:
            names = sorted(self.outcome.taken, key=lambda name: matter[name])
            for start in range(0, len(names), size):
                part = set(names[start : start + size])
                without = {k: v for k, v in self.outcome.taken.items() if k not in part}
                if not (self._holds(DROPPED, "search") and self._holds(WON, "proof")):
                    self._lack("what of it is not needed")
                    return
                if without and without != self.outcome.taken:
                    self._drop(without)
            size = size // 2

    def _matter(self) -> dict[str, float]:
        """Returns how much each taken variable matters by all trials; more is better."""
        candidates = self._triable()
        costs = np.array([cost for _, cost in self._tried])
        effects = dict.fromkeys(self.outcome.taken, -math.inf)
        for candidate, effect in zip(
            candidates, map(float, self._effects(candidates, costs)), strict=True
        ):
            if set(candidate.env) <= set(self.outcome.taken.items()):
                effects.update({name: max(effect, effects[name]) for name, _ in candidate.env})
        return effects

    def _prove(self) -> None:
        """Takes nothing if the rest of the taken values is no better than the default settings."""
        if not self.outcome.taken:
            return
        gains = self._against({}, "default", LEAST_ROUNDS + 1, "proof")
        if gains is None:
            if self._holds(2, "proof"):
                taken = Candidate(tuple(self.outcome.taken.items()))
                self._refuse(taken, "a launch failed while it was held against nothing")
            else:
                self._lack("a proof that it is better than nothing, so it is not taken")
            self.outcome.taken = {}
        elif not estimate(-gains, self._noise()).better_by(LIKELY):
            self._take({})

    def _drop(self, without: Env) -> None:
        """Takes the remaining variables unless they are significantly worse."""
        rounds = []
        for _ in range(LEAST_ROUNDS + 1):
            gains = self._against(without, "without", 1, "search")
            if gains is None:
                return
            rounds.append(gains[0])
            clear = NOISES * float(self._noise().mean())
            if len(rounds) == 2 and max(gain.mean() for gain in rounds) < -clear:
                return  # a single launch may be slow by chance
        if not estimate(-np.array(rounds), self._noise()).better_by(LIKELY):
            self._take(without)

    def _against(self, env: Env, purpose: str, rounds: int, work: Work) -> Floats | None:
        """Returns the gains over the taken values, in rounds of both in random order; None if one
        of them fails, or if the time does not hold the rounds. If the default settings fail, the
        round is repeated, at most `rounds` times, as no setting is to blame."""
        gains: list[Floats] = []
        again = rounds
        while len(gains) < rounds:
            if not self._holds(2, work):
                return None
            costs: Floats | Failed | None = None
            if first := self._chance.random() < 0.5:
                costs = self._bench.measure(env, purpose)
            worked = self._reference(1)
            if not first:
                costs = self._bench.measure(env, purpose)
            failed = [self.outcome.taken] if not worked else []
            if costs is None or isinstance(costs, Failed):
                failed.append(env)
            if failed and not any(failed) and again:
                again -= 1
                continue
            if failed:
                return None
            assert isinstance(costs, np.ndarray)
            gains.append(self._references[-1] - costs)
        return np.array(gains)


def _simplest_first(estimates: Mapping[Candidate, Estimate]) -> list[Candidate]:
    """Sorts candidates by their gain. Those within a standard error of the best come first, the one
    with fewest variables before the others (the rule of one standard error: Breiman et al.,
    Classification and Regression Trees, 1984, 3.4.3)."""
    if not estimates:
        return []
    best = max(estimates.values(), key=lambda estimated: estimated.mean)

    def place(candidate: Candidate) -> tuple[int, float]:
        estimated = estimates[candidate]
        tied = estimated.mean >= best.mean - best.error and not estimated.harms
        return len(candidate.env) if tied else sys.maxsize, -estimated.mean

    return sorted(estimates, key=place)


def speedups(gains: Floats) -> str:
    """`1.02 1.40`: the speedup of each target."""
    return " ".join(f"{math.exp(gain):.2f}" for gain in gains)


def _best_values(
    candidates: Sequence[Candidate], effects: Mapping[Candidate, float]
) -> list[Candidate]:
    """Returns the best value of each variable that matters, the one that matters most first."""
    best: dict[str, Candidate] = {}
    for candidate in candidates:
        other = best.get(candidate.variable)
        if other is None or effects[candidate] > effects[other]:
            best[candidate.variable] = candidate
    mattering = [candidate for candidate in best.values() if effects[candidate] > LEAST_GAIN]
    return sorted(mattering, key=lambda candidate: -effects[candidate])
