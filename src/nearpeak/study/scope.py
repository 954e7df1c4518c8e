# SPDX-License-Identifier: Apache-2.0
"""The parts of a plan that are still measured, block by block, as a value that is never changed.

To ask "what if", derive a scope (`leaving_out`) and query it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nearpeak.planning.plan import Plan, Role, Spare
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL


class Unit(NamedTuple):
    """The part of a study that is done, or given up, on its own: a variant of a launch; a whole
    ceiling."""

    template: int  # index into Plan.launches
    variant: int | None  # index into Plan.variants


def units_of(template: int, variants: Sequence[int]) -> list[Unit]:
    """Returns the units of these variants of a launch; a ceiling, which has none, is one unit."""
    return [Unit(template, number) for number in variants] or [Unit(template, None)]


class Units:
    """All units of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.libraries = self._of_role("mpi")
        # Those of libraries that are measured below a ceiling; for local memory, all of them.
        self.below = {ceiling: self._below(ceiling) for ceiling in self._of_role("ceiling")}
        self.all = [*self.libraries, *self.below]
        local = {path.id for path in plan.paths if path.is_local}
        # Those that are measured within the memory of a NUMA node.
        self.local = frozenset(unit for unit in self.all if self._path(unit) in local)
        self.spares = [self._part(spare) for spare in plan.spare]  # as Plan.spare

    def of_spares(self, numbers: Iterable[int]) -> frozenset[Unit]:
        """Returns the units of these entries of Plan.spare."""
        return frozenset[Unit]().union(*(self.spares[number] for number in numbers))

    def _of_role(self, role: Role) -> list[Unit]:
        return [
            unit
            for index, launch in enumerate(self.plan.launches)
            if launch.role == role
            for unit in units_of(index, launch.variants)
        ]

    def _path(self, unit: Unit) -> str:
        return self.plan.launches[unit.template].path

    def _below(self, ceiling: Unit) -> list[Unit]:
        path = self._path(ceiling)
        return [unit for unit in self.libraries if self._path(unit) == path] or self.libraries

    def _part(self, spare: Spare) -> frozenset[Unit]:
        units = self.all
        if spare.contender is not None:
            launches = self.plan.launches
            units = [unit for unit in units if launches[unit.template].contender == spare.contender]
        return frozenset(
            unit
            for unit in units
            if self._path(unit) in spare.paths or unit.variant in spare.variants
        )


@dataclass(frozen=True)
class Scope:
    """The units of a plan with those that are done, skipped, left out or given up."""

    units: Units
    # First block in which a unit is not measured any more.
    done: Mapping[Unit, int] = field(default_factory=dict)
    skipped: Mapping[Unit, tuple[range, ...]] = field(default_factory=dict)  # earlier blocks
    dropped: frozenset[int] = frozenset()  # indexes into Plan.spare of what was left out
    given_up: frozenset[Unit] = frozenset()

    def is_done(self, unit: Unit, block: int) -> bool:
        """True if a unit is not measured in a block."""
        skipped = self.skipped.get(unit, ())
        until = self.done.get(unit, math.inf)
        if unit in self.units.local:
            until = min(until, FEWEST_FOR_INTERVAL + sum(map(len, skipped)))
        measured = self.units.plan.launches[unit.template].since <= block < until
        return not measured or any(block in blocks for blocks in skipped)

    def are_done(self, units: Iterable[Unit], block: int) -> bool:
        """True if none of these units is measured in a block."""
        return all(self.is_done(unit, block) for unit in units)

    def going(self, block: int) -> list[Unit]:
        """Returns the units that are measured in a block."""
        return [unit for unit in self.units.all if not self.is_done(unit, block)]

    def kept(self) -> list[Unit]:
        """Returns the units of libraries, except those left out: more time does not help these."""
        left_out = self.units.of_spares(self.dropped)
        return [unit for unit in self.units.libraries if unit not in left_out]

    def ending(self, units: Iterable[Unit], block: int) -> "Scope":
        """Returns the scope without these units from a block on, if they were not done before."""
        return replace(self, done={**dict.fromkeys(units, block), **self.done})

    def ending_ceilings(self, block: int) -> "Scope":
        """Returns the scope without the ceilings of units that are all done in a block."""
        below = self.units.below.items()
        return self.ending((unit for unit, users in below if self.are_done(users, block)), block)

    def giving_up(self, units: Iterable[Unit]) -> "Scope":
        """Returns the scope in which these units, and no others, are given up."""
        return replace(self, given_up=frozenset(units))

    def leaving_out(self, spares: Iterable[int], block: int) -> "Scope":
        """Returns the scope without entries of Plan.spare from a block on, and without the ceilings
        of what is not measured any more."""
        dropped = frozenset(spares)
        scope = replace(self, dropped=self.dropped | dropped)
        return scope.ending(self.units.of_spares(dropped), block).ending_ceilings(block)

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
        precise = self.done.keys() - self.given_up - self.units.of_spares(self.dropped)
        wanted = precise.intersection(units)
        below = self.units.below.items()
        ceilings = [unit for unit, users in below if not wanted.isdisjoint(users)]
        return wanted | precise.intersection(ceilings)
