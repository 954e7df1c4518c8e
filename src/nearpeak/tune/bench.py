# SPDX-License-Identifier: Apache-2.0
"""The interface between a search and its launches."""

from typing import NamedTuple, Protocol

from nearpeak.arrays import Floats
from nearpeak.tune.budget import Work
from nearpeak.tune.candidates import Env


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
