# SPDX-License-Identifier: Apache-2.0
"""The launches of a study that are still to be run, by its records: the same live and after
--resume."""

import contextlib
import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from nearpeak.launching.program_records import CaseRecord, ProblemRecord, SamplesRecord, case_of
from nearpeak.planning.estimate import Estimate, Manner, kind_of, least_samples, parts_of
from nearpeak.planning.fit import LEAST_LAUNCHES, OVERTIME, blocks_wanted
from nearpeak.planning.plan import PILOT_BLOCKS, Group, LaunchId, Plan, PlannedLaunch, Spare
from nearpeak.planning.stages import (
    Choice,
    PilotData,
    as_chosen,
)
from nearpeak.statistics.intervals import all_precise, precise
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.study.answers import Templates, believes
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
    TakenUpRecord,
)
from nearpeak.terms.identity import Axes, Case
from nearpeak.terms.path import DataPath

GIVE_UP_AFTER = 3  # failures in a row without a single sample


class Median(NamedTuple):
    """The median of the samples of one launch."""

    block: int
    session: int
    value: float


class Unit(NamedTuple):
    """The part of a study that is done, or given up, on its own: a variant of a launch; a whole
    ceiling."""

    template: int  # index into Plan.launches
    variant: int | None  # index into Plan.variants


class Cell:
    """One case of a library on a path: its launch medians."""

    def __init__(self, better: str) -> None:
        self.better = better
        self.medians: list[Median] = []

    @property
    def values(self) -> list[float]:
        """The medians themselves."""
        return [median.value for median in self.medians]

    @property
    def sessions(self) -> list[int]:
        """The session of each median."""
        return [median.session for median in self.medians]

    def before(self, block: int) -> dict[int, Median]:
        """The medians of earlier blocks, by block."""
        return {median.block: median for median in self.medians if median.block < block}

    def precise(self) -> bool:
        """True if its launches are enough."""
        return precise(self.values, self.better, self.sessions)


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
        self._done: dict[Unit, int] = {}  # first block in which it is not measured any more
        self._skipped_blocks: dict[Unit, list[range]] = defaultdict(list)  # earlier ones
        # Index into Plan.spare of what was left out -> the block from which on.
        self._dropped: dict[int, int] = {}
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
            self._leave_out(self.plan.spare[record.spare], record.block)
            self._dropped[record.spare] = record.block
        elif isinstance(record, TakenUpRecord):
            self._take_up(record.spare, record.block)
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
        if over and (len(sessions) > 1 or any(map(self._is_left, block))):
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
        blamed = self._blamed(_units(planned.template, planned.variants), status)
        failed = [unit for unit in blamed if unit.variant not in sampled]
        return max((self._failures.get(unit, 0) + 1 for unit in failed), default=0)

    def remaining(self, block: int) -> list[PlannedLaunch]:
        """Returns the launches of a block that are still to be run, in order."""
        self._look(block)
        return [planned for planned in self._block(block) if self._is_left(planned)]

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
        """True if the budget holds a block after which so many seconds are spent.

        The first two are run in any case, as are the first two with an addition, and one that was
        begun is completed. Blocks that the plan was fitted to may take longer than guessed.
        """
        if self.budget_seconds is None or block < max(self._least_blocks, self.begun_blocks):
            return True
        fitted = (
            block < blocks_wanted(self.plan) and self.budget_seconds == self.plan.budget_seconds
        )
        return seconds <= self.budget_seconds * (OVERTIME if fitted else 1.0)

    def seconds_left(self, first: int, until: int) -> float:
        """Returns the seconds that the blocks [first, until) will take."""
        return sum(self.estimate.seconds(self.remaining(block)) for block in range(first, until))

    def to_leave_out(self, first: int, until: int, seconds: float) -> dict[int, float]:
        """Chooses what to leave out, so that the blocks [first, until) take at most so many
        seconds. Returns indexes into Plan.spare, each with the seconds that would have kept it:
        first what is slow (`_slow`), then the rest in the plan's order.

        A large one after small ones may make some of these unnecessary. If nothing makes enough
        room, but all else would have had it with slow libraries at their usual speed, all else
        stays, for the two blocks that are run in any case.
        """
        chosen: dict[int, float] = {}
        while (needed := self._without(chosen, first, until)) > seconds:
            number = self._next_spare(chosen, first)
            if number is None:
                slow = list(filter(self._is_of_a_library, chosen))
                lost = self._lost_by([*self._dropped, *chosen])
                enough = self._without(slow, first, until) <= seconds + lost
                return {spare: chosen[spare] for spare in slow} if enough else chosen
            chosen[number] = needed
        for number in list(reversed(chosen))[1:]:
            rest = [other for other in chosen if other != number]
            if self._without(rest, first, until) <= seconds:
                del chosen[number]
        return chosen

    def _without(self, spares: Iterable[int], first: int, until: int) -> float:
        """Returns the seconds that blocks take when these spares are left out from the first of
        them on."""
        with self._left_out(spares, first):
            return self.seconds_left(first, until)

    def _next_spare(self, spares: Iterable[int], block: int) -> int | None:
        """Returns the spare that is left out after these; None if that leaves nothing to measure,
        or saves nothing. A library that loses a single path keeps a part of its launches, whatever
        follows."""
        with self._left_out(spares, block):
            going = [unit for unit in self._units() if not self._is_done(unit, block)]
            slow = self._slow(block)
        libraries = self._libraries(going)
        others = itertools.filterfalse(self._is_of_a_library, range(len(self.plan.spare)))
        for number in (*slow, *others):
            spare = self.plan.spare[number]
            left = [unit for unit in going if not self._is_part(unit, spare)]
            dropped = (*self._dropped, *spares, number)
            alone = {self.plan.spare[index].contender for index in dropped}
            lost = libraries - self._libraries(left)
            enough = any(unit.variant is not None for unit in left) and not lost & alone
            if len(left) < len(going) and enough:
                return number
        return None

    def _slow(self, block: int) -> list[int]:
        """Returns the libraries on paths where they are much slower than usual, as indexes into
        Plan.spare. Those that take most of this block come first, as anything else would be left
        out for their sake."""
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
        """Returns the seconds beyond the usual that launches of slow libraries took."""
        slow = [self.plan.spare[number] for number in spares if self._is_of_a_library(number)]
        return self.estimate.lost(
            template
            for template in range(len(self.plan.launches))
            if self._is_part_of_any(Unit(template, None), slow)
        )

    def _is_of_a_library(self, number: int) -> bool:
        """True if an entry of Plan.spare is of a single library: it is left out only where it is
        slow."""
        return self.plan.spare[number].contender is not None

    def _libraries(self, units: Iterable[Unit]) -> set[int | None]:
        return {self.plan.launches[unit.template].contender for unit in units} - {None}

    @contextlib.contextmanager
    def _left_out(self, spares: Iterable[int], block: int) -> Iterator[None]:
        """Leaves these spares out from a block on, within the context."""
        self._look(block)
        done = dict(self._done)
        for number in spares:
            self._leave_out(self.plan.spare[number], block)
        try:
            yield
        finally:
            self._done = done

    def to_take_up(self, first: int, blocks: int, seconds: float) -> list[int]:
        """Chooses what to measure again of what was left out: the parts that reach so many blocks
        in all from block `first` on, while all else reaches as many, in at most so many seconds.
        Returns indexes into Plan.spare. The part that was left out last, and so is the most
        important, comes first; libraries that were slow come last."""
        chosen: list[int] = []
        latest = list(reversed(self._dropped))
        for number in sorted(latest, key=self._is_of_a_library):
            candidates = [*chosen, number]
            until = first + blocks - min(self._dropped[index] for index in candidates)
            if until > self.looks[-1]:
                continue
            with self._taken_up(chosen, first):
                before = self._units_left(first)
            with self._taken_up(candidates, first):
                brings = self._units_left(first) > before
                if brings and self.seconds_left(first, until) <= seconds:
                    chosen = candidates
        return chosen

    def _units_left(self, block: int) -> int:
        return sum(
            len(_units(planned.template, planned.variants)) for planned in self.remaining(block)
        )

    @contextlib.contextmanager
    def _taken_up(self, spares: Iterable[int], block: int) -> Iterator[None]:
        """Measures these spares again from a block on, within the context."""
        self._look(block)
        dropped, done = dict(self._dropped), dict(self._done)
        skipped = {unit: list(ranges) for unit, ranges in self._skipped_blocks.items()}
        for number in spares:
            self._take_up(number, block)
        try:
            yield
        finally:
            self._dropped, self._done = dropped, done
            self._skipped_blocks = defaultdict(list, skipped)

    def contenders_done(self, block: int) -> bool:
        """True if no MPI launch is needed any more, from this block on."""
        self._look(block)
        return all(self._is_done(unit, block) for unit in self._of_role("mpi"))

    def cells(self) -> list[Cell]:
        """Returns the cells that libraries were measured in so far, except those left out since."""
        return [cell for unit in self._kept() for cell in self._cells[unit].values()]

    def _kept(self) -> list[Unit]:
        """Returns the units of libraries, except those left out since: more time does not help
        these."""
        spares = self._dropped_spares
        return [unit for unit in self._of_role("mpi") if not self._is_part_of_any(unit, spares)]

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
            unit for planned in remaining for unit in _units(planned.template, planned.variants)
        }
        cells = [
            (cell, unit in going) for unit in self._kept() for cell in self._cells[unit].values()
        ]
        return forecast(
            [cell.values for cell, _ in cells],
            self.estimate.seconds(remaining),
            sessions=[cell.sessions for cell, _ in cells],
            going=[goes_on for _, goes_on in cells],
        )

    def _block(self, number: int) -> list[PlannedLaunch]:
        left = [self._left_of(planned) for planned in self.plan.block(number)]
        planned = [launch for launch in left if launch is not None]
        choice = self._chosen() if number >= PILOT_BLOCKS else None
        if choice is None:
            return planned
        return [as_chosen(self.plan, launch, choice) for launch in planned]

    def _left_of(self, planned: PlannedLaunch) -> PlannedLaunch | None:
        """Returns a launch without what is done. Variants in which launches ended badly come after
        all others, so that they take nothing along; those that did so least often come first."""
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
            self._go_on(self._of_role("mpi"), first)

    def _go_on(self, units: Iterable[Unit], block: int) -> None:
        """Launches again, from a block on, what is done of these units because it was precise."""
        for unit in self._precise_units(units):
            self._skipped_blocks[unit].append(range(self._done.pop(unit), block))

    def _precise_units(self, units: Iterable[Unit]) -> list[Unit]:
        """Returns those of these units that are done because they were judged precise, and neither
        given up nor left out; with the ceilings of any of them."""
        spares = self._dropped_spares
        precise = {
            unit
            for unit in self._done
            if not self._is_given_up(unit) and not self._is_part_of_any(unit, spares)
        }
        wanted = [unit for unit in units if unit in precise]
        ceilings = [
            ceiling
            for ceiling in self._of_role("ceiling")
            if ceiling in precise and {*wanted} & {*self._users(ceiling.template)}
        ]
        return [*dict.fromkeys([*wanted, *ceilings])]

    def _leave_out(self, spare: Spare, block: int) -> None:
        """Leaves out a spare, and the ceilings of what is not measured any more."""
        for unit in self._units():
            if self._is_part(unit, spare):
                self._done[unit] = min(block, self._done.get(unit, block))
        for unit in self._of_role("ceiling"):
            if all(self._is_done(user, block) for user in self._users(unit.template)):
                self._done.setdefault(unit, block)

    def _take_up(self, number: int, block: int) -> None:
        """Takes up what was left out, with its ceilings, except what another spare still leaves
        out."""
        del self._dropped[number]
        spare = self.plan.spare[number]
        self._go_on([unit for unit in self._units() if self._is_part(unit, spare)], block)

    @property
    def _dropped_spares(self) -> list[Spare]:
        return [self.plan.spare[number] for number in self._dropped]

    def _is_part_of_any(self, unit: Unit, spares: Iterable[Spare]) -> bool:
        return any(self._is_part(unit, spare) for spare in spares)

    def _is_part(self, unit: Unit, spare: Spare) -> bool:
        launch = self.plan.launches[unit.template]
        if spare.contender is not None and launch.contender != spare.contender:
            return False
        return launch.path in spare.paths or unit.variant in spare.variants

    def _units(self) -> list[Unit]:
        return [*self._of_role("mpi"), *self._of_role("ceiling")]

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
        units = _units(template, variants)
        self._count_failures(units, record.status, begun.block)
        samples = list(filter(believes(record.status, "", self._problems), samples))
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
                if self._is_given_up(unit):
                    self._done.setdefault(unit, block + 1)
        for unit in blamed:
            self._bad_ends[unit] = self._bad_ends.get(unit, 0) + 1

    def _is_given_up(self, unit: Unit) -> bool:
        return self._failures.get(unit, 0) >= GIVE_UP_AFTER

    def _add_medians(
        self, template: int, begun: LaunchRecord, samples: Iterable[SamplesRecord]
    ) -> None:
        """Adds the medians of a launch, replacing those of an earlier try."""
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
        for unit in self._of_role("mpi"):
            launch = self.plan.launches[unit.template]
            if launch.path in paths and self._cells[unit]:
                planned[launch.since].append(unit)
        for units in planned.values():
            if not all(self._is_done(unit, block) for unit in units):
                self._go_on(units, block)

    def _judge(self, look: int, moving: Sequence[set[str]]) -> None:
        """Ends what is precise: on a path by itself, between moving CPUs all together."""
        together: dict[str | int, list[list[Unit]]] = defaultdict(list)
        for number, rivals in enumerate(self._rivals()):
            if going := [unit for unit in rivals if unit not in self._done and self._cells[unit]]:
                path = self.plan.launches[going[0].template].path
                mates = next((min(paths) for paths in moving if path in paths), number)
                together[mates].append(going)
        for group in together.values():
            if all(self._precise(going, look) for going in group):
                self._done.update(dict.fromkeys((unit for going in group for unit in going), look))
        for unit in self._of_role("ceiling"):
            if unit not in self._done and all(
                self._is_done(user, look) for user in self._users(unit.template)
            ):
                self._done[unit] = look

    def _is_over(self, blocks: int) -> bool:
        """True if nothing is left of so many first blocks."""
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
        """Groups the units that all alternatives measure on one path in one variant."""
        groups: dict[tuple[str, int | None], list[Unit]] = defaultdict(list)
        for unit in self._of_role("mpi"):
            groups[self.plan.launches[unit.template].path, unit.variant].append(unit)
        return list(groups.values())

    def _precise(self, rivals: Sequence[Unit], look: int) -> bool:
        """True if the blocks before a look are enough for all of these alternatives together."""
        cells: dict[Case, list[Cell]] = defaultdict(list)
        for unit in rivals:
            for case, cell in self._cells[unit].items():
                cells[case].append(cell)
        return all(_precise_together(together, look) for together in cells.values())

    def _users(self, ceiling: int) -> list[Unit]:
        """Returns the units of libraries that are measured below a ceiling; for local memory, all
        of them."""
        path = self.plan.launches[ceiling].path
        users = [
            unit for unit in self._of_role("mpi") if self.plan.launches[unit.template].path == path
        ]
        return users or self._of_role("mpi")

    def _of_role(self, role: str) -> list[Unit]:
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
        skipped = self._skipped_blocks[unit]
        local = self.plan.find_path(launch.path).transport == "local"
        if local and block >= FEWEST_FOR_INTERVAL + sum(map(len, skipped)):
            return True
        if any(block in blocks for blocks in skipped):
            return True
        return self._done.get(unit, block + 1) <= block


def _precise_together(cells: Sequence[Cell], look: int) -> bool:
    """True if all alternatives are precise in the blocks that they have in common before a look."""
    by_block = [cell.before(look) for cell in cells]
    blocks = sorted(set.intersection(*map(set, by_block)))
    sessions = [by_block[0][block].session for block in blocks]
    values = [_values(medians, blocks) for medians in by_block]
    return all_precise(values, cells[0].better, sessions)


def _values(medians: Mapping[int, Median], blocks: Iterable[int]) -> list[float]:
    return [medians[block].value for block in blocks]


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


def _units(template: int, variants: Sequence[int]) -> list[Unit]:
    """Returns the units of these variants of a launch; a ceiling, which has none, is one unit."""
    return [Unit(template, number) for number in variants] or [Unit(template, None)]
