# SPDX-License-Identifier: Apache-2.0
"""The search for settings: what is tried next, and what is taken.

It starts from the library as it is and goes up: each value alone on top of what was taken so far,
the promising ones against each other in interleaved rounds, the winner is taken, and all again,
as what limits a message is another thing then. What changes nothing alone is tried in random halves
together, for what helps only in company. At the end what is not needed is dropped.

All that is decided follows from the figures in the order of measurement and from the seed, so that
a search is resumed by playing back what was recorded (trials.py).
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from nearpeak.arrays import Floats

Env = dict[str, str]

SCREENED_BETWEEN = 5  # trials between two launches of the reference: what drifts is seen
REFERENCE = 5  # launches whose median a single trial is held against
MOST_RACING = 8  # candidates side by side
MOST_ROUNDS = 7
LEAST_ROUNDS = 3
LEAST_GAIN = math.log(1.02)  # what is taken makes the targets at least so much faster
SURE = 3.0  # standard errors: of what is taken in the search; the confirmation judges anew
LIKELY = 2.0  # of what was chosen before, by other launches
HARM = math.log(1.05)  # on one target: what costs more there is offered for the others alone
NOISES = 3.0  # of single launches: a trial that is better by so much is promising
LEAST_NOISE = 0.01  # of a launch, relative
HALVES = 20  # random halves of what changes nothing alone: a pair is in one of four
SHARE_OF_HALVES = 0.3  # of the time, at most


class Failed(NamedTuple):
    """A trial without figures: it crashed, hung, was wrong, or the library refused it."""

    why: str


class Bench(Protocol):
    """Who measures."""

    def measure(self, env: Env, why: str) -> Floats | Failed:
        """One launch: the cost of each target (targets.cost), less is better."""

    def check(self, env: Env) -> str:
        """What does not work any more with these variables; empty: all that works without."""

    def left(self) -> float:
        """The share of the time for the search that is left."""


@dataclass(frozen=True)
class Candidate:
    """A value of a setting, or several together."""

    env: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """`NAME=VALUE`, several with blanks between them."""
        return " ".join(f"{name}={value}" for name, value in self.env)

    def on(self, taken: Env) -> Env:
        """What was taken, and this on top of it."""
        return {**taken, **dict(self.env)}


class Offer(NamedTuple):
    """A candidate that makes some targets faster and others slower."""

    candidate: Candidate
    gains: tuple[float, ...]  # of each target, as logarithms


@dataclass
class Outcome:
    """What came of a search."""

    taken: Env = field(default_factory=dict)
    gain: float = (
        0.0  # mean over the targets, as a logarithm, by the search: too good by its choice
    )
    refused: dict[str, str] = field(default_factory=dict)  # by label: why
    offers: list[Offer] = field(default_factory=list)
    tried: int = 0  # candidates


class Search:
    """One search on a bench."""

    def __init__(
        self,
        bench: Bench,
        candidates: Sequence[Candidate],
        seed: int,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._bench = bench
        self._chance = random.Random(seed)
        self._tell = tell
        self._candidates = list(candidates)
        self._own: list[Floats] = []  # launches of what was taken so far
        self._all_own: list[Floats] = []  # the same less their medians, of all that was ever taken
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Searches until nothing helps any more or the time is over."""
        if not self._reference(3):
            return self.outcome
        while self._bench.left() > 0:
            promising, neutral = self._screen(self._open())
            if self._take_best(promising):
                continue
            if not self._company([*neutral, *(candidate for _, candidate in promising)]):
                break
        self._prune()
        return self.outcome

    def _open(self) -> list[Candidate]:
        """What could be put on top of what was taken."""
        taken = self.outcome.taken
        return [
            candidate
            for candidate in self._candidates
            if candidate.label not in self.outcome.refused and candidate.on(taken) != taken
        ]

    def _reference(self, launches: int) -> bool:
        """Measures what was taken so far anew; whether it works."""
        worked = False
        for _ in range(launches):
            if not isinstance(found := self._bench.measure(self.outcome.taken, "taken"), Failed):
                self._own.append(found)
                worked = True
        return worked

    def _noise(self) -> Floats:
        """Of one launch, by target."""
        launches = np.array([*self._all_own, *(np.array(self._own) - np.median(self._own, axis=0))])
        spread = 1.4826 * np.median(np.abs(launches), axis=0)  # of a normal distribution
        return np.asarray(np.maximum(spread, LEAST_NOISE))

    def _screen(
        self, candidates: Sequence[Candidate]
    ) -> tuple[list[tuple[float, Candidate]], list[Candidate]]:
        """One launch of each: the promising ones, and those that change nothing."""
        promising: list[tuple[float, Candidate]] = []
        neutral = []
        for number, candidate in enumerate(candidates):
            if self._bench.left() <= 0:
                break
            if number % SCREENED_BETWEEN == 0:
                self._reference(1)
            self.outcome.tried += 1
            gains = self._gains(candidate)
            if gains is None:
                continue
            noise = self._noise()
            mean, of_mean = float(gains.mean()), float(noise.mean() / math.sqrt(len(noise)))
            if mean < -NOISES * of_mean:  # one launch may be slow by chance
                again = self._gains(candidate)
                if again is None:
                    continue
                gains = np.maximum(gains, again)
                mean = float(gains.mean())
            self._tell(f"{candidate.label}: {words(gains)}")
            if (
                mean > max(LEAST_GAIN, NOISES * of_mean)
                or (gains > np.maximum(HARM, NOISES * noise)).any()
            ):
                promising.append((mean, candidate))
            elif abs(mean) < NOISES * of_mean:
                neutral.append(candidate)
        return sorted(promising, key=lambda each: -each[0]), neutral

    def _gains(self, candidate: Candidate) -> Floats | None:
        """Of one launch against the usual one of what was taken; None where it is refused."""
        found = self._bench.measure(candidate.on(self.outcome.taken), "alone")
        if isinstance(found, Failed):
            self._refuse(candidate, found.why)
            return None
        return np.asarray(np.median(self._own[-REFERENCE:], axis=0) - found)

    def _refuse(self, candidate: Candidate, why: str) -> None:
        self.outcome.refused[candidate.label] = why
        self._tell(f"{candidate.label}: refused: {why}")

    def _take_best(self, promising: Sequence[tuple[float, Candidate]]) -> bool:
        """Whether one of them was taken."""
        running = [candidate for _, candidate in promising[:MOST_RACING]]
        if running and self._bench.left() > 0:
            differences = self._race(running)
            noise = self._noise()
            found = {c: estimate(np.array(gains), noise) for c, gains in differences.items()}
            for candidate in sorted(found, key=lambda each: -found[each].mean):
                own = found[candidate]
                if not own.better:
                    continue
                if own.harms:
                    self._offer(candidate, own.gains)
                    continue
                fresh = self._against(candidate.on(self.outcome.taken), "again", LEAST_ROUNDS + 1)
                if fresh is None or not estimate(fresh, self._noise()).better_by(LIKELY):
                    continue
                if why := self._bench.check(candidate.on(self.outcome.taken)):
                    self._refuse(candidate, why)
                    continue
                if self._take(candidate.on(self.outcome.taken), own.mean):
                    return True
                self._refuse(candidate, "it worked at first, and then no more")
        return False

    def _offer(self, candidate: Candidate, gains: Floats) -> None:
        offer = Offer(candidate, tuple(map(float, gains)))
        self.outcome.offers = [
            each for each in self.outcome.offers if each.candidate != candidate
        ] + [offer]
        self._tell(f"{candidate.label}: faster for some targets alone: {words(gains)}")

    def _take(self, env: Env, gain: float) -> bool:
        """Whether it works as what later candidates are put on top of."""
        before, own, spread = self.outcome.taken, self._own, self._all_own
        self._all_own = [*spread, *(np.array(own) - np.median(own, axis=0))]
        self._own, self.outcome.taken = [], env
        if not self._reference(3):
            self._own, self.outcome.taken, self._all_own = own, before, spread
            return False
        self.outcome.gain += gain
        self._tell(f"taken: {Candidate(tuple(env.items())).label or 'nothing'}")
        return True

    def _race(self, running: Sequence[Candidate]) -> dict[Candidate, list[Floats]]:
        """Rounds of all of them and of what was taken, in random order; who falls behind leaves.

        For each that is left the gain of each round, by target.
        """
        gains: dict[Candidate, list[Floats]] = {candidate: [] for candidate in running}
        for done in range(1, MOST_ROUNDS + 1):
            if self._bench.left() <= 0 or not gains:
                break
            self._round(gains)
            noise = self._noise()
            known = {c: estimate(np.array(found), noise) for c, found in gains.items() if found}
            if not known or done < 2:
                continue
            best = max(known.values(), key=lambda each: each.mean)
            for candidate, own in known.items():
                behind = best.mean - own.mean > SURE * (best.error + own.error)
                hopeless = own.mean + SURE * own.error < LEAST_GAIN
                if (behind or hopeless) and not (own.gains > HARM).any():
                    del gains[candidate]
            if done >= LEAST_ROUNDS and not any(map(self._open_still, gains.values())):
                break
        return {c: found for c, found in gains.items() if len(found) >= LEAST_ROUNDS}

    def _open_still(self, found: Sequence[Floats]) -> bool:
        """Whether more rounds may decide about a candidate."""
        own = estimate(np.array(found), self._noise())
        return not (own.better or own.harms)

    def _round(self, gains: dict[Candidate, list[Floats]]) -> None:
        """Each once; what fails is refused and leaves."""
        order: list[Candidate | None] = [None, *gains]
        self._chance.shuffle(order)
        found: dict[Candidate | None, Floats] = {}
        for candidate in order:
            taken = self.outcome.taken
            env = taken if candidate is None else candidate.on(taken)
            measured = self._bench.measure(env, "race")
            if not isinstance(measured, Failed):
                found[candidate] = measured
            elif candidate is not None:
                self._refuse(candidate, measured.why)
                del gains[candidate]
        if None not in found:
            return
        self._own.append(found[None])
        for candidate, costs in found.items():
            if candidate is not None:
                gains[candidate].append(found[None] - costs)

    def _company(self, neutral: Sequence[Candidate]) -> bool:
        """Whether some of those that change nothing alone helped together, and were taken."""
        until = self._bench.left() * (1 - SHARE_OF_HALVES)
        values = _by_variable(neutral)
        if len(values) < 2:
            return False
        for _ in range(HALVES):
            if self._bench.left() <= until:
                break
            names = sorted(self._chance.sample(sorted(values), (len(values) + 1) // 2))
            chosen = [self._chance.choice(values[name]) for name in names]
            group = together(chosen)
            if not self._helps(group):
                continue
            for size in (2, 4, 8, 16):  # halves, quarters, ...: what is not needed leaves
                chosen = self._reduced(chosen, size)
            if self._take_best([(0.0, together(chosen))]):
                return True
        return False

    def _helps(self, candidate: Candidate) -> bool:
        """Whether two launches of it are both better by more than chance."""
        for _ in range(2):
            found = self._bench.measure(candidate.on(self.outcome.taken), "together")
            if isinstance(found, Failed):
                return False
            gains = np.median(self._own[-REFERENCE:], axis=0) - found
            noise = self._noise()
            if gains.mean() <= max(LEAST_GAIN, NOISES * noise.mean() / math.sqrt(len(noise))):
                return False
            self._reference(1)
        return True

    def _reduced(self, chosen: Sequence[Candidate], parts: int) -> list[Candidate]:
        """Without those parts of them that are not needed."""
        left = list(chosen)
        length = max(1, math.ceil(len(chosen) / parts))
        for start in range(0, len(chosen), length):
            without = [each for each in left if each not in chosen[start : start + length]]
            if without and len(without) < len(left) and self._helps(together(without)):
                left = without
        return left

    def _prune(self) -> None:
        """Drops what was taken and is not needed."""
        for name in list(self.outcome.taken):
            taken = self.outcome.taken
            if len(taken) < 2:
                return
            without = {key: value for key, value in taken.items() if key != name}
            gains = self._against(without, "without", MOST_ROUNDS)
            if gains is None:
                continue
            own = estimate(-gains, self._noise())
            if not own.better_by(LIKELY):
                self._take(without, 0.0)

    def _against(self, env: Env, why: str, rounds: int) -> Floats | None:
        """The gains of rounds of it and of what was taken; None where it fails."""
        gains = []
        for _ in range(rounds):
            self._reference(1)
            found = self._bench.measure(env, why)
            if isinstance(found, Failed):
                return None
            gains.append(self._own[-1] - found)
        return np.array(gains)


class Estimate(NamedTuple):
    """What rounds say of a candidate; as logarithms."""

    gains: Floats  # of each target
    errors: Floats
    mean: float  # over the targets
    error: float

    @property
    def better(self) -> bool:
        """Whether the targets are faster in the mean, or one of them is, beyond chance."""
        return self.better_by(SURE)

    def better_by(self, errors: float) -> bool:
        """The same, by so many standard errors."""
        overall = self.mean > max(LEAST_GAIN, errors * self.error)
        return overall or bool((self.gains > np.maximum(HARM, errors * self.errors)).any())

    @property
    def harms(self) -> bool:
        """Whether a target is slower by more than `HARM`, beyond chance."""
        return bool((-self.gains > np.maximum(HARM, SURE * self.errors)).any())


def estimate(gains: Floats, noise: Floats) -> Estimate:
    """`gains`: rounds x targets; `noise`: of a launch, by target.

    Medians, as some launches are slow by far. The standard error of a median of n normal values is
    1.25 times that of their mean; a few rounds that agree by chance count as if they scattered as
    the launches do.
    """
    means = gains.mean(axis=1)
    whole = np.column_stack([gains, means])
    floor = math.sqrt(2) * np.append(noise, noise.mean() / math.sqrt(len(noise)))
    middle = np.median(whole, axis=0)
    spread = 1.4826 * np.median(np.abs(whole - middle), axis=0)
    errors = 1.25 * np.maximum(spread, floor) / math.sqrt(len(gains))
    return Estimate(middle[:-1], errors[:-1], float(middle[-1]), float(errors[-1]))


def together(candidates: Sequence[Candidate]) -> Candidate:
    """All of them as one."""
    env: Mapping[str, str] = {name: value for each in candidates for name, value in each.env}
    return Candidate(tuple(env.items()))


def words(gains: Floats) -> str:
    """`1.02 1.40`: how many times as fast each target is."""
    return " ".join(f"{math.exp(gain):.2f}" for gain in gains)


def _by_variable(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """By the variable that each is named after, its last one."""
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        found.setdefault(candidate.env[-1][0], []).append(candidate)
    return found
