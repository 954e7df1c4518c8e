# SPDX-License-Identifier: Apache-2.0
"""One try of a launch: its records so far, each checked against what it was to measure."""

import math
from array import array
from collections.abc import Iterator, Sequence

import msgspec

from nearpeak.launching.places import NO_PLACE, misplaced
from nearpeak.launching.program_records import (
    CaseRecord,
    EnvironmentRecord,
    ProblemRecord,
    ProgramRecord,
    SamplesRecord,
    case_of,
)
from nearpeak.planning.commands import wanted_place
from nearpeak.planning.plan import Group, LaunchId, Plan
from nearpeak.study.records import LaunchEndRecord, LaunchRecord
from nearpeak.study.scope import Unit, units_of
from nearpeak.terms.benchmarks import Benchmark, by_name
from nearpeak.terms.identity import Axes, Case
from nearpeak.terms.outcomes import Ending, failure

_OfCase = CaseRecord | SamplesRecord | ProblemRecord


class Launched:
    """One try of a launch. Without an end it still runs or was cut off; its cases count."""

    def __init__(
        self, plan: Plan, begin: LaunchRecord, template: int, groups: Sequence[Group]
    ) -> None:
        """`template`: index into Plan.launches. `groups`: what it is to measure of it, one or
        more."""
        self.begin = begin
        self.id = LaunchId(begin.block, template)
        self.environment: EnvironmentRecord | None = None  # of its first group
        self.case: CaseRecord | None = None  # the last that it began
        self.samples: list[SamplesRecord] = []
        self._here: EnvironmentRecord | None = None  # of the group that runs
        self._of_samples: dict[int, EnvironmentRecord | None] = {}  # by the id of the record
        self.problems: list[ProblemRecord] = []
        self.end: LaunchEndRecord | None = None
        # The reason not to believe it: where it ran; "" when there is none.
        self.misplaced = NO_PLACE
        self._plan = plan
        self._benchmarks = by_name(plan.benchmarks)
        self._metrics = {
            metric.name: metric for benchmark in plan.benchmarks for metric in benchmark.metrics
        }
        self._launch = msgspec.structs.replace(plan.launches[template], groups=tuple(groups))
        self._group = groups[0]  # that runs
        self._waiting = [*groups]  # that have not said where they run
        variants = ((number, plan.variants[number]) for number in self._launch.variants)
        self._units = {
            (variant.benchmark, variant.buffers, Axes(variant.axes)): Unit(template, number)
            for number, variant in variants
        }
        self._measured: set[tuple[Case, str | None]] = set()

    def take(self, record: ProgramRecord) -> None:
        """Takes in a record of its program; ValueError (or msgspec's) for one that is no answer.

        Adds the axes that the program leaves out, which then have their defaults.
        """
        match record:
            case EnvironmentRecord():
                self._take_place(record)
            case CaseRecord():
                self._answer(record)
                self._check_size(record)
                self.case = record
            case SamplesRecord():
                self._check_samples(record)
                self.samples.append(record)
                self._of_samples[id(record)] = self._here
            case ProblemRecord():
                if self._units:
                    self._answer(record)
                    self._check_size(record)
                self.problems.append(record)

    def take_end(self, record: LaunchEndRecord) -> None:
        """Takes in its end."""
        self.end = record
        for measured in self.samples:  # a million boxed numbers are not worth their memory
            measured.samples = array("d", measured.samples)

    def environment_of(self, record: SamplesRecord) -> EnvironmentRecord | None:
        """Returns the environment of the group that measured a record of it."""
        return self._of_samples[id(record)]

    def unit_of(self, record: _OfCase) -> Unit:
        """Returns the unit that a record of it is of."""
        key = (record.benchmark, record.buffers, Axes(record.axes))
        return self._units.get(key, Unit(self.id.template, None))

    def cases_of(self, problem: ProblemRecord) -> list[Case]:
        """Returns the cases that have no number for this reason: one of each metric. A fact of a
        ceiling has the name of its one metric."""
        described = self._benchmarks.get(problem.benchmark)
        if described is None:
            return [case_of(problem, problem.benchmark)]
        return [case_of(problem, metric.name) for metric in described.metrics]

    def lacking(self) -> str:
        """Describes what a launch that ended well has not answered, for people; "" if nothing.

        A ceiling may leave out methods and cases; a library answers everything.
        """
        if self.misplaced:
            return self.misplaced
        answered = {case_of(record, record.metric) for record in self.samples}
        answered.update(case for problem in self.problems for case in self.cases_of(problem))
        expected = list(self._expected())
        missing = [case for case in expected if case not in answered]
        if not missing:
            return ""
        return (
            f"{len(missing)} of the {len(expected)} cases that it was to measure are missing,"
            f" {missing[0].benchmark} {missing[0].metric} of {missing[0].x} bytes first"
        )

    @property
    def units(self) -> list[Unit]:
        """The units that it was to measure."""
        return units_of(self.id.template, self._launch.variants)

    @property
    def status(self) -> Ending:
        """Its ending; one that was cut off ended well as far as it came."""
        return self.end.status if self.end else "ok"

    @property
    def over(self) -> bool:
        """True if it was not cut off."""
        return self.end is not None and self.end.status != "interrupted"

    @property
    def failed(self) -> bool:
        """True if it says something against the library."""
        return failure(self.status) is not None or bool(self.wrong)

    @property
    def wrong(self) -> list[ProblemRecord]:
        """The cases whose data was wrong."""
        return [problem for problem in self.problems if problem.status == "wrong data"]

    @property
    def not_survived(self) -> Case | None:
        """The case that it began and did not record."""
        if self.case is None:
            return None
        answers: list[_OfCase] = [*self.samples, *self.problems]
        recorded = {case_of(record, "") for record in answers}
        began = case_of(self.case, "")
        return None if began in recorded else began

    @property
    def believable(self) -> list[SamplesRecord]:
        """The cases whose numbers may be used.

        Each case was verified before it was written, so it counts however the launch ended later.
        It does not count if the launch was not the requested one (`misplaced`, "failed"), if data
        was wrong in an unknown case, or if the data of this very case was wrong.
        """
        wrong = {_whatever_metric(problem) for problem in self.wrong}
        unknown = self.status == "wrong data" and not wrong
        if self.misplaced or self.status == "failed" or unknown:
            return []
        return [record for record in self.samples if _whatever_metric(record) not in wrong]

    def blamed(self, status: Ending) -> list[Unit]:
        """Returns the units that it ended badly in, if it ends with this status: the variant that
        it had begun and not answered; if it began none, all."""
        if status == "ok" or (self.case is None and self.samples):
            return []
        if self.case is None:
            return self.units
        return [self.unit_of(self.case)] if self.not_survived else []

    def _take_place(self, record: EnvironmentRecord) -> None:
        if not self._waiting:
            raise ValueError("it said too often where it ran")
        self._group = self._waiting.pop(0)
        self._here = record
        reason = misplaced(wanted_place(self._plan, self._launch, self._group), record)
        if self.environment is None:
            self.environment, self.misplaced = record, reason
        self.misplaced = self.misplaced or reason

    def _check_samples(self, record: SamplesRecord) -> None:
        case = f"{record.benchmark} of {record.size_bytes} bytes"
        if self._units:
            metrics = [metric.name for metric in self._answer(record).metrics]
            if record.metric not in metrics:
                raise ValueError(f"{record.benchmark} has no metric {record.metric}")
            if not record.verified:
                raise ValueError(f"{case}: its data was not verified")
        if metric := self._metrics.get(record.metric):
            self._check_size(record)
            if (record.unit, record.better) != (metric.unit, metric.better):
                raise ValueError(f"{record.metric} is not of {record.unit}, {record.better} better")
        if not record.samples:
            raise ValueError(f"{case}: no samples")
        if not (min(record.samples) >= 0 and max(record.samples) < math.inf):
            raise ValueError(f"{case}: a sample below zero")
        measured = (case_of(record, record.metric), record.method)
        if measured in self._measured:
            raise ValueError(f"{case} was measured twice")
        self._measured.add(measured)

    def _check_size(self, record: _OfCase) -> None:
        ceiling = self._launch.role == "ceiling"
        plateau = self._plan.plateaus.get(self._launch.path) if ceiling else None
        sizes = self._plan.sizes_in(self._launch, self._group)
        described = self._benchmarks.get(record.benchmark)
        if described and not described.sized:
            sizes = described.sizes(sizes)
        if record.size_bytes not in (*sizes, plateau):
            raise ValueError(f"size {record.size_bytes} was not asked for")

    def _answer(self, record: _OfCase) -> Benchmark:
        """Gives a record the axes of the variant that it answers, and returns its benchmark;
        ValueError without one."""
        for number in self._group.variants:
            variant = self._plan.variants[number]
            benchmark = self._plan.benchmark(variant)
            usual = benchmark.defaults
            if (record.benchmark, record.buffers) == (variant.benchmark, variant.buffers) and (
                {**usual, **record.axes} == {**usual, **variant.axes}
            ):
                record.axes = variant.axes
                return benchmark
        raise ValueError(f"{record.benchmark} {record.axes} was not asked for")

    def _expected(self) -> Iterator[Case]:
        """Yields every case that a library is to answer."""
        for number in self._launch.variants:
            variant = self._plan.variants[number]
            for metric, size_bytes in expected_cases(self._plan, self._plan.benchmark(variant)):
                yield Case(
                    benchmark=variant.benchmark,
                    metric=metric,
                    buffers=variant.buffers,
                    axes=variant.axes,
                    x=size_bytes,
                )


def _whatever_metric(record: SamplesRecord | ProblemRecord) -> tuple[Case, str | None]:
    """Returns what distinguishes a case from the others of its launch, whatever its metric."""
    return case_of(record, ""), record.method


def expected_cases(plan: Plan, benchmark: Benchmark) -> list[tuple[str, int]]:
    """Returns the metric and the size of every case that a library is to answer."""
    return [
        (metric.name, size_bytes)
        for metric in benchmark.metrics
        for size_bytes in plan.sizes_of(benchmark)
    ]
