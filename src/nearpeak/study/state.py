# SPDX-License-Identifier: Apache-2.0
"""What a study's records say about what is still to be run: the same live and after --resume."""

import contextlib
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from nearpeak.launching.program_records import CaseRecord, ProblemRecord, SamplesRecord, case_of
from nearpeak.statistics.intervals import all_precise, precise
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.study.answers import Templates, believes
from nearpeak.study.distances import Distances
from nearpeak.study.estimate import Estimate, Manner, kind_of, least_samples, parts_of
from nearpeak.study.fit import LEAST_LAUNCHES, OVERTIME, blocks_wanted
from nearpeak.study.forecast import Forecast, forecast
from nearpeak.study.plan import PILOT_BLOCKS, Group, LaunchId, Plan, PlannedLaunch, Spare
from nearpeak.study.records import (
    AmendmentRecord,
    LaunchEndRecord,
    LaunchRecord,
    LeftOutRecord,
    Record,
    SessionRecord,
    StudyEndRecord,
    TakenUpRecord,
)
from nearpeak.study.stages import (
    Choice,
    PilotData,
    as_chosen,
)
from nearpeak.terms.identity import Axes, Case
from nearpeak.terms.path import DataPath

GIVE_UP_AFTER = 3  # failures in a row without a single sample


class Median(NamedTuple):
    """Of the samples of one launch."""

    block: int
    session: int
    value: float


class Unit(NamedTuple):
    """What is done, or given up, on its own: a variant of a launch; a whole ceiling."""

    template: int  # index into Plan.launches
    variant: int | None  # index into Plan.variants


class Cell:
    """One case of a library on a path: its launch medians."""

    def __init__(self, better: str) -> None:
        self.better = better
        self.medians: list[Median] = []

    def precise(self) -> bool:
        """Whether its launches are enough."""
        sessions = [median.session for median in self.medians]
        return precise([median.value for median in self.medians], self.better, sessions)


class State:
    """Fed with every record in order; asked which launches remain."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.estimate = Estimate(plan)
        self.pilot = PilotData(plan)
        self._distances = Distances(plan)
        self.looks = plan.looks  # and, as the next one, what was added to the plan
        self.budget_seconds = plan.budget_seconds  # for `seconds`
        self.seconds = plan.trial_seconds  # of trials, and of all launches that ended
        self.amended = False  # whether the plan has grown
        self.begun_blocks = 0  # of which a launch began
        self.next_launch = 0  # the number that the next one has
        self._over: dict[LaunchId, int] = {}  # launches -> the session that they ended in
        self._closed = 0  # so many first blocks have all launches that they were to have
        self._not_wanted: set[LaunchId] = set()  # those that these have not
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
        self._done: dict[Unit, int] = {}  # first block in which it is not measured any more
        self._passed: dict[Unit, list[range]] = defaultdict(list)  # blocks without it, before
        # Indices into Plan.spare: what was left out, and from which block on.
        self._spared: dict[int, int] = {}
        self._choice: Choice | None = None
        self._least_blocks = LEAST_LAUNCHES  # that are run whatever the budget
        self._whole = 0  # so many first blocks are over
        self._judged = 0  # so many first blocks are judged

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
            self._leave_out(self.plan.spare[record.spare], record.block)
            self._spared[record.spare] = record.block
        elif isinstance(record, TakenUpRecord):
            self._take_up(record.spare, record.block)
        elif isinstance(record, StudyEndRecord) and record.status != "interrupted":
            self._close(self.begun_blocks)

    def _close(self, blocks: int) -> None:
        """So many first blocks are followed by another one, or by the end of the study: what was
        launched of them is what was to be, even where today it would be judged otherwise."""
        for number in range(self._closed, blocks):
            planned = self.plan.block(number)
            self._not_wanted |= {launch.id for launch in planned if launch.id not in self._over}
        self._closed = max(self._closed, blocks)

    def begin_session(self) -> None:
        """What is compared was measured in one session of one block. So where a block was cut off
        in the middle of a path, what is over there is to be run again, with what is left."""
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
        if over and (len(sessions) > 1 or any(map(self._is_left, block))):
            for planned in over:
                del self._over[planned.id]
                self._whole = min(self._whole, planned.block)

    @property
    def whole_blocks(self) -> int:
        """The first blocks of which nothing is left."""
        self._look(self.begun_blocks)
        self._is_over(self.begun_blocks)
        return min(self._whole, self.begun_blocks)

    def failures_with(self, planned: PlannedLaunch, status: str) -> int:
        """Failures in a row of what the running launch fails in without a sample, if it has ended
        so."""
        sampled = {self._variant(record) for record in self._open}
        blamed = self._blamed(_units(planned.template, planned.variants), status)
        failed = [unit for unit in blamed if unit.variant not in sampled]
        return max((self._failures.get(unit, 0) + 1 for unit in failed), default=0)

    def remaining(self, block: int) -> list[PlannedLaunch]:
        """The launches of a block that are still to be run, in order."""
        self._look(block)
        return [planned for planned in self._block(block) if self._is_left(planned)]

    def expected_blocks(self) -> int:
        """So many the budget is expected to hold, of which some are over; without one, the most."""
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
        """Whether the budget holds a block behind which so many seconds are spent.

        The first two are run in any case, as are the first two with what was added, and one that
        was begun is completed; those that the plan was fitted to may take longer than guessed.
        """
        if self.budget_seconds is None or block < max(self._least_blocks, self.begun_blocks):
            return True
        fitted = (
            block < blocks_wanted(self.plan) and self.budget_seconds == self.plan.budget_seconds
        )
        return seconds <= self.budget_seconds * (OVERTIME if fitted else 1.0)

    def seconds_left(self, first: int, until: int) -> float:
        """What the blocks [first, until) will take."""
        return sum(self.estimate.seconds(self.remaining(block)) for block in range(first, until))

    def to_leave_out(self, first: int, until: int, seconds: float) -> dict[int, float]:
        """What to leave out, so that the blocks [first, until) take at most so many seconds:
        indices into Plan.spare, each with the seconds that would have kept it. First what is slow
        (`_slow`), then the rest in the plan's order.

        A large one behind small ones may make room for some of these. Where nothing makes enough
        room, and all else would have had it if what is slow had taken the usual time, that stays,
        for the two blocks that are run.
        """
        found: dict[int, float] = {}
        while (needed := self._without(found, first, until)) > seconds:
            number = self._next_spare(found, first)
            if number is None:
                slow = list(filter(self._is_of_a_library, found))
                lost = self._lost_by([*self._spared, *found])
                enough = self._without(slow, first, until) <= seconds + lost
                return {each: found[each] for each in slow} if enough else found
            found[number] = needed
        for number in list(reversed(found))[1:]:
            rest = [other for other in found if other != number]
            if self._without(rest, first, until) <= seconds:
                del found[number]
        return found

    def _without(self, spares: Iterable[int], first: int, until: int) -> float:
        """Seconds that blocks take when this is left out from the first of them on."""
        with self._left_out(spares, first):
            return self.seconds_left(first, until)

    def _next_spare(self, spares: Iterable[int], block: int) -> int | None:
        """What comes next behind these; None where it would be all, or brings nothing. What is left
        out of one library alone leaves some of it, also with what follows."""
        with self._left_out(spares, block):
            going = [unit for unit in self._units() if not self._is_done(unit, block)]
            slow = self._slow(block)
        libraries = self._libraries(going)
        others = [each for each in range(len(self.plan.spare)) if not self._is_of_a_library(each)]
        for number in (*slow, *others):
            spare = self.plan.spare[number]
            left = [unit for unit in going if not self._is_part(unit, spare)]
            alone = {self.plan.spare[each].contender for each in (*self._spared, *spares, number)}
            lost = libraries - self._libraries(left)
            enough = any(unit.variant is not None for unit in left) and not lost & alone
            if len(left) < len(going) and enough:
                return number
        return None

    def _slow(self, block: int) -> list[int]:
        """Libraries on paths where they are much slower than usual, as indices into Plan.spare:
        what takes most of this block first. Anything else would be left out for their sake."""
        remaining = self.remaining(block)
        seconds: dict[int, float] = {}
        for number in filter(self._is_of_a_library, range(len(self.plan.spare))):
            part = [
                planned
                for planned in remaining
                if self._is_part(Unit(planned.template, None), self.plan.spare[number])
            ]
            if part and self.estimate.is_slow([planned.template for planned in part]):
                seconds[number] = self.estimate.seconds(part)
        return sorted(seconds, key=lambda number: -seconds[number])

    def _lost_by(self, spares: Iterable[int]) -> float:
        """Seconds beyond the usual that launches of slow libraries took."""
        some = [self.plan.spare[number] for number in spares if self._is_of_a_library(number)]
        return self.estimate.lost(
            template
            for template in range(len(self.plan.launches))
            if any(self._is_part(Unit(template, None), spare) for spare in some)
        )

    def _is_of_a_library(self, number: int) -> bool:
        """Whether one of Plan.spare is of a single one: it is left out only where it is slow."""
        return self.plan.spare[number].contender is not None

    def _libraries(self, units: Iterable[Unit]) -> set[int | None]:
        return {self.plan.launches[unit.template].contender for unit in units} - {None}

    @contextlib.contextmanager
    def _left_out(self, spares: Iterable[int], block: int) -> Iterator[None]:
        """As if this were left out from a block on."""
        self._look(block)
        done = dict(self._done)
        for number in spares:
            self._leave_out(self.plan.spare[number], block)
        try:
            yield
        finally:
            self._done = done

    def to_take_up(self, first: int, blocks: int, seconds: float) -> list[int]:
        """Of what was left out, what has so many blocks in all if it is measured from block `first`
        on, and all else so many too, in at most so many seconds: indices into Plan.spare. What was
        left out last, and so is the most important, comes first; libraries that were slow last."""
        found: list[int] = []
        latest = list(reversed(self._spared))
        for number in sorted(latest, key=self._is_of_a_library):
            some = [*found, number]
            until = first + blocks - min(self._spared[each] for each in some)
            if until > self.looks[-1]:
                continue
            with self._taken_up(found, first):
                before = self._units_left(first)
            with self._taken_up(some, first):
                brings = self._units_left(first) > before
                if brings and self.seconds_left(first, until) <= seconds:
                    found = some
        return found

    def _units_left(self, block: int) -> int:
        return sum(
            len(_units(planned.template, planned.variants)) for planned in self.remaining(block)
        )

    @contextlib.contextmanager
    def _taken_up(self, spares: Iterable[int], block: int) -> Iterator[None]:
        """As if this were measured again from a block on."""
        self._look(block)
        spared, done = dict(self._spared), dict(self._done)
        passed = {unit: list(ranges) for unit, ranges in self._passed.items()}
        for number in spares:
            self._take_up(number, block)
        try:
            yield
        finally:
            self._spared, self._done = spared, done
            self._passed = defaultdict(list, passed)

    def contenders_done(self, block: int) -> bool:
        """Whether no MPI launch is needed any more, from this block on."""
        self._look(block)
        return all(self._is_done(unit, block) for unit in self._of("mpi"))

    def cells(self) -> list[Cell]:
        """All that libraries were measured in so far, but for what was left out since."""
        return [cell for unit in self._kept() for cell in self._cells[unit].values()]

    def _kept(self) -> list[Unit]:
        """What libraries measure, but for what was left out since: no time brings more of that."""
        spared = [self.plan.spare[number] for number in self._spared]
        return [
            unit
            for unit in self._of("mpi")
            if not any(self._is_part(unit, spare) for spare in spared)
        ]

    def forecast(self) -> Forecast | None:
        """What was reached, and what more time would bring; None where it would bring nothing, as
        every cell was precise or given up when it was judged."""
        block = self._whole
        while block < self.looks[-1] and not self.remaining(block):
            block += 1
        if self.contenders_done(block):
            return None
        remaining = self.remaining(block)
        going = {
            unit for planned in remaining for unit in _units(planned.template, planned.variants)
        }
        known = [
            (cell.medians, unit in going)
            for unit in self._kept()
            for cell in self._cells[unit].values()
        ]
        return forecast(
            [[median.value for median in some] for some, _ in known],
            self.estimate.seconds(remaining),
            sessions=[[median.session for median in some] for some, _ in known],
            going=[goes_on for _, goes_on in known],
        )

    def _block(self, number: int) -> list[PlannedLaunch]:
        left = [self._what_is_left(planned) for planned in self.plan.block(number)]
        planned = [launch for launch in left if launch is not None]
        choice = self._chosen() if number >= PILOT_BLOCKS else None
        if choice is None:
            return planned
        return [as_chosen(self.plan, launch, choice) for launch in planned]

    def _what_is_left(self, planned: PlannedLaunch) -> PlannedLaunch | None:
        """A launch without what is done. What launches ended badly in comes behind all others, so
        that it takes nothing along; of several, what did so least often first."""
        left = planned.only(
            lambda number: not self._is_done(Unit(planned.template, number), planned.block)
        )
        if left is None or left.role == "ceiling":
            return left
        counts = {
            number: self._bad_ends.get(Unit(left.template, number), 0) for number in left.variants
        }
        ordered: list[Group] = []
        for count in sorted(set(counts.values())):
            some = left.only({number for number in counts if counts[number] == count}.__contains__)
            ordered += some.groups if some else ()
        return msgspec.structs.replace(left, groups=tuple(ordered))

    def _chosen(self) -> Choice | None:
        """What the pilot says; None until it is over."""
        if self._choice is None and self._is_over(PILOT_BLOCKS):
            self._choice = self.pilot.choose()
        return self._choice

    def _amend(self, record: AmendmentRecord) -> None:
        """What was judged precise before is launched again, if at all, from the next block on."""
        self.amended = True
        first = self.begun_blocks
        self._look(first)
        self._whole = min(self._whole, first)
        self._judged = min(self._judged, first)
        self.looks = record.looks
        more = record.budget_seconds
        self.budget_seconds = None if more is None else self.seconds + more
        if record.adds.launches:
            self._least_blocks = first + LEAST_LAUNCHES
        if record.every:
            self._go_on(self._of("mpi"), first)

    def _go_on(self, units: Iterable[Unit], block: int) -> None:
        """What is done of these because it was precise is launched again from a block on."""
        for unit in self._precise_units(units):
            self._passed[unit].append(range(self._done.pop(unit), block))

    def _precise_units(self, units: Iterable[Unit]) -> list[Unit]:
        """What of these is done because it was judged precise, and neither given up nor left out;
        with the ceilings of any of it."""
        spared = [self.plan.spare[number] for number in self._spared]
        precise = {
            unit
            for unit in self._done
            if not self._is_given_up(unit)
            and not any(self._is_part(unit, spare) for spare in spared)
        }
        found = [unit for unit in units if unit in precise]
        ceilings = [
            ceiling
            for ceiling in self._of("ceiling")
            if ceiling in precise and {*found} & {*self._users(ceiling.template)}
        ]
        return [*dict.fromkeys([*found, *ceilings])]

    def _leave_out(self, spare: Spare, block: int) -> None:
        """And the ceilings of what is not measured any more."""
        for unit in self._units():
            if self._is_part(unit, spare):
                self._done[unit] = min(block, self._done.get(unit, block))
        for unit in self._of("ceiling"):
            if all(self._is_done(user, block) for user in self._users(unit.template)):
                self._done.setdefault(unit, block)

    def _take_up(self, number: int, block: int) -> None:
        """What was left out, with its ceilings, but for what something else leaves out still."""
        del self._spared[number]
        spare = self.plan.spare[number]
        self._go_on([unit for unit in self._units() if self._is_part(unit, spare)], block)

    def _is_part(self, unit: Unit, spare: Spare) -> bool:
        launch = self.plan.launches[unit.template]
        if spare.contender is not None and launch.contender != spare.contender:
            return False
        return launch.path in spare.paths or unit.variant in spare.variants

    def _units(self) -> list[Unit]:
        return [*self._of("mpi"), *self._of("ceiling")]

    def _end(self, record: LaunchEndRecord) -> None:
        self.seconds += record.seconds
        if self._begun is not None and record.status != "interrupted":
            self._take_in(self._begun, record)
        self._begun = None

    def _take_in(self, begun: LaunchRecord, record: LaunchEndRecord) -> None:
        samples = self._open
        template = self._templates.find(begun)
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
        units = _units(template, variants)
        self._count_failures(units, record.status, begun.block)
        samples = list(filter(believes(record.status, "", self._problems), samples))
        if begun.block < PILOT_BLOCKS and samples:
            self.pilot.add(template, samples, parts)
        if begun.role == "mpi":
            self._add_medians(template, begun, samples)

    def _blamed(self, units: list[Unit], status: str) -> list[Unit]:
        """Of what the last launch measured, what it ended badly in: the variant that it had begun
        and not answered; where it came to none, all."""
        if status == "ok":
            return []
        if self._case is None:
            return [] if self._open else units
        case = case_of(self._case, "")
        told = [case_of(record, "") for record in self._open]
        if case in told or case in [case_of(problem, "") for problem in self._problems]:
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
                if self._is_given_up(unit):
                    self._done.setdefault(unit, block + 1)
        for unit in blamed:
            self._bad_ends[unit] = self._bad_ends.get(unit, 0) + 1

    def _is_given_up(self, unit: Unit) -> bool:
        return self._failures.get(unit, 0) >= GIVE_UP_AFTER

    def _add_medians(
        self, template: int, begun: LaunchRecord, samples: Iterable[SamplesRecord]
    ) -> None:
        """In the place of those of an earlier try."""
        for unit in _units(template, self.plan.launches[template].variants):
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
        """Of a library's record; None of a ceiling's."""
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
        """Between CPUs that are at a mix of distances, what ended goes on beside what did not, if
        both were planned at once: its blocks would be another mix."""
        planned: dict[int, list[Unit]] = defaultdict(list)  # by their first block
        for unit in self._of("mpi"):
            launch = self.plan.launches[unit.template]
            if launch.path in paths and self._cells[unit]:
                planned[launch.since].append(unit)
        for units in planned.values():
            if not all(self._is_done(unit, block) for unit in units):
                self._go_on(units, block)

    def _judge(self, look: int, moving: Sequence[set[str]]) -> None:
        """What is precise ends: on a path by itself, between moving CPUs all together."""
        together: dict[str | int, list[list[Unit]]] = defaultdict(list)
        for number, rivals in enumerate(self._rivals()):
            if going := [unit for unit in rivals if unit not in self._done and self._cells[unit]]:
                path = self.plan.launches[going[0].template].path
                mates = next((min(paths) for paths in moving if path in paths), number)
                together[mates].append(going)
        for group in together.values():
            if all(self._precise(going, look) for going in group):
                self._done.update(dict.fromkeys((unit for going in group for unit in going), look))
        for unit in self._of("ceiling"):
            if unit not in self._done and all(
                self._is_done(user, look) for user in self._users(unit.template)
            ):
                self._done[unit] = look

    def _is_over(self, blocks: int) -> bool:
        """Whether nothing is left of so many first blocks."""
        while self._whole < blocks and not any(map(self._is_left, self.plan.block(self._whole))):
            self._whole += 1
        return self._whole >= blocks

    def _is_left(self, planned: PlannedLaunch) -> bool:
        return (
            planned.id not in self._over
            and planned.id not in self._not_wanted
            and not all(
                self._is_done(unit, planned.block)
                for unit in _units(planned.template, planned.variants)
            )
        )

    def _rivals(self) -> list[list[Unit]]:
        """What all alternatives measure on one path in one variant."""
        found: dict[tuple[str, int | None], list[Unit]] = defaultdict(list)
        for unit in self._of("mpi"):
            found[self.plan.launches[unit.template].path, unit.variant].append(unit)
        return list(found.values())

    def _precise(self, rivals: Sequence[Unit], look: int) -> bool:
        """Whether the blocks before a look are enough for all of these alternatives together."""
        cells: dict[Case, list[Cell]] = defaultdict(list)
        for unit in rivals:
            for case, cell in self._cells[unit].items():
                cells[case].append(cell)
        return all(_precise_together(some, look) for some in cells.values())

    def _users(self, ceiling: int) -> list[Unit]:
        """What libraries are measured in below a ceiling; for local memory, all of it."""
        path = self.plan.launches[ceiling].path
        users = [unit for unit in self._of("mpi") if self.plan.launches[unit.template].path == path]
        return users or self._of("mpi")

    def _of(self, role: str) -> list[Unit]:
        return [
            unit
            for index, launch in enumerate(self.plan.launches)
            if launch.role == role
            for unit in _units(index, launch.variants)
        ]

    def _is_done(self, unit: Unit, block: int) -> bool:
        launch = self.plan.launches[unit.template]
        if block < launch.since:
            return True
        passed = self._passed[unit]
        local = self.plan.find_path(launch.path).transport == "local"
        if local and block >= FEWEST_FOR_INTERVAL + sum(map(len, passed)):
            return True
        if any(block in blocks for blocks in passed):
            return True
        return self._done.get(unit, block + 1) <= block


def _precise_together(cells: Sequence[Cell], look: int) -> bool:
    """Whether all alternatives are precise in the blocks that they have in common before a look."""
    known = [
        {median.block: median for median in cell.medians if median.block < look} for cell in cells
    ]
    blocks = sorted(set.intersection(*map(set, known)))
    sessions = [known[0][block].session for block in blocks]
    values = [[medians[block].value for block in blocks] for medians in known]
    return all_precise(values, cells[0].better, sessions)


def linked(paths: Sequence[DataPath]) -> list[set[str]]:
    """The ids of paths, together where figures of the ones rest on what is measured on others: of
    more than two ends on the paths between some of them."""
    found: list[set[str]] = []
    for path in paths:
        own = {path.id, *(other.id for other in paths if path.holds(other))}
        for others in [ids for ids in found if ids & own]:
            found.remove(others)
            own |= others
        found.append(own)
    return found


def _units(template: int, variants: Sequence[int]) -> list[Unit]:
    """Of these variants of a launch; of a ceiling, which has none, one."""
    return [Unit(template, number) for number in variants] or [Unit(template, None)]
