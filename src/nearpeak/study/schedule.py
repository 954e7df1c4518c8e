# SPDX-License-Identifier: Apache-2.0
"""The launches of a study that are still to be run, by its records: the same live and after
--resume. Nothing is changed by a question."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from nearpeak.launching.program_records import SamplesRecord, case_of
from nearpeak.planning.estimate import Estimate, Manner, Parts, kind_of, least_samples, parts_of
from nearpeak.planning.fit import LEAST_LAUNCHES, OVERTIME, blocks_wanted
from nearpeak.planning.plan import PILOT_BLOCKS, Group, LaunchId, Plan, PlannedLaunch
from nearpeak.planning.stages import Choice, PilotData, as_chosen
from nearpeak.study.cells import Cell, Median, precise_together
from nearpeak.study.distances import Distances
from nearpeak.study.forecast import Forecast, forecast
from nearpeak.study.launched import Launched
from nearpeak.study.recording import Follower
from nearpeak.study.records import AmendmentRecord, LaunchEndRecord, LeftOutRecord
from nearpeak.study.scope import Scope, Unit, Units, units_of
from nearpeak.terms.identity import Case
from nearpeak.terms.outcomes import Ending
from nearpeak.terms.path import DataPath

GIVE_UP_AFTER = 3  # failures in a row without a single sample


class Schedule(Follower):
    """Follows the records of a study in order; knows which launches remain."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.estimate = Estimate(plan)
        self.scope = Scope(Units(plan))  # by what was judged so far
        self.looks = plan.looks  # an amendment changes this and the budget
        self.budget_seconds = plan.budget_seconds  # for `seconds`
        self.seconds = plan.trial_seconds  # of trials, and of all launches that ended
        self.amended = False  # whether the plan has grown
        self.begun_blocks = 0  # blocks of which a launch began
        self.next_launch = 0  # the number of the next launch
        self._block = cache(plan.block)
        self._pilot = PilotData(plan)
        self._choice: Choice | None = None  # of the pilot, once it is over
        self._distances = Distances(plan)
        self._linked = linked(plan.paths)
        self._over: set[LaunchId] = set()  # launches that ended, or are not wanted any more
        self._closed = 0  # the number of first blocks whose launches are final
        self._judged = 0  # the number of first blocks that are judged
        self._least_blocks = LEAST_LAUNCHES  # that are run whatever the budget
        # All by template and variant.
        self._failures: dict[Unit, int] = {}  # in a row without a sample
        self._bad_ends: dict[Unit, int] = {}  # launches that ended badly in it
        self._cells: dict[Unit, dict[Case, Cell]] = {
            unit: {} for unit in self.scope.units.libraries
        }

    def begin(self, launch: Launched) -> None:
        """Takes in that a launch begins."""
        self._close(launch.id.block)
        self.begun_blocks = max(self.begun_blocks, launch.id.block + 1)
        self.next_launch = max(self.next_launch, launch.begin.launch + 1)
        self._judge()

    def end(self, launch: Launched, record: LaunchEndRecord) -> None:
        """Takes in that a launch is over."""
        self.seconds += record.seconds
        if launch.over:
            self._take_in(launch, record.seconds)
            self._judge()

    def amend(self, amendment: AmendmentRecord) -> None:
        """Takes in an amendment. What was judged precise before is launched again, if at all, from
        the next block on."""
        self.amended = True
        self.looks = amendment.looks
        budget = amendment.budget_seconds
        self.budget_seconds = None if budget is None else self.seconds + budget
        if amendment.adds.launches:
            self._least_blocks = self.begun_blocks + LEAST_LAUNCHES
        if amendment.every:
            self.scope = self.scope.going_on(self.scope.units.libraries, self.begun_blocks)

    def leave_out(self, left_out: LeftOutRecord) -> None:
        """Takes in that a part is not measured any more."""
        self.scope = self.scope.leaving_out([left_out.spare], left_out.block)

    def close(self) -> None:
        """Takes in that the study ended, uninterrupted."""
        self._close(self.begun_blocks)
        self._judge()

    def begin_session(self) -> None:
        """Begins a session. Compared figures are of one session of one block: if a block was cut
        off in the middle of a path, its launches there that are over are run again, with the
        rest."""
        for number in range(self.begun_blocks):
            for paths in self._linked:
                self._join([planned for planned in self._block(number) if planned.path in paths])

    @property
    def whole_blocks(self) -> int:
        """The number of first blocks of which nothing is left."""
        begun = range(self.begun_blocks)
        return next((block for block in begun if self._has_left(block)), self.begun_blocks)

    def failures_with(self, launch: Launched, status: Ending) -> int:
        """Returns the failures in a row of the part of the running launch that fails without a
        sample, if the launch ends with this status."""
        failing = _failing(launch, status)
        return max((self._failures.get(unit, 0) + 1 for unit in failing), default=0)

    def remaining(self, block: int, scope: Scope | None = None) -> list[PlannedLaunch]:
        """Returns the launches of a block that are still to be run, in order; of another scope,
        those that would be."""
        scope = scope or self.scope
        unfinished = [planned for planned in self._block(block) if self._is_left(planned, scope)]
        left = [self._left_of(planned, scope) for planned in unfinished]
        if self._choice is None or block < PILOT_BLOCKS:
            return left
        return [as_chosen(self.plan, planned, self._choice) for planned in left]

    def expected_blocks(self) -> int:
        """Returns the number of blocks that the budget is expected to hold, some of which are over;
        without one, the most."""
        if self.budget_seconds is None:
            return self.looks[-1]
        block, spent = 0, self.seconds
        while block < self.looks[-1]:
            spent += self.estimate.seconds(self.remaining(block))
            if not self.may_run(block, spent):
                break
            block += 1
        return block

    def may_run(self, block: int, seconds: float) -> bool:
        """True if the budget holds a block after which `seconds` are spent.

        The first two are run in any case, as are the first two with an addition, and one that was
        begun is completed. Blocks that the plan was fitted to may take longer than guessed.
        """
        if self.budget_seconds is None or block < max(self._least_blocks, self.begun_blocks):
            return True
        fitted = (
            block < blocks_wanted(self.plan) and self.budget_seconds == self.plan.budget_seconds
        )
        return seconds <= self.budget_seconds * (OVERTIME if fitted else 1.0)

    def seconds_left(self, first: int, until: int, scope: Scope | None = None) -> float:
        """Returns the seconds that the blocks [first, until) will take; of another scope, those
        that they would."""
        blocks = range(first, until)
        return sum(self.estimate.seconds(self.remaining(block, scope)) for block in blocks)

    def contenders_done(self, block: int) -> bool:
        """True if no MPI launch is needed any more, from this block on."""
        return self.scope.are_done(self.scope.units.libraries, block)

    def cells(self) -> list[Cell]:
        """Returns the cells that libraries were measured in so far, except those left out since."""
        return [cell for unit in self.scope.kept() for cell in self._cells[unit].values()]

    def forecast(self) -> Forecast | None:
        """Returns the precision now, and after more time; None if that would bring nothing, as
        every cell was precise or given up when it was judged."""
        last = self.looks[-1]
        block = next((number for number in range(last) if self.remaining(number)), last)
        if self.contenders_done(block):
            return None
        remaining = self.remaining(block)
        going = {unit for planned in remaining for unit in _units(planned)}
        kept = self.scope.kept()
        cells = self.cells()
        return forecast(
            [cell.values for cell in cells],
            self.estimate.seconds(remaining),
            sessions=[cell.sessions for cell in cells],
            going=[unit in going for unit in kept for _ in self._cells[unit]],
        )

    def _left_of(self, planned: PlannedLaunch, scope: Scope) -> PlannedLaunch:
        """Returns a launch of which something is left without what is done. Variants in which
        launches ended badly come after all others, so that they take nothing along; those that did
        so least often come first."""
        if planned.role == "ceiling":
            return planned
        counts = {
            unit.variant: self._bad_ends.get(unit, 0)
            for unit in _units(planned)
            if not scope.is_done(unit, planned.block)
        }
        groups: list[Group] = []
        for count in sorted(set(counts.values())):
            wanted = {number for number in counts if counts[number] == count}
            part = planned.only(wanted.__contains__)
            groups += part.groups if part else ()
        return msgspec.structs.replace(planned, groups=tuple(groups))

    def _close(self, blocks: int) -> None:
        """Closes the first blocks, as another one or the end of the study follows: their launches
        are final, even where they would be judged otherwise today."""
        for number in range(self._closed, blocks):
            self._over.update(planned.id for planned in self._block(number))
        self._closed = max(self._closed, blocks)

    def _join(self, launches: Sequence[PlannedLaunch]) -> None:
        """Forgets which of these launches of a block are over, unless all are."""
        if any(self._is_left(planned, self.scope) for planned in launches):
            self._over -= {planned.id for planned in launches}

    def _take_in(self, launch: Launched, seconds: float) -> None:
        begun, template = launch.begin, launch.id.template
        self._over.add(launch.id)
        self._distances.add(launch.id, launch.samples)
        parts = self._add_cost(launch, seconds)
        self._count_failures(launch)
        samples = launch.believable
        if begun.block < PILOT_BLOCKS and samples:
            self._pilot.add(template, samples, parts)
        if begun.role == "mpi":
            self._add_medians(launch, samples)

    def _add_cost(self, launch: Launched, seconds: float) -> Parts:
        """Takes in the seconds of a launch; returns the parts of them."""
        begun, template = launch.begin, launch.id.template
        kind = kind_of(self.plan, self.plan.launches[template])
        least = least_samples(self.plan, kind, begun.block)
        parts = parts_of(
            launch.samples,
            seconds,
            begun.slot_ms,
            least,
            lambda record: launch.unit_of(record).variant,
        )
        variants = sorted(unit.variant for unit in launch.units if unit.variant is not None)
        manner = Manner(begun.slot_ms, least, tuple(begun.methods), tuple(variants))
        self.estimate.add(template, manner, seconds, parts, ok=launch.status == "ok")
        return parts

    def _count_failures(self, launch: Launched) -> None:
        blamed = launch.blamed(launch.status)
        failing = _failing(launch, launch.status)
        sampled = launch.units if launch.status == "ok" else _sampled(launch)
        self._failures |= dict.fromkeys(sampled, 0)
        for unit in failing:
            self._failures[unit] = self._failures.get(unit, 0) + 1
        for unit in blamed:
            self._bad_ends[unit] = self._bad_ends.get(unit, 0) + 1
        given_up = {unit for unit, number in self._failures.items() if number >= GIVE_UP_AFTER}
        ended = given_up.intersection(launch.units)
        self.scope = self.scope.giving_up(given_up).ending(ended, launch.id.block + 1)

    def _add_medians(self, launch: Launched, samples: Iterable[SamplesRecord]) -> None:
        """Adds the medians of a launch, replacing those of an earlier try."""
        block, template = launch.id
        for unit in units_of(template, self.plan.launches[template].variants):
            for case, cell in list(self._cells[unit].items()):
                cell.medians = [median for median in cell.medians if median.block != block]
                if not cell.medians:
                    del self._cells[unit][case]
        for record in samples:
            cells = self._cells[launch.unit_of(record)]
            cell = cells.setdefault(case_of(record, record.metric), Cell(record.better))
            value = statistics.median(record.samples)
            cell.medians.append(Median(block, launch.begin.session, value))

    def _judge(self) -> None:
        """Judges, block by block, what goes on and at every look what is precise, as far as all
        launches are over."""
        while self._judged < self.begun_blocks and not self._has_left(self._judged):
            self._judged += 1
            if self._judged == PILOT_BLOCKS:
                self._choice = self._pilot.choose()
            moving = self._distances.moving(self._judged)
            for paths in moving:
                self._join_again(paths, self._judged)
            if self._judged in self.looks:
                self._end_precise(self._judged, moving)

    def _join_again(self, paths: set[str], block: int) -> None:
        """Continues what has ended between CPUs at a mix of distances, if others that were planned
        with it go on: otherwise its blocks would be another mix."""
        planned: dict[int, list[Unit]] = defaultdict(list)  # by their first block
        for unit in self.scope.units.libraries:
            launch = self.plan.launches[unit.template]
            if launch.path in paths and self._cells[unit]:
                planned[launch.since].append(unit)
        for units in planned.values():
            if not self.scope.are_done(units, block):
                self.scope = self.scope.going_on(units, block)

    def _end_precise(self, look: int, moving: Sequence[set[str]]) -> None:
        """Ends what is precise: on a path by itself, between moving CPUs all together."""
        together: dict[str | int, list[list[Unit]]] = defaultdict(list)
        for number, rivals in enumerate(self._rivals()):
            unended = [unit for unit in rivals if unit not in self.scope.done]
            if going := [unit for unit in unended if self._cells[unit]]:
                path = self.plan.launches[going[0].template].path
                mates = next((min(paths) for paths in moving if path in paths), number)
                together[mates].append(going)
        for group in together.values():
            if all(self._precise(going, look) for going in group):
                ended = (unit for going in group for unit in going)
                self.scope = self.scope.ending(ended, look)
        self.scope = self.scope.ending_ceilings(look)

    def _has_left(self, block: int) -> bool:
        """True if a block has launches left to run."""
        return any(self._is_left(planned, self.scope) for planned in self._block(block))

    def _is_left(self, planned: PlannedLaunch, scope: Scope) -> bool:
        return planned.id not in self._over and not scope.are_done(_units(planned), planned.block)

    def _rivals(self) -> list[list[Unit]]:
        """Groups the units that all alternatives measure on one path in one variant."""
        groups: dict[tuple[str, int | None], list[Unit]] = defaultdict(list)
        for unit in self.scope.units.libraries:
            groups[self.plan.launches[unit.template].path, unit.variant].append(unit)
        return list(groups.values())

    def _precise(self, rivals: Sequence[Unit], look: int) -> bool:
        """True if the blocks before a look are enough for all of these alternatives together."""
        cells: dict[Case, list[Cell]] = defaultdict(list)
        for unit in rivals:
            for case, cell in self._cells[unit].items():
                cells[case].append(cell)
        return all(precise_together(together, look) for together in cells.values())


def linked(paths: Sequence[DataPath]) -> list[set[str]]:
    """Groups the ids of paths whose figures rest on each other: a path of more than two ends on the
    paths between some of them."""
    groups: list[set[str]] = []
    for path in paths:
        group = {path.id, *(other.id for other in paths if path.holds(other))}
        for others in [ids for ids in groups if ids & group]:
            groups.remove(others)
            group |= others
        groups.append(group)
    return groups


def _units(planned: PlannedLaunch) -> list[Unit]:
    return units_of(planned.template, planned.variants)


def _sampled(launch: Launched) -> set[Unit]:
    return {launch.unit_of(record) for record in launch.samples}


def _failing(launch: Launched, status: Ending) -> list[Unit]:
    """Returns the units that a launch ended badly in without a sample, if it ends so."""
    sampled = _sampled(launch)
    return [unit for unit in launch.blamed(status) if unit not in sampled]
