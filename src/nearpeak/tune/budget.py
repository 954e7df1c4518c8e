# SPDX-License-Identifier: Apache-2.0
"""How a tuning shares its time: until when each kind of its work may begin.

The search has its share, and the study that confirms the rest. What decides whether anything is
taken may begin in the study's time too, as long as a study of the targets alone still fits; where
nothing is taken, no study follows, and all of the time is free.
"""

from dataclasses import dataclass
from typing import Literal

from nearpeak.study.fit import BUDGET_SHARE, OVERTIME
from nearpeak.terms.left_out import LEAST_BLOCKS
from nearpeak.terms.sizes import format_seconds

SEARCHED = 0.55  # of the time; what is left is for the study that confirms
TRIED = 0.75  # of the search's time, at most, for trials; what is left is for dropping and proving
# Launches of a study of the targets alone: blocks of the library as it is, tuned, and a ceiling,
# and a trial of each before.
STUDIED = 3 * (LEAST_BLOCKS + 1)

# "search": what makes better what is taken; "proof": what decides whether anything is;
# "rest": what is asked where nothing is.
Work = Literal["search", "proof", "rest"]


@dataclass(frozen=True)
class Budget:
    """Seconds that a tuning has, from when so many were spent by a budget before."""

    seconds: float
    begins: float = 0.0

    @property
    def ends(self) -> float:
        """When all of it is spent."""
        return self.begins + self.seconds

    def until(self, work: Work, launch: float) -> float:
        """When work of this kind must have ended. `launch`: seconds of a usual one; 0: not
        known."""
        search = self.begins + SEARCHED * self.seconds
        if work == "search":
            return search
        if work == "rest":
            return self.ends
        return max(search, self.ends - STUDIED * launch * OVERTIME / BUDGET_SHARE)

    def trials_until(self, launch: float, to_come: float) -> float:
        """When trials must have ended, so that `to_come` seconds of proof follow."""
        most = self.begins + TRIED * SEARCHED * self.seconds
        return min(most, self.until("proof", launch) - to_come)

    def study_seconds(self, spent: float) -> float:
        """The budget of the study where so much was spent: a study may take longer than its own
        (docs/study.md, "Budget"), and that fits too."""
        return max(0.0, self.ends - spent) / OVERTIME

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
