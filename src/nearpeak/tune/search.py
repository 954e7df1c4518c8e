# SPDX-License-Identifier: Apache-2.0
"""The search for settings: proposes trials, and decides which values are taken.

1. Hints: the named values and the measured ceilings, each alone, in rounds with the default
   settings.
2. Trials of many values together, since a launch with twenty values has information on all of them:
   the hints that help, then what Optuna's TPE sampler proposes from all trials so far.
3. Dropping: the best trials and hints are compared in rounds, and values that the best of them does
   not need are left out.
4. Proof: fresh rounds with the default settings, and all that worked must still work.

Rounds are interleaved. benchmarks/tune_search.py has simulations.

All decisions follow from the figures, in the order of measurement, and from the seed. A search is
therefore resumed by playing back the recorded launches (trials.py).
"""

import math
import random
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nearpeak.arrays import Floats
from nearpeak.numbers import count
from nearpeak.terms.logs import brief
from nearpeak.terms.sizes import format_seconds
from nearpeak.tune.bench import Bench, Failed
from nearpeak.tune.budget import Work
from nearpeak.tune.candidates import Candidate, Env, together
from nearpeak.tune.elsewhere import Elsewhere
from nearpeak.tune.estimate import LIKELY, SURE, speedups
from nearpeak.tune.rounds import DEFAULT, Compared, Rounds
from nearpeak.tune.sampler import Sampler
from nearpeak.tune.values import Values

FIRST = 3  # launches of default settings
HINT_ROUNDS = (2, 6)  # at least and at most; six have a 95 % interval
SHARE_HINTS = 0.2  # of the time for trials, for more rounds than the least
REFERENCE_EVERY = 10  # trials between two launches of default settings, which show drift
MOST_AGAIN = 8  # repeated trials: nothing new is proposed
SHORT_LIST = 3  # of the best trials
LIST_ROUNDS = (2, 3)  # of these
DROP_ROUNDS = (2, 3)
PROOF_ROUNDS = (6, 14)
MOST_TURNS = 3  # settings that are to be proved
PROOF = 2 * PROOF_ROUNDS[0]  # launches
# Launches after trials: a short list of two, leaving out a part, and the proof.
TO_COME = LIST_ROUNDS[0] * 3 + DROP_ROUNDS[0] * 2 + PROOF


class Calibration(NamedTuple):
    """The library's own cost model with ceilings, and no other settings."""

    candidate: Candidate
    gains: Floats  # rounds x targets, over default settings


@dataclass
class Outcome:
    """The result of a search."""

    taken: Env = field(default_factory=dict)
    free: Env = field(default_factory=dict)  # the part of `taken` that costs nothing elsewhere
    refused: dict[str, str] = field(default_factory=dict)  # reasons, by label
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
    ) -> None:
        """`candidates`: single values, each with its needs; the first `first` ones are hints, tried
        alone before all others. `calibrated`: further values, tried together with these."""
        self._bench = bench
        self._seed = seed
        self._tell = tell
        self._chance = random.Random(seed)
        self._rounds = Rounds(bench, self._chance)
        self._values = Values([*candidates, *calibrated], tell)
        self._hints = list(candidates[:first])
        self._calibrated = calibrated
        self._helping: list[Candidate] = []  # hints that are better alone
        self.outcome = Outcome(refused=self._values.refused)

    def run(self) -> Outcome:
        """Searches, and continues as long as time is added."""
        if not self._start():
            return self.outcome
        self._try_hints()
        while True:
            self._sample()
            self._settle()
            if not self._bench.time_added():
                return self.outcome
            self.outcome.lacking = []

    def _start(self) -> bool:
        """Launches the default settings; false if none of these launches worked."""
        launched = [self._rounds.launch(DEFAULT, "default") for _ in range(FIRST)]
        reasons = [costs.why for costs in launched if isinstance(costs, Failed)]
        if len(reasons) == FIRST:
            self._tell(f"the library as it is: {brief(reasons[-1])}")
            return False
        self._values.learn([], self._rounds.default, self._rounds.default)
        self._bench.check({})  # its duration must be known to plan the later ones
        values = len(self._values.every)
        if seconds := self._bench.foreseen(values):
            self._tell(
                f"{values} values are tried many at a time: one launch for each would need a"
                f" --budget of about {format_seconds(seconds)}"
            )
        return True

    # 1. Hints.

    def _try_hints(self) -> None:
        """Compares each hint with the default settings."""
        model = self._model()
        least, most = HINT_ROUNDS

        def goes_on(compared: Compared) -> bool:
            return self._bench.left() > (0.0 if compared.rounds < least else 1.0 - SHARE_HINTS)

        hints = dict.fromkeys([*self._hints, *model])
        compared = self._compare(DEFAULT, list(hints), "alone", most, goes_on)
        for candidate in model:
            if candidate in compared.estimates:
                self.outcome.calibration = Calibration(candidate, compared.gains[candidate])
        estimates = compared.estimates
        for hint in sorted(estimates, key=lambda hint: -estimates[hint].mean):
            estimated, values = estimates[hint], self._values.within(hint)
            self._learn(values, self._rounds.default - estimated.gains)
            self._tell(f"{hint.label}: {speedups(estimated.gains)}")
            if estimated.better_by(LIKELY) and not estimated.harms:
                self._helping += values

    def _model(self) -> list[Candidate]:
        """Returns the measured ceilings together, as one hint; none if they fail together. Those
        that fail alone are refused."""
        values = list(self._calibrated)
        while values and self._bench.left() > 0:
            if not math.isnan(self._try(values, "calibrated")):
                return [together(values)]
            for value in values if len(values) > 1 else []:
                self._try([value], "which")
            working = self._values.working(values)
            if working == values:
                break
            values = working
        return []

    # 2. Trials of values together.

    def _sample(self) -> None:
        """Tries values together until the time is over, or until nothing new is proposed."""
        sampler = Sampler(self._values.every, self._seed)
        for trial in self._values.trials:
            sampler.learn(trial.values, trial.cost)
        helping = self._values.working(self._helping)
        number = again = 0
        while self._bench.left() > 0 and again <= MOST_AGAIN:
            number += 1
            if number % REFERENCE_EVERY == 0:
                self._rounds.launch(DEFAULT, "default")
            proposed = helping if number == 1 and len(helping) > 1 else sampler.ask()
            values = self._values.of_trial(proposed, self._chance.shuffle)
            if not values or self._values.were_tried(values):
                new = self._values.of_trial(self._values.untried(), self._chance.shuffle)
                again += not new
                values = new or values
            if values:
                sampler.learn(values, self._try(values, "together"))
        if not number:
            self._lack("trials of values together")

    def _try(self, values: Sequence[Candidate], purpose: str) -> float:
        """Launches the values together, and returns the cost; nan if it failed. A value that alone
        can be to blame is launched by itself, and refused if it fails."""
        costs = self._rounds.launch(together(values), purpose)
        if not isinstance(costs, Failed):
            name = values[0].label if len(values) == 1 else f"{len(values)} values together"
            self._tell(f"{name}: {speedups(self._rounds.default - costs)}")
            return self._learn(values, costs)
        if len(values) == 1:
            self._values.refuse(values[0], costs.why)
        elif (suspect := self._values.suspect(values)) is not None:
            self._try([suspect], "which")
        return math.nan

    def _learn(self, values: Sequence[Candidate], costs: Floats) -> float:
        cost = self._values.learn(values, costs, self._rounds.default)
        self.outcome.tried = len(self._values.worked)
        return cost

    # 3. Dropping.

    def _settle(self) -> None:
        """Takes the best settings without what they do not need, if they are proved; else others
        that are nearly as good."""
        given_up: set[Candidate] = set()
        for _ in range(MOST_TURNS):
            best = self._best(given_up)
            if best is None:
                break
            given_up.add(best)
            best = self._dropped(best)
            if self._works(best) and self._is_proved(best) and self._is_whole(best):
                self._take(best)
                break
        self._drop_failed()

    def _best(self, given_up: Container[Candidate]) -> Candidate | None:
        """Returns the best of what is taken, the hints and the trials, by rounds with the default
        settings; None if none is better."""
        least, most = LIST_ROUNDS
        listed = [candidate for candidate in self._short_list() if candidate not in given_up]
        fitting = [
            candidate
            for launches, candidate in enumerate(listed, 2)
            if self._holds(least * launches + PROOF, "proof")
        ]
        if listed and not fitting:
            self._lack("rounds with the best trials, so nothing of them is taken")
        goes_on = self._until_decided(least, PROOF)
        compared = self._compare(DEFAULT, fitting, "best", most, goes_on)
        return compared.best

    def _short_list(self) -> list[Candidate]:
        """Returns the best trial, what is taken, the hints that help, and further trials, without
        settings that failed."""
        trials = [together(values) for values in self._values.best(SHORT_LIST)]
        taken = Candidate(tuple(self.outcome.taken.items()))
        helping = together(self._values.working(self._helping))
        listed = dict.fromkeys([*trials[:1], taken, helping, *trials[1:]])
        return [settings for settings in listed if settings.env and self._works(settings)]

    def _works(self, settings: Candidate) -> bool:
        return not self._values.have_failed(settings)

    def _dropped(self, best: Candidate) -> Candidate:
        """Leaves out variables that are not needed: all of a part, or else of its halves, down to
        single ones. Begins with those that seem to matter least, and ends if all of them fail."""
        launches = 2 * DROP_ROUNDS[0]
        parts = [self._values.by_effect(best)]
        while parts and self._works(best):
            part = parts.pop(0)
            without = Candidate(tuple(pair for pair in best.env if pair[0] not in part))
            if not (self._holds(launches, "search") and self._holds(launches + PROOF, "proof")):
                self._lack("what of it is not needed")
                break
            if without.env and self._works(without) and self._is_as_good(without, best):
                best = without
            elif len(part) > 1:
                middle = (len(part) + 1) // 2
                parts[:0] = [part[:middle], part[middle:]]
        return best

    def _is_as_good(self, without: Candidate, best: Candidate) -> bool:
        """True if the settings without a part lose nothing beyond noise, in no fewer than the least
        rounds: fewer are left where the settings with the part fail, and one of them may be chance.
        """
        least, most = DROP_ROUNDS

        def goes_on(compared: Compared) -> bool:
            fits = self._holds(compared.launches + PROOF, "proof")
            is_worse = any(e.worse_by(SURE) for e in compared.estimates.values())
            return fits and (compared.rounds < least or not is_worse)

        compared = self._compare(best, [without], "without", most, goes_on)
        estimated = compared.estimates.get(without)
        if estimated is None or compared.rounds < least:
            return False
        return not estimated.worse_by(LIKELY)

    # 4. Proof.

    def _is_proved(self, best: Candidate) -> bool:
        """True if fresh rounds show that the settings are better than the default ones, and no
        target slower."""
        least, most = PROOF_ROUNDS
        compared = self._compare(DEFAULT, [best], "proof", most, self._until_decided(least, 0))
        if best in compared.failed:
            return False
        if compared.rounds < least:
            self._say_unproved(best, compared)
            return False
        estimated = compared.estimates[best]
        if estimated.is_open and compared.rounds < most:
            rounds = count(compared.rounds, "round")
            times = f"{speedups(estimated.gains)} times as fast in {rounds} so far"
            self._lack(f"rounds that tell whether {best.label} is better: {times}")
        return estimated.is_proof

    def _say_unproved(self, best: Candidate, compared: Compared) -> None:
        """Says why there were too few rounds for a proof: there was no time for more, or launches
        of the default settings failed, which more time does not mend."""
        lost = ""
        if compared.lost:
            rounds = count(len(compared.lost), "round")
            lost = f"the library as it is failed in {rounds}: {brief(compared.lost[-1])}"
        if lost and self._holds(compared.launches, "proof"):
            self._tell(f"{best.label}: not proved, so it is not taken: {lost}")
            return
        unproved = "a proof that it is better than the default settings, so it is not taken"
        self._lack(f"{unproved} ({lost})" if lost else unproved)

    def _is_whole(self, best: Candidate) -> bool:
        """True if all that worked still works."""
        reason = self._bench.check(dict(best.env))
        if reason is None:
            self._lack("whether all that worked still works with it, so it is not taken")
        elif reason:
            self._values.fail(best)
            self._refuse_breaking(best, reason)
        return reason == ""

    def _refuse_breaking(self, best: Candidate, reason: str) -> None:
        """Refuses the values that break an operation; all of them if each was checked and none does
        alone."""
        values = self._values.within(best)
        ends = {candidate: self._broken_alone(candidate) for candidate in values}
        if len(values) == 1:
            ends = {values[0]: ends[values[0]] or reason}  # nothing else can be to blame
        breaking = {candidate: alone for candidate, alone in ends.items() if alone}
        if not breaking and None in ends.values():
            self._lack(f"which value of {best.label} breaks what worked ({brief(reason)})")
        elif not breaking:
            breaking = dict.fromkeys(values, f"together: {reason}")
        for candidate, alone in breaking.items():
            self._values.refuse(candidate, alone)

    def _broken_alone(self, candidate: Candidate) -> str | None:
        """Checks this value alone, as Bench.check; None: no time is left."""
        return self._bench.check(dict(candidate.env)) if self._holds(0, "proof") else None

    def _take(self, best: Candidate) -> None:
        self._tell(f"taken: {best.label}")
        noise = self._rounds.noise()
        elsewhere = Elsewhere(self._bench, noise, self._tell, self._values.have_failed)
        self.outcome.taken = dict(best.env)
        self.outcome.free, omission = elsewhere.free(self.outcome.taken)
        if omission:
            self._lack(omission)

    def _drop_failed(self) -> None:
        """Gives up what was taken if it failed since, as more time brings further launches."""
        if not self._works(Candidate(tuple(self.outcome.taken.items()))):
            self.outcome.taken, self.outcome.free = {}, {}
        if not self._works(Candidate(tuple(self.outcome.free.items()))):
            self.outcome.free = {}

    # All of them.

    def _compare(
        self,
        base: Candidate,
        others: Sequence[Candidate],
        purpose: str,
        most: int,
        goes_on: Callable[[Compared], bool],
    ) -> Compared:
        """Compares settings as Rounds does, and refuses those that fail."""
        compared = self._rounds.compare(base, others, purpose, most, goes_on)
        for settings, reason in compared.failed.items():
            self._values.refuse(settings, reason)
        return compared

    def _until_decided(self, least: int, to_come: int) -> Callable[[Compared], bool]:
        """Returns a function for Rounds.compare: another round follows if there were fewer than the
        least, or if one of the settings is undecided, as far as the time holds it and `to_come`
        launches."""

        def goes_on(compared: Compared) -> bool:
            fits = self._holds(compared.launches + to_come, "proof")
            return fits and (compared.rounds < least or compared.is_open)

        return goes_on

    def _holds(self, launches: int, work: Work) -> bool:
        """True if the time holds this many launches and the check."""
        return self._bench.holds(launches, 1, work)

    def _lack(self, omission: str) -> None:
        """Prints once that the time did not hold this."""
        if omission not in self.outcome.lacking:
            self.outcome.lacking.append(omission)
            self._tell(f"no time for: {omission}")
