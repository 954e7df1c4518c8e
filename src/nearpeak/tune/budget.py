# SPDX-License-Identifier: Apache-2.0
"""Deadlines of a tuning: when each kind of its work must have ended.

The search has a share of the time, and the study that confirms has the rest. Launches that decide
whether anything is taken may run into the study's share, as long as the smallest study still fits.
"""

from dataclasses import dataclass
from typing import Literal

from nearpeak.planning.fit import OVERTIME
from nearpeak.terms.sizes import format_seconds

SEARCHED = 0.55  # of the time; the rest is for the study that confirms
TRIED = 0.75  # of the search's time, at most, for trials; the rest is for dropping and proving
# Of the study, which then leaves out all optional parts.
LEAST_SECONDS = 1.0
# "search": improves what is to be taken; "proof": decides whether anything is taken.
Work = Literal["search", "proof"]


@dataclass(frozen=True)
class Budget:
    """Seconds that a tuning has, counted from `begins` seconds of earlier budgets. `study`: seconds
    of the smallest confirming study, overrun included."""

    seconds: float
    begins: float = 0.0
    study: float = 0.0

    @property
    def ends(self) -> float:
        """The end of the budget, in seconds of the whole tuning."""
        return self.begins + self.seconds

    def until(self, work: Work) -> float:
        """Returns the deadline of this kind of work."""
        search = self.begins + SEARCHED * self.seconds
        return search if work == "search" else max(search, self.ends - self.study)

    def trials_until(self, to_come: float) -> float:
        """Returns the deadline of trials, so that `to_come` seconds of proof follow."""
        most = self.begins + TRIED * SEARCHED * self.seconds
        return min(most, self.until("proof") - to_come)

    def that_holds(self, trials: float) -> float:
        """Returns the seconds of a budget that has `trials` seconds for trials, after the time
        already spent."""
        return max(trials / (TRIED * SEARCHED), self.study / (1.0 - SEARCHED))

    def study_seconds(self, spent: float) -> float:
        """Returns the budget of the study after `spent` seconds. A study may exceed its budget
        (docs/methods/budget.md), and the excess fits too."""
        return max(LEAST_SECONDS, self.ends - spent) / OVERTIME

    def overdrawn(self, spent: float) -> str:
        """Returns a sentence about an exceeded budget; empty up to a tenth more than the budget."""
        if spent <= self.begins + 1.1 * self.seconds:
            return ""
        return (
            f"It took {format_seconds(spent - self.begins)}, beyond the budget of"
            f" {format_seconds(self.seconds)}: launches took longer than those before them"
        )

    def unused(self, spent: float) -> float:
        """Returns the seconds that are left if no study follows; 0 if hardly any."""
        left = self.ends - spent
        return left if left > 0.05 * self.seconds else 0.0
