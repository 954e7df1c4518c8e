# SPDX-License-Identifier: Apache-2.0
"""Records checked against the plan: while a launch writes them and when they are read."""

import math
from collections.abc import Callable, Iterable

import msgspec

from nearpeak.launching.places import NO_PLACE, misplaced
from nearpeak.launching.program_records import (
    CaseRecord,
    EnvironmentRecord,
    ProblemRecord,
    SamplesRecord,
    case_of,
)
from nearpeak.planning.commands import wanted_place
from nearpeak.planning.plan import Group, LaunchId, Plan, PlannedLaunch, Template
from nearpeak.study.records import (
    AmendmentRecord,
    Chosen,
    GroupRecord,
    LaunchRecord,
    LeftOutRecord,
    Record,
    SessionRecord,
    StudyEndRecord,
    StudyRecord,
)
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Axes, Who

_OfCase = CaseRecord | SamplesRecord | ProblemRecord
Name = tuple[int, str, int]  # variant (its index), metric, size in bytes


def launch_record(
    plan: Plan, planned: PlannedLaunch, number: int, command: str, started: str
) -> LaunchRecord:
    """Returns the record that begins a launch of the plan, with this number."""
    who = plan.who(planned)
    return LaunchRecord(
        launch=number,
        block=planned.block,
        role=planned.role,
        library=who.library,
        settings=who.settings,
        path=planned.path,
        groups=[_group_record(plan, group) for group in planned.groups],
        adapter=planned.adapter,
        slot_ms=planned.slot_ms,
        methods=list(planned.methods),
        command=command,
        started=started,
    )


def _group_record(plan: Plan, group: Group) -> GroupRecord:
    variants = [plan.variants[number] for number in group.variants]
    return GroupRecord(
        buffers=group.buffers,
        axes=group.axes,
        benchmarks=[Chosen(benchmark=variant.benchmark, axes=variant.axes) for variant in variants],
    )


Measured = tuple[str, Axes, str, Axes]  # buffers and their state; benchmark and axes, of a library


class Templates:
    """Finds the template of a plan that a recorded launch is of, by their contents."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        # Contender and place -> the templates with all that they measure.
        self._by_place: dict[tuple[object, ...], list[tuple[int, set[Measured]]]] = {}
        for index, template in enumerate(plan.launches):
            key = (template.role, plan.who(template), template.path, template.adapter)
            groups = [_group_record(plan, group) for group in template.groups]
            self._by_place.setdefault(key, []).append((index, set(_measured(groups))))

    def index_of(self, record: LaunchRecord) -> int:
        """Returns the index into Plan.launches of the template that measures all that the launch
        did, which may be less; ValueError when the plan has no such launch."""
        who = Who(record.library, record.settings)
        key = (record.role, who, record.path, record.adapter)
        mine = _measured(record.groups)
        matches = [
            (index, measured)
            for index, measured in self._by_place.get(key, [])
            if measured >= {*mine}
        ]
        if not matches or len(mine) != len({*mine}) or not mine:
            raise ValueError(f"launch {record.launch} is none of the plan's: {_describe(record)}")
        index = min(matches, key=lambda candidate: len(candidate[1]))[0]
        if record.launch < 0 or record.block < self._plan.launches[index].since:
            raise ValueError(f"launch {record.launch} is not of block {record.block}")
        return index


def _measured(groups: Iterable[GroupRecord]) -> list[Measured]:
    return [
        (group.buffers, Axes(group.axes), benchmark, axes)
        for group in groups
        for benchmark, _, axes in group.variants or [("", "", Axes())]
    ]


def _describe(record: LaunchRecord) -> str:
    who = Who(record.library, record.settings).label
    groups = [
        " ".join([group.buffers, *(chosen.benchmark for chosen in group.benchmarks)])
        for group in record.groups
    ]
    return f"{who} on {record.path} with {'; '.join(groups)}"


class Answers:
    """Takes in every record of a study in order; knows what the last launch has answered."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._metrics = {
            metric.name: metric for benchmark in plan.benchmarks for metric in benchmark.metrics
        }
        self._sessions = 0  # that have begun
        self._blocks = 0  # of which a launch has begun
        self._templates = Templates(plan)
        self._variants = plan.variant_numbers
        self.id = LaunchId(-1, -1)  # of the last launch that began
        self._launch: Template | None = None
        self._number = -1
        self._places = 0  # groups that have said where they ran
        self._measured: set[object] = set()
        self._expected: list[Name] = []
        self._answered: set[Name] = set()
        # The reason not to believe the launch: where it ran; "" when there is none.
        self.misplaced = NO_PLACE

    def check(self, record: Record) -> None:
        """Checks one record and takes it in; ValueError (or msgspec's) when it is none of this
        plan's.

        Adds the axes that the record's program leaves out, which then have their defaults.
        """
        if isinstance(record, StudyRecord):
            if record.id != self._plan.study:
                raise ValueError("it and plan.json are of two different studies")
        elif isinstance(record, SessionRecord):
            if record.session != self._sessions:
                raise ValueError(f"session {record.session} follows {self._sessions - 1}")
            self._sessions += 1
        elif isinstance(record, AmendmentRecord):
            if not self._sessions:
                raise ValueError("it is of no session")
            if not record.looks or sorted({0, *record.looks}) != [0, *record.looks]:
                raise ValueError(f"looks {record.looks} are no numbers of blocks that grow")
            if any(launch.since < self._blocks for launch in record.adds.launches):
                raise ValueError(f"it adds launches to the first {self._blocks} blocks")
        elif isinstance(record, LeftOutRecord):
            if not 0 <= record.spare < len(self._plan.spare):
                raise ValueError(f"the plan has no spare {record.spare}")
        elif isinstance(record, LaunchRecord):
            self._begin(record)
        elif not isinstance(record, StudyEndRecord):
            if self._launch is None or record.launch != self._number:
                raise ValueError(f"it belongs to launch {record.launch}, which never began")
            if isinstance(record, EnvironmentRecord):
                self._take_place(self._launch, record)
            elif isinstance(record, SamplesRecord):
                self._take_samples(self._launch, record)
            elif isinstance(record, CaseRecord):
                self._variant(self._launch, record)
                self._check_size(self._launch, record)
            elif isinstance(record, ProblemRecord) and self._launch.variants:
                variant = self._variant(self._launch, record)
                self._check_size(self._launch, record)
                metrics = self._plan.benchmark(self._plan.variants[variant]).metrics
                self._answered |= {(variant, metric.name, record.size_bytes) for metric in metrics}

    def lacking(self) -> str:
        """Describes what a launch that ended well has not answered, for people; "" if nothing.

        A ceiling may leave out methods and cases; a library answers everything.
        """
        if self.misplaced:
            return self.misplaced
        missing = [name for name in self._expected if name not in self._answered]
        if not missing:
            return ""
        variant, metric, size_bytes = missing[0]
        return (
            f"{len(missing)} of the {len(self._expected)} cases that it was to measure are missing,"
            f" {self._plan.variants[variant].benchmark} {metric} of {size_bytes} bytes first"
        )

    def _begin(self, record: LaunchRecord) -> None:
        if record.session != max(0, self._sessions - 1):
            raise ValueError(
                f"launch {record.launch} is of session {record.session}, "
                f"which is not the one that began last"
            )
        self.id = LaunchId(record.block, self._templates.index_of(record))
        self._blocks = max(self._blocks, record.block + 1)
        groups = tuple(self._group(group) for group in record.groups)
        template = self._plan.launches[self.id.template]
        self._launch = msgspec.structs.replace(template, groups=groups)
        self._number = record.launch
        self._places = 0
        self._measured = set()
        self._expected = [
            (variant, *case)
            for variant in self._launch.variants
            for case in expected_cases(
                self._plan, self._plan.benchmark(self._plan.variants[variant])
            )
        ]
        self._answered = set()
        self.misplaced = NO_PLACE

    def _group(self, record: GroupRecord) -> Group:
        variants = tuple(self._variants[variant] for variant in record.variants)
        return Group(buffers=record.buffers, axes=record.axes, variants=variants)

    def _take_place(self, launch: Template, record: EnvironmentRecord) -> None:
        if self._places == len(launch.groups):
            raise ValueError("it said too often where it ran")
        before = self.misplaced if self._places else ""
        group = launch.groups[self._places]
        self._places += 1
        self.misplaced = before or misplaced(wanted_place(self._plan, launch, group), record)

    def _take_samples(self, launch: Template, record: SamplesRecord) -> None:
        if launch.variants:
            variant = self._variant(launch, record)
            benchmark = self._plan.benchmark(self._plan.variants[variant])
            if record.metric not in [metric.name for metric in benchmark.metrics]:
                raise ValueError(f"{record.benchmark} has no metric {record.metric}")
            if not record.verified:
                raise ValueError(f"size {record.size_bytes}: its data was not verified")
        if metric := self._metrics.get(record.metric):
            self._check_size(launch, record)
            if (record.unit, record.better) != (metric.unit, metric.better):
                raise ValueError(f"{record.metric} is not of {record.unit}, {record.better} better")
        if not record.samples:
            raise ValueError(f"size {record.size_bytes}: no samples")
        if not (min(record.samples) >= 0 and max(record.samples) < math.inf):
            raise ValueError(f"size {record.size_bytes}: a sample below zero")
        case = (case_of(record, record.metric), record.method)
        if case in self._measured:
            raise ValueError(f"{record.benchmark} of {record.size_bytes} bytes was measured twice")
        self._measured.add(case)
        if launch.variants:
            self._answered.add((variant, record.metric, record.size_bytes))

    def _check_size(self, launch: Template, record: _OfCase) -> None:
        plateau = self._plan.plateaus.get(launch.path) if launch.role == "ceiling" else None
        group = launch.groups[max(0, self._places - 1)]
        sizes = self._plan.sizes_in(launch, group)
        for benchmark in self._plan.benchmarks:
            if benchmark.name == record.benchmark and not benchmark.sized:
                sizes = benchmark.sizes(sizes)
        if record.size_bytes not in (*sizes, plateau):
            raise ValueError(f"size {record.size_bytes} was not asked for")

    def _variant(self, launch: Template, record: _OfCase) -> int:
        """Returns the index of the variant that a record answers; ValueError without one."""
        for number in launch.groups[max(0, self._places - 1)].variants:
            variant = self._plan.variants[number]
            usual = {axis.name: axis.default for axis in self._plan.benchmark(variant).axes}
            if (record.benchmark, record.buffers) == (variant.benchmark, variant.buffers) and (
                {**usual, **record.axes} == {**usual, **variant.axes}
            ):
                record.axes = variant.axes
                return number
        raise ValueError(f"{record.benchmark} {record.axes} was not asked for")


def usable(
    status: str, misplaced: str, problems: Iterable[ProblemRecord]
) -> Callable[[SamplesRecord], bool]:
    """Returns a predicate: whether the numbers of a case of a launch may be used.

    Each case was verified before it was written, so it counts however the launch ended later. It
    does not count if the launch was not the requested one (`misplaced`, "failed"), if data was
    wrong in an unknown case, or if the data of this very case was wrong.
    """
    wrong = [_identity(problem) for problem in problems if problem.status == "wrong data"]
    if misplaced or status == "failed" or (status == "wrong data" and not wrong):
        return lambda _: False
    return lambda record: _identity(record) not in wrong


def _identity(record: SamplesRecord | ProblemRecord) -> tuple[object, ...]:
    """Returns what distinguishes a case from the others of its launch, whatever its metric."""
    return record.benchmark, record.size_bytes, record.buffers, record.axes, record.method


def expected_cases(plan: Plan, benchmark: Benchmark) -> list[tuple[str, int]]:
    """Returns the metric and the size of every case that a library is to answer."""
    return [
        (metric.name, size_bytes)
        for metric in benchmark.metrics
        for size_bytes in plan.sizes_of(benchmark)
    ]
