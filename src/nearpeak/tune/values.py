# SPDX-License-Identifier: Apache-2.0
"""The values of a search: their trials, those that failed, and how much each matters."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.terms.logs import brief
from nearpeak.tune.candidates import Candidate, agreeing, together
from nearpeak.tune.estimate import HARM, LEAST_GAIN, effects_of

NEW = 8  # values of a trial, at first, that have not worked in an earlier one
MORE_NEW = 2  # of these, after each trial that works
MOST_FAILING = 2  # values with the same needs: if this many fail, all do
PENALTY = 2.0  # of the loss of a target compared with default settings, beyond `HARM`
PER_VALUE = LEAST_GAIN / 8  # the cost of a value: of equal trials the one with fewer values wins


class Tried(NamedTuple):
    """Values that worked in a launch, and their cost."""

    values: frozenset[Candidate]
    cost: float


class Values:
    """All values of a search, single ones with their needs."""

    def __init__(self, candidates: Iterable[Candidate], tell: Callable[[str], None]) -> None:
        self.every = list(dict.fromkeys(candidates))
        self.trials: list[Tried] = []
        self.refused: dict[str, str] = {}  # reasons, by label
        self.worked: set[Candidate] = set()
        self._tell = tell
        self._failures: Counter[Candidate] = Counter()  # failed trials
        self._failed: set[frozenset[tuple[str, str]]] = set()  # variables of failed launches
        self._most_new = NEW

    def working(self, values: Iterable[Candidate]) -> list[Candidate]:
        """Leaves out values that were refused."""
        return [candidate for candidate in values if candidate.label not in self.refused]

    def untried(self) -> list[Candidate]:
        """Returns the values that have neither worked nor been refused."""
        return [c for c in self.working(self.every) if c not in self.worked]

    def within(self, settings: Candidate) -> list[Candidate]:
        """Returns the values that these settings contain."""
        return [c for c in self.every if set(c.env) <= set(settings.env)]

    def of_trial(
        self, proposed: Sequence[Candidate], shuffle: Callable[[list[Candidate]], None]
    ) -> list[Candidate]:
        """Returns the values that a trial tries: leaves out those that contradict others or were
        refused, and all but a few that have not worked yet. If the trial fails, it is one of
        these. Leaves out further ones until the rest has not failed."""
        values = agreeing(self.working(proposed))
        new = [candidate for candidate in values if candidate not in self.worked]
        shuffle(new)
        new.sort(key=lambda candidate: self._failures[candidate])
        chosen = [candidate for candidate in values if candidate not in new]
        chosen += new[: self._most_new]
        while self.have_failed(together(chosen)):
            chosen.pop()
        return [candidate for candidate in values if candidate in chosen]

    def learn(self, values: Collection[Candidate], costs: Floats, default: Floats) -> float:
        """Adds a trial that worked, and returns its cost: the mean over the targets, plus a penalty
        for each that is slower than by `default`, and a little for each value."""
        slower = np.maximum(0.0, costs - default - HARM)
        cost = float(costs.mean() + PENALTY * np.sum(slower)) + PER_VALUE * len(values)
        self.trials.append(Tried(frozenset(values), cost))
        self.worked.update(values)
        self._most_new += MORE_NEW if values else 0
        return cost

    def suspect(self, values: Sequence[Candidate]) -> Candidate | None:
        """Takes in that these values failed together. Returns the only one that has not worked yet;
        None if there are several, and the next trials have fewer of them."""
        self.fail(together(values))
        new = [candidate for candidate in values if candidate not in self.worked]
        self._failures.update(new)
        self._most_new = max(1, len(new) // 2)
        return new[0] if len(new) == 1 else None

    def fail(self, settings: Candidate) -> None:
        """Takes in that these settings failed: no other ones, as a part of them may work."""
        self._failed.add(frozenset(settings.env))

    def have_failed(self, settings: Candidate) -> bool:
        """True if exactly these settings failed."""
        return frozenset(settings.env) in self._failed

    def refuse(self, candidate: Candidate, reason: str) -> None:
        """Refuses a value; and all values with the same needs, if none has worked with them."""
        self.fail(candidate)
        self.refused[candidate.label] = brief(reason)
        self._tell(f"{candidate.label}: refused: {brief(reason)}")
        needs = candidate.env[:-1]
        alike = [other for other in self.every if needs and other.env[:-1] == needs]
        rest = self.working(alike)
        if self.worked.isdisjoint(alike) and rest and len(alike) - len(rest) >= MOST_FAILING:
            needed = Candidate(needs).label
            self.refused.update({other.label: f"nothing worked with {needed}" for other in rest})
            self._tell(f"{needed}: not tried further, nor what needs it")

    def were_tried(self, values: Collection[Candidate]) -> bool:
        """True if a trial with exactly these values has worked."""
        return any(trial.values == frozenset(values) for trial in self.trials)

    def best(self, most: int) -> list[list[Candidate]]:
        """Returns the values of the best trials, at most `most`, without trials that failed later
        or have values that were refused."""
        trials = sorted(filter(self._works, self.trials), key=lambda trial: trial.cost)
        return [
            [candidate for candidate in self.every if candidate in trial.values]
            for trial in trials[:most]
        ]

    def _works(self, trial: Tried) -> bool:
        """True if the trial has values, which have failed neither alone nor together."""
        values = list(trial.values)
        is_whole = self.working(values) == values
        return bool(values) and is_whole and not self.have_failed(together(values))

    def by_effect(self, settings: Candidate) -> list[str]:
        """Returns the variables of these settings, first those that matter least by all trials."""
        rows = np.array([self._row(trial.values) for trial in self.trials])
        effects = effects_of(rows, np.array([trial.cost for trial in self.trials]))
        by_value = dict(zip(self.every, map(float, effects), strict=True))
        matter = dict.fromkeys(dict(settings.env), -math.inf)
        for candidate in self.within(settings):
            effect = by_value[candidate]
            matter.update({name: max(effect, matter[name]) for name, _ in candidate.env})
        return sorted(matter, key=matter.__getitem__)

    def _row(self, values: Container[Candidate]) -> list[float]:
        return [float(candidate in values) for candidate in self.every]
