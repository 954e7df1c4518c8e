# SPDX-License-Identifier: Apache-2.0
"""How a tuning shares its time: until when each kind of its work may begin.

The search has its share, and the study that confirms the rest. What decides whether anything is
taken may begin in the study's time too, as long as the least study still fits. Where the search has
taken nothing, that time is lent to all of it, so that it goes on; and where nothing is taken in the
end, no study follows, and all of the time is free.
"""

from dataclasses import dataclass
from typing import Literal

from nearpeak.study.fit import OVERTIME
from nearpeak.terms.sizes import format_seconds

SEARCHED = 0.55  # of the time; what is left is for the study that confirms
TRIED = 0.75  # of the search's time, at most, for trials; what is left is for dropping and proving
# Of the study, which then leaves out all that it may; with none it would have no budget.
LEAST_SECONDS = 1.0
# "search": what makes better what is taken; "proof": what decides whether anything is;
# "rest": what is asked where nothing is.
Work = Literal["search", "proof", "rest"]


@dataclass(frozen=True)
class Budget:
    """Seconds that a tuning has, from when so many were spent by a budget before; `study`: those
    of the least study that confirms, all in all."""

    seconds: float
    begins: float = 0.0
    study: float = 0.0
    lent: bool = False  # what the least study does not need, to all of the search

    @property
    def ends(self) -> float:
        """When all of it is spent."""
        return self.begins + self.seconds

    def until(self, work: Work) -> float:
        """When work of this kind must have ended."""
        search = self.begins + SEARCHED * self.seconds
        proof = max(search, self.ends - self.study)
        ends = {"search": proof if self.lent else search, "proof": proof, "rest": self.ends}
        return ends[work]

    def trials_until(self, to_come: float) -> float:
        """When trials must have ended, so that `to_come` seconds of proof follow."""
        most = self.begins + TRIED * SEARCHED * self.seconds
        last = self.until("proof") - to_come
        return last if self.lent else min(most, last)

    def that_holds(self, trials: float) -> float:
        """Seconds of a budget with so many for trials, after what was spent before it."""
        return max(trials / (TRIED * SEARCHED), self.study / (1.0 - SEARCHED))

    def study_seconds(self, spent: float) -> float:
        """The budget of the study where so much was spent: a study may take longer than its own
        (docs/study.md, "Budget"), and that fits too."""
        return max(LEAST_SECONDS, self.ends - spent) / OVERTIME

    def overdrawn(self, spent: float) -> str:
        """Why more was spent; empty where it was not, or by less than a tenth."""
        if spent <= self.begins + 1.1 * self.seconds:
            return ""
        return (
            f"It took {format_seconds(spent - self.begins)}, beyond the budget of"
            f" {format_seconds(self.seconds)}: launches took longer than those before them"
        )

    def unused(self, spent: float) -> float:
        """Seconds that are left where nothing is to be confirmed; 0: hardly any."""
        left = self.ends - spent
        return left if left > 0.05 * self.seconds else 0.0
