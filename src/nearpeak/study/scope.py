# SPDX-License-Identifier: Apache-2.0
"""The parts of a plan that are still measured, block by block, as a value that is never changed.

To ask "what if", derive a scope (`leaving_out`) and query it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nearpeak.planning.plan import Plan, Role
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL


class Unit(NamedTuple):
    """The part of a study that is done, or given up, on its own: a variant of a launch; a whole
    ceiling."""

    template: int  # index into Plan.launches
    variant: int | None  # index into Plan.variants


def units_of(template: int, variants: Sequence[int]) -> list[Unit]:
    """Returns the units of these variants of a launch; a ceiling, which has none, is one unit."""
    return [Unit(template, number) for number in variants] or [Unit(template, None)]


@dataclass(frozen=True)
class Scope:
    """A plan with the units that are done, skipped, left out or given up."""

    plan: Plan
    # First block in which a unit is not measured any more.
    done: Mapping[Unit, int] = field(default_factory=dict)
    skipped: Mapping[Unit, tuple[range, ...]] = field(default_factory=dict)  # earlier blocks
    dropped: frozenset[int] = frozenset()  # indexes into Plan.spare of what was left out
    given_up: frozenset[Unit] = frozenset()

    def is_done(self, unit: Unit, block: int) -> bool:
        """True if a unit is not measured in a block."""
        launch = self.plan.launches[unit.template]
        if block < launch.since:
            return True
        skipped = self.skipped.get(unit, ())
        local = self.plan.find_path(launch.path).transport == "local"
        if local and block >= FEWEST_FOR_INTERVAL + sum(map(len, skipped)):
            return True
        if any(block in blocks for blocks in skipped):
            return True
        return self.done.get(unit, block + 1) <= block

    def going(self, block: int) -> list[Unit]:
        """Returns the units that are measured in a block."""
        return [unit for unit in self._units() if not self.is_done(unit, block)]

    def of_role(self, role: Role) -> list[Unit]:
        """Returns the units of libraries, or of ceilings, in the order of the plan."""
        return [
            unit
            for index, launch in enumerate(self.plan.launches)
            if launch.role == role
            for unit in units_of(index, launch.variants)
        ]

    def kept(self) -> list[Unit]:
        """Returns the units of libraries, except those left out: more time does not help these."""
        return [unit for unit in self.of_role("mpi") if not self._is_left_out(unit)]

    def is_part(self, unit: Unit, number: int) -> bool:
        """True if a unit is a part of an entry of Plan.spare."""
        launch, spare = self.plan.launches[unit.template], self.plan.spare[number]
        if spare.contender is not None and launch.contender != spare.contender:
            return False
        return launch.path in spare.paths or unit.variant in spare.variants

    def ending(self, units: Iterable[Unit], block: int) -> "Scope":
        """Returns the scope without these units from a block on, if they were not done before."""
        return replace(self, done={**dict.fromkeys(units, block), **self.done})

    def ending_ceilings(self, block: int) -> "Scope":
        """Returns the scope without the ceilings of units that are all done in a block."""
        unused = [
            unit
            for unit in self.of_role("ceiling")
            if unit not in self.done
            and all(self.is_done(user, block) for user in self._users(unit.template))
        ]
        return self.ending(unused, block)

    def giving_up(self, units: Iterable[Unit]) -> "Scope":
        """Returns the scope in which these units, and no others, are given up."""
        return replace(self, given_up=frozenset(units))

    def leaving_out(self, spares: Iterable[int], block: int) -> "Scope":
        """Returns the scope without entries of Plan.spare from a block on, and without the ceilings
        of what is not measured any more."""
        scope = self
        for number in spares:
            part = (unit for unit in self._units() if self.is_part(unit, number))
            earliest = {unit: min(block, scope.done.get(unit, block)) for unit in part}
            dropped = scope.dropped | {number}
            scope = replace(scope, done={**scope.done, **earliest}, dropped=dropped)
            scope = scope.ending_ceilings(block)
        return scope

    def going_on(self, units: Iterable[Unit], block: int) -> "Scope":
        """Returns the scope with what is done of these units because it was precise, and with the
        ceilings of any of them, from a block on."""
        again = self._precise(units)
        done = {unit: first for unit, first in self.done.items() if unit not in again}
        gaps = {
            unit: (*self.skipped.get(unit, ()), range(self.done[unit], block)) for unit in again
        }
        return replace(self, done=done, skipped={**self.skipped, **gaps})

    def _precise(self, units: Iterable[Unit]) -> set[Unit]:
        """Returns those of these units that are done because they were judged precise, and neither
        given up nor left out; with the ceilings of any of them."""
        precise = {
            unit for unit in self.done if unit not in self.given_up and not self._is_left_out(unit)
        }
        wanted = precise.intersection(units)
        ceilings = [
            ceiling
            for ceiling in self.of_role("ceiling")
            if ceiling in precise and not wanted.isdisjoint(self._users(ceiling.template))
        ]
        return wanted.union(ceilings)

    def _units(self) -> list[Unit]:
        return [*self.of_role("mpi"), *self.of_role("ceiling")]

    def _is_left_out(self, unit: Unit) -> bool:
        return any(self.is_part(unit, number) for number in self.dropped)

    def _users(self, ceiling: int) -> list[Unit]:
        """Returns the units of libraries that are measured below a ceiling; for local memory, all
        of them."""
        path = self.plan.launches[ceiling].path
        users = [
            unit for unit in self.of_role("mpi") if self.plan.launches[unit.template].path == path
        ]
        return users or self.of_role("mpi")
