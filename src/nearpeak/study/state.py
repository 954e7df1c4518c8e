# SPDX-License-Identifier: Apache-2.0
"""What a study's records say about what is still to be run: the same live and after --resume."""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from nearpeak.identity import Case
from nearpeak.statistics.intervals import precise
from nearpeak.study.answers import Templates, believes
from nearpeak.study.estimate import Estimate, Manner, kind_of, parts_of
from nearpeak.study.forecast import Forecast, forecast
from nearpeak.study.model import PILOT_BLOCKS, Plan, PlannedLaunch
from nearpeak.study.plan import LEAST_LAUNCHES
from nearpeak.study.records import (
    AmendmentRecord,
    LaunchEndRecord,
    LaunchRecord,
    ProblemRecord,
    Record,
    SamplesRecord,
    case_of,
)
from nearpeak.study.stages import (
    BRIEF_BLOCKS,
    Choice,
    PilotData,
    as_chosen,
    least_samples,
)

GIVE_UP_AFTER = 3  # failures in a row without a single sample
GIVEN_UP = "; given up after"  # how the message of the last of them ends


class Median(NamedTuple):
    """Of the samples of one launch."""

    block: int
    session: int
    value: float


class Cell:
    """One case of a library on a path: its launch medians."""

    def __init__(self, better: str) -> None:
        self.better = better
        self.medians: list[Median] = []

    def precise(self, until: int | None = None) -> bool:
        """Whether the blocks before `until` are enough; without it, all that there are."""
        known = [one for one in self.medians if until is None or one.block < until]
        sessions = [one.session for one in known]
        return precise([one.value for one in known], self.better, sessions)


class State:
    """Fed with every record in order; asked which launches remain."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.estimate = Estimate(plan)
        self.pilot = PilotData(plan)
        self.looks = plan.looks  # and, as the next one, what was added to the plan
        self.budget_seconds = plan.budget_seconds  # for `seconds`
        self.seconds = plan.trial_seconds  # of trials, and of all launches that ended
        self.begun_blocks = 0  # of which a launch began
        self.ended: dict[int, str] = {}  # launch -> status
        self._templates = Templates(plan)
        self._begun: LaunchRecord | None = None
        self._open: list[SamplesRecord] = []
        self._problems: list[ProblemRecord] = []
        # All by template: index into Plan.launches.
        self._failures: dict[int, int] = {}
        self._cells: dict[int, dict[Case, Cell]] = defaultdict(dict)
        self._done: dict[int, int] = {}  # first block in which it is not launched any more
        self._passed: dict[int, list[range]] = defaultdict(list)  # blocks without it, before
        self._choice: Choice | None = None
        self._over = 0  # so many first blocks are over
        self._looked: set[int] = set()

    def feed(self, record: Record) -> None:
        """Takes in one record."""
        if isinstance(record, LaunchRecord):
            self._begun, self._open, self._problems = record, [], []
            self.begun_blocks = max(self.begun_blocks, record.block + 1)
        elif isinstance(record, SamplesRecord):
            self._open.append(record)
        elif isinstance(record, ProblemRecord):
            self._problems.append(record)
        elif isinstance(record, LaunchEndRecord):
            self._end(record)
        elif isinstance(record, AmendmentRecord):
            self._amend(record)

    @property
    def whole_blocks(self) -> int:
        """The first blocks of which nothing is left."""
        self._look(self.begun_blocks)
        self._is_over(self.begun_blocks)
        return min(self._over, self.begun_blocks)

    def failures_with(self, planned: PlannedLaunch, status: str) -> int:
        """Failures in a row without samples, once the running launch has ended so."""
        if status == "ok" or self._open:
            return 0
        return self._failures.get(planned.template, 0) + 1

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
            if block >= LEAST_LAUNCHES and spent > self.budget_seconds:
                break
            block += 1
        return block

    def contenders_done(self, block: int) -> bool:
        """Whether no MPI launch is needed any more, from this block on."""
        self._look(block)
        return all(self._is_done(template, block) for template in self._of("mpi"))

    def cells(self) -> list[Cell]:
        """All that libraries were measured in so far."""
        return [cell for template in self._of("mpi") for cell in self._cells[template].values()]

    def forecast(self) -> Forecast | None:
        """What was reached, and what more time would bring; None where nothing more is needed."""
        block = self._over
        while block < self.looks[-1] and not self.remaining(block):
            block += 1
        remaining = self.remaining(block)
        templates = {planned.template for planned in remaining}
        known = [
            (cell.medians, template in templates)
            for template in self._of("mpi")
            for cell in self._cells[template].values()
        ]
        return forecast(
            [[one.value for one in some] for some, _ in known],
            self.estimate.seconds(remaining),
            sessions=[[one.session for one in some] for some, _ in known],
            going=[goes_on for _, goes_on in known],
        )

    def _block(self, number: int) -> list[PlannedLaunch]:
        planned = self.plan.block(number)
        choice = self._chosen() if number >= PILOT_BLOCKS else None
        if choice is None:
            return planned
        return [as_chosen(self.plan, one, choice) for one in planned]

    def _chosen(self) -> Choice | None:
        """What the pilot says; None until it is over."""
        if self._choice is None and self._is_over(PILOT_BLOCKS):
            self._choice = self.pilot.choose()
        return self._choice

    def _amend(self, record: AmendmentRecord) -> None:
        """What was judged precise before is launched again, if at all, from the next block on."""
        first = self.begun_blocks
        self._look(first)
        self._over = min(self._over, first)
        self.looks = record.looks
        more = record.budget_seconds
        self.budget_seconds = None if more is None else self.seconds + more
        if record.every:
            for template in [one for one in self._done if not self._is_given_up(one)]:
                self._passed[template].append(range(self._done.pop(template), first))

    def _end(self, record: LaunchEndRecord) -> None:
        begun, samples = self._begun, self._open
        self._begun, self._open = None, []
        self.seconds += record.seconds
        if begun is None or record.status == "interrupted":
            return
        template = self._templates.find(begun)
        self.ended[record.launch] = record.status
        kind = kind_of(self.plan, self.plan.launches[template])
        least = least_samples(self.plan, kind, begun.block)
        slot_ms = begun.slot_ms or self.plan.slot_ms
        parts = parts_of(samples, record.seconds, slot_ms, least)
        manner = Manner(slot_ms, least, tuple(begun.methods))
        self.estimate.add(template, manner, record.seconds, parts)
        self._count_failures(template, begun.block, good=record.status == "ok" or bool(samples))
        samples = list(filter(believes(record.status, "", self._problems), samples))
        if begun.block < PILOT_BLOCKS and samples:
            self.pilot.add(template, samples, parts)
        if begun.role == "mpi":
            self._add_medians(template, begun, samples)

    def _count_failures(self, template: int, block: int, *, good: bool) -> None:
        self._failures[template] = 0 if good else self._failures.get(template, 0) + 1
        if self._is_given_up(template):
            self._done.setdefault(template, block + 1)

    def _is_given_up(self, template: int) -> bool:
        return self._failures.get(template, 0) >= GIVE_UP_AFTER

    def _add_medians(
        self, template: int, begun: LaunchRecord, samples: Iterable[SamplesRecord]
    ) -> None:
        for one in samples:
            cell = self._cells[template].setdefault(case_of(one, one.metric), Cell(one.better))
            median = Median(begun.block, begun.session, statistics.median(one.samples))
            cell.medians.append(median)

    def _look(self, block: int) -> None:
        """Judges precision at every look that lies before this block, once what it is about is
        measured."""
        for look in self.looks:
            if look > block or not self._is_over(look):
                return
            if look not in self._looked:
                self._looked.add(look)
                self._judge(look)

    def _judge(self, look: int) -> None:
        for template in self._of("mpi"):
            if template not in self._done and self._precise(template, look):
                self._done[template] = look
        for template in self._of("ceiling"):
            if template not in self._done and all(
                self._is_done(user, look) for user in self._users(template)
            ):
                self._done[template] = look

    def _is_over(self, blocks: int) -> bool:
        """Whether nothing is left of so many first blocks."""
        while self._over < blocks and not any(map(self._is_left, self.plan.block(self._over))):
            self._over += 1
        return self._over >= blocks

    def _is_left(self, planned: PlannedLaunch) -> bool:
        return planned.launch not in self.ended and not self._is_done(
            planned.template, planned.block
        )

    def _precise(self, template: int, look: int) -> bool:
        cells = self._cells[template]
        return bool(cells) and all(cell.precise(look) for cell in cells.values())

    def _users(self, ceiling: int) -> list[int]:
        """The MPI launches that a ceiling is the ceiling of; for local memory, all of them."""
        path = self.plan.launches[ceiling].path
        users = [one for one in self._of("mpi") if self.plan.launches[one].path == path]
        return users or self._of("mpi")

    def _of(self, role: str) -> list[int]:
        return [index for index, one in enumerate(self.plan.launches) if one.role == role]

    def _is_done(self, template: int, block: int) -> bool:
        if block >= BRIEF_BLOCKS and self.plan.is_brief(self.plan.launches[template]):
            return True
        if any(block in passed for passed in self._passed[template]):
            return True
        return self._done.get(template, block + 1) <= block
