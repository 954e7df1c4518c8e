# SPDX-License-Identifier: Apache-2.0
"""The launches of a study that are still to be run, by its records: the same live and after
--resume."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from nearpeak.launching.program_records import CaseRecord, ProblemRecord, SamplesRecord, case_of
from nearpeak.planning.estimate import Estimate, Manner, kind_of, least_samples, parts_of
from nearpeak.planning.fit import LEAST_LAUNCHES, OVERTIME, blocks_wanted
from nearpeak.planning.plan import PILOT_BLOCKS, Group, LaunchId, Plan, PlannedLaunch
from nearpeak.planning.stages import (
    Choice,
    PilotData,
    as_chosen,
)
from nearpeak.study.answers import Templates, usable
from nearpeak.study.cells import Cell, Median, precise_together
from nearpeak.study.distances import Distances
from nearpeak.study.forecast import Forecast, forecast
from nearpeak.study.records import (
    AmendmentRecord,
    LaunchEndRecord,
    LaunchRecord,
    LeftOutRecord,
    Record,
    SessionRecord,
    StudyEndRecord,
)
from nearpeak.study.scope import Scope, Unit, units_of
from nearpeak.terms.identity import Axes, Case
from nearpeak.terms.path import DataPath

GIVE_UP_AFTER = 3  # failures in a row without a single sample


class Schedule:
    """Takes in every record in order; knows which launches remain."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.estimate = Estimate(plan)
        self.pilot = PilotData(plan)
        self._distances = Distances(plan)
        self.looks = plan.looks  # an amendment changes this and the budget
        self.budget_seconds = plan.budget_seconds  # for `seconds`
        self.seconds = plan.trial_seconds  # of trials, and of all launches that ended
        self.amended = False  # whether the plan has grown
        self.begun_blocks = 0  # blocks of which a launch began
        self.next_launch = 0  # the number of the next launch
        self._over: dict[LaunchId, int] = {}  # launches -> the session that they ended in
        self._closed = 0  # the number of first blocks whose launches are final
        self._not_wanted: set[LaunchId] = set()  # those that these blocks do not have
        self._linked = linked(plan.paths)
        self._templates = Templates(plan)
        self._begun: LaunchRecord | None = None
        self._open: list[SamplesRecord] = []
        self._problems: list[ProblemRecord] = []
        self._case: CaseRecord | None = None  # that began last
        self._variants = plan.variant_numbers
        # All by template and variant.
        self._failures: dict[Unit, int] = {}  # in a row without a sample
        self._bad_ends: dict[Unit, int] = {}  # launches that ended badly in it
        self._cells: dict[Unit, dict[Case, Cell]] = defaultdict(dict)
        self._scope = Scope(plan)
        self._choice: Choice | None = None
        self._least_blocks = LEAST_LAUNCHES  # that are run whatever the budget
        self._whole = 0  # the number of first blocks that are over
        self._judged = 0  # the number of first blocks that are judged

    def feed(self, record: Record) -> None:
        """Takes in one record."""
        if isinstance(record, SessionRecord):
            self.begin_session()
        elif isinstance(record, LaunchRecord):
            self._begun, self._open, self._problems, self._case = record, [], [], None
            self._close(record.block)
            self.begun_blocks = max(self.begun_blocks, record.block + 1)
            self.next_launch = max(self.next_launch, record.launch + 1)
        elif isinstance(record, SamplesRecord):
            self._open.append(record)
        elif isinstance(record, ProblemRecord):
            self._problems.append(record)
        elif isinstance(record, CaseRecord):
            self._case = record
        elif isinstance(record, LaunchEndRecord):
            self._end(record)
        elif isinstance(record, AmendmentRecord):
            self._amend(record)
        elif isinstance(record, LeftOutRecord):
            self._scope = self._scope.leaving_out([record.spare], record.block)
        elif isinstance(record, StudyEndRecord) and record.status != "interrupted":
            self._close(self.begun_blocks)

    def _close(self, blocks: int) -> None:
        """Closes the first blocks, as another one or the end of the study follows: their launches
        are final, even where they would be judged otherwise today."""
        for number in range(self._closed, blocks):
            planned = self.plan.block(number)
            self._not_wanted |= {launch.id for launch in planned if launch.id not in self._over}
        self._closed = max(self._closed, blocks)

    def begin_session(self) -> None:
        """Begins a session. Compared figures are of one session of one block: if a block was cut
        off in the middle of a path, its launches there that are over are run again, with the
        rest."""
        self._look(self.begun_blocks)
        self._chosen()
        for number in range(self.begun_blocks):
            block = self.plan.block(number)
            for paths in self._linked:
                self._join([planned for planned in block if planned.path in paths])

    def _join(self, block: Sequence[PlannedLaunch]) -> None:
        """Forgets which of these launches are over, unless all are, in one session."""
        over = [planned for planned in block if planned.id in self._over]
        sessions = {self._over[planned.id] for planned in over}
        if over and (
            len(sessions) > 1 or any(self._is_left(planned, self._scope) for planned in block)
        ):
            for planned in over:
                del self._over[planned.id]
                self._whole = min(self._whole, planned.block)

    @property
    def whole_blocks(self) -> int:
        """The number of first blocks of which nothing is left."""
        self._look(self.begun_blocks)
        self._is_over(self.begun_blocks)
        return min(self._whole, self.begun_blocks)

    def failures_with(self, planned: PlannedLaunch, status: str) -> int:
        """Returns the failures in a row of the part of the running launch that fails without a
        sample, if the launch ends with this status."""
        sampled = {self._variant(record) for record in self._open}
        blamed = self._blamed(units_of(planned.template, planned.variants), status)
        failed = [unit for unit in blamed if unit.variant not in sampled]
        return max((self._failures.get(unit, 0) + 1 for unit in failed), default=0)

    def scope_at(self, block: int) -> Scope:
        """Returns the scope that the study has in a block, as far as all before it is measured."""
        self._look(block)
        return self._scope

    def remaining(self, block: int, scope: Scope | None = None) -> list[PlannedLaunch]:
        """Returns the launches of a block that are still to be run, in order; of another scope,
        those that would be."""
        scope = scope or self.scope_at(block)
        return [planned for planned in self._block(block, scope) if self._is_left(planned, scope)]

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
        scope = self.scope_at(block)
        return all(scope.is_done(unit, block) for unit in scope.of_role("mpi"))

    def cells(self) -> list[Cell]:
        """Returns the cells that libraries were measured in so far, except those left out since."""
        return [cell for unit in self._scope.kept() for cell in self._cells[unit].values()]

    def forecast(self) -> Forecast | None:
        """Returns the precision now, and after more time; None if that would bring nothing, as
        every cell was precise or given up when it was judged."""
        block = self._whole
        while block < self.looks[-1] and not self.remaining(block):
            block += 1
        if self.contenders_done(block):
            return None
        remaining = self.remaining(block)
        going = {
            unit for planned in remaining for unit in units_of(planned.template, planned.variants)
        }
        cells = [
            (cell, unit in going)
            for unit in self._scope.kept()
            for cell in self._cells[unit].values()
        ]
        return forecast(
            [cell.values for cell, _ in cells],
            self.estimate.seconds(remaining),
            sessions=[cell.sessions for cell, _ in cells],
            going=[goes_on for _, goes_on in cells],
        )

    def _block(self, number: int, scope: Scope) -> list[PlannedLaunch]:
        left = [self._left_of(planned, scope) for planned in self.plan.block(number)]
        planned = [launch for launch in left if launch is not None]
        choice = self._chosen() if number >= PILOT_BLOCKS else None
        if choice is None:
            return planned
        return [as_chosen(self.plan, launch, choice) for launch in planned]

    def _left_of(self, planned: PlannedLaunch, scope: Scope) -> PlannedLaunch | None:
        """Returns a launch without what is done. Variants in which launches ended badly come after
        all others, so that they take nothing along; those that did so least often come first."""
        left = planned.only(
            lambda number: not scope.is_done(Unit(planned.template, number), planned.block)
        )
        if left is None or left.role == "ceiling":
            return left
        counts = {
            number: self._bad_ends.get(Unit(left.template, number), 0) for number in left.variants
        }
        ordered: list[Group] = []
        for count in sorted(set(counts.values())):
            part = left.only({number for number in counts if counts[number] == count}.__contains__)
            ordered += part.groups if part else ()
        return msgspec.structs.replace(left, groups=tuple(ordered))

    def _chosen(self) -> Choice | None:
        """Returns the choice of the pilot; None until it is over."""
        if self._choice is None and self._is_over(PILOT_BLOCKS):
            self._choice = self.pilot.choose()
        return self._choice

    def _amend(self, record: AmendmentRecord) -> None:
        """Takes in an amendment. What was judged precise before is launched again, if at all, from
        the next block on."""
        self.amended = True
        first = self.begun_blocks
        self._look(first)
        self._whole = min(self._whole, first)
        self._judged = min(self._judged, first)
        self.looks = record.looks
        budget = record.budget_seconds
        self.budget_seconds = None if budget is None else self.seconds + budget
        if record.adds.launches:
            self._least_blocks = first + LEAST_LAUNCHES
        if record.every:
            self._scope = self._scope.going_on(self._scope.of_role("mpi"), first)

    def _end(self, record: LaunchEndRecord) -> None:
        self.seconds += record.seconds
        if self._begun is not None and record.status != "interrupted":
            self._take_in(self._begun, record)
        self._begun = None

    def _take_in(self, begun: LaunchRecord, record: LaunchEndRecord) -> None:
        samples = self._open
        template = self._templates.index_of(begun)
        launch = LaunchId(begun.block, template)
        self._over[launch] = begun.session
        self._distances.add(launch, samples)
        kind = kind_of(self.plan, self.plan.launches[template])
        least = least_samples(self.plan, kind, begun.block)
        slot_ms = begun.slot_ms or self.plan.slot_ms
        parts = parts_of(samples, record.seconds, slot_ms, least, self._variant)
        variants = [self._variants[key] for group in begun.groups for key in group.variants]
        manner = Manner(slot_ms, least, tuple(begun.methods), tuple(sorted(variants)))
        self.estimate.add(template, manner, record.seconds, parts, ok=record.status == "ok")
        units = units_of(template, variants)
        self._count_failures(units, record.status, begun.block)
        samples = list(filter(usable(record.status, "", self._problems), samples))
        if begun.block < PILOT_BLOCKS and samples:
            self.pilot.add(template, samples, parts)
        if begun.role == "mpi":
            self._add_medians(template, begun, samples)

    def _blamed(self, units: list[Unit], status: str) -> list[Unit]:
        """Returns the units that the last launch ended badly in: the variant that it had begun and
        not answered; if it began none, all."""
        if status == "ok":
            return []
        if self._case is None:
            return [] if self._open else units
        case = case_of(self._case, "")
        answered = [case_of(record, "") for record in self._open]
        if case in answered or case in [case_of(problem, "") for problem in self._problems]:
            return []
        return [unit for unit in units if unit.variant == self._variant(self._case)]

    def _count_failures(self, units: list[Unit], status: str, block: int) -> None:
        sampled = {self._variant(record) for record in self._open}
        blamed = self._blamed(units, status)
        for unit in units:
            if status == "ok" or unit.variant in sampled:
                self._failures[unit] = 0
            elif unit in blamed:
                self._failures[unit] = self._failures.get(unit, 0) + 1
        for unit in blamed:
            self._bad_ends[unit] = self._bad_ends.get(unit, 0) + 1
        given_up = {unit for unit, number in self._failures.items() if number >= GIVE_UP_AFTER}
        self._scope = self._scope.giving_up(given_up).ending(
            given_up.intersection(units), block + 1
        )

    def _add_medians(
        self, template: int, begun: LaunchRecord, samples: Iterable[SamplesRecord]
    ) -> None:
        """Adds the medians of a launch, replacing those of an earlier try."""
        for unit in units_of(template, self.plan.launches[template].variants):
            for case, cell in list(self._cells[unit].items()):
                cell.medians = [median for median in cell.medians if median.block != begun.block]
                if not cell.medians:
                    del self._cells[unit][case]
        for record in samples:
            unit = Unit(template, self._variant(record))
            cell = self._cells[unit].setdefault(case_of(record, record.metric), Cell(record.better))
            median = Median(begun.block, begun.session, statistics.median(record.samples))
            cell.medians.append(median)

    def _variant(self, record: CaseRecord | SamplesRecord) -> int | None:
        """Returns the variant of a library's record; None for a ceiling's."""
        if self._begun is None or self._begun.role == "ceiling":
            return None
        return self._variants.get((record.benchmark, record.buffers, Axes(record.axes)))

    def _look(self, block: int) -> None:
        """Judges, block by block up to this one, what goes on and at every look what is precise,
        once all before is measured."""
        for number in range(self._judged + 1, block + 1):
            if not self._is_over(number):
                return
            self._judged = number
            moving = self._distances.moving(number)
            for paths in moving:
                self._join_again(paths, number)
            if number in self.looks:
                self._judge(number, moving)

    def _join_again(self, paths: set[str], block: int) -> None:
        """Continues what has ended between CPUs at a mix of distances, if others that were planned
        with it go on: otherwise its blocks would be another mix."""
        planned: dict[int, list[Unit]] = defaultdict(list)  # by their first block
        for unit in self._scope.of_role("mpi"):
            launch = self.plan.launches[unit.template]
            if launch.path in paths and self._cells[unit]:
                planned[launch.since].append(unit)
        for units in planned.values():
            if not all(self._scope.is_done(unit, block) for unit in units):
                self._scope = self._scope.going_on(units, block)

    def _judge(self, look: int, moving: Sequence[set[str]]) -> None:
        """Ends what is precise: on a path by itself, between moving CPUs all together."""
        together: dict[str | int, list[list[Unit]]] = defaultdict(list)
        for number, rivals in enumerate(self._rivals()):
            unended = [unit for unit in rivals if unit not in self._scope.done]
            if going := [unit for unit in unended if self._cells[unit]]:
                path = self.plan.launches[going[0].template].path
                mates = next((min(paths) for paths in moving if path in paths), number)
                together[mates].append(going)
        for group in together.values():
            if all(self._precise(going, look) for going in group):
                ended = (unit for going in group for unit in going)
                self._scope = self._scope.ending(ended, look)
        self._scope = self._scope.ending_ceilings(look)

    def _is_over(self, blocks: int) -> bool:
        """True if the first `blocks` blocks have no launches left to run."""
        while self._whole < blocks:
            if any(self._is_left(planned, self._scope) for planned in self.plan.block(self._whole)):
                return False
            self._whole += 1
        return True

    def _is_left(self, planned: PlannedLaunch, scope: Scope) -> bool:
        return (
            planned.id not in self._over
            and planned.id not in self._not_wanted
            and not all(
                scope.is_done(unit, planned.block)
                for unit in units_of(planned.template, planned.variants)
            )
        )

    def _rivals(self) -> list[list[Unit]]:
        """Groups the units that all alternatives measure on one path in one variant."""
        groups: dict[tuple[str, int | None], list[Unit]] = defaultdict(list)
        for unit in self._scope.of_role("mpi"):
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
