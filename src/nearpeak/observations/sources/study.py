# SPDX-License-Identifier: Apache-2.0
"""A study folder as a source: plan.json, machine.json and the truth, records.jsonl."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from nearpeak.arrays import Floats
from nearpeak.errors import UserError
from nearpeak.journal import resume_study
from nearpeak.launching import program_records
from nearpeak.launching.describe import Variant
from nearpeak.launching.places import NO_PLACE
from nearpeak.libraries.families import all_families, is_ceiling, is_native
from nearpeak.libraries.library import Contender
from nearpeak.machine.doctor import NO_SETTINGS, VARIABLES
from nearpeak.machine.machine import SCHEMA as MACHINE_SCHEMA
from nearpeak.machine.machine import Machine
from nearpeak.machine.states import slowdown_reasons
from nearpeak.observations.explained import read_explanations
from nearpeak.observations.observed import (
    Block,
    Gap,
    Launch,
    Library,
    Observation,
    Observations,
    Session,
    Summary,
)
from nearpeak.planning.plan import SCHEMA as PLAN_SCHEMA
from nearpeak.planning.plan import LaunchId, Plan
from nearpeak.study import journal, records
from nearpeak.study.answers import Answers, expected_cases, usable
from nearpeak.terms import logs
from nearpeak.terms.benchmarks import by_name, named
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.outcomes import Ending, NoFigure, failure
from nearpeak.terms.study_files import MACHINE, PLAN

T = TypeVar("T")
# Studies of before have that in the message, and no field for it.
_VARIABLE = re.compile(r"\b[A-Z]+_\w+")
GIVEN_UP = re.compile(r"; given up after (\d+) failures in a row without a sample$")


@dataclass
class _Recorded:
    """The records of one try of a launch. Without an end it was cut off; its cases still count."""

    id: LaunchId
    begin: records.LaunchRecord
    environment: program_records.EnvironmentRecord | None = None
    samples: list[tuple[program_records.SamplesRecord, Floats]] = field(default_factory=list)
    problems: list[program_records.ProblemRecord] = field(default_factory=list)
    case: program_records.CaseRecord | None = None  # the last that it began
    end: records.LaunchEndRecord | None = None
    misplaced: str = NO_PLACE  # why it did not run where it was to run; "" when it did

    @property
    def wrong(self) -> list[program_records.ProblemRecord]:
        """The cases whose data was wrong."""
        return [problem for problem in self.problems if problem.status == "wrong data"]

    @property
    def not_survived(self) -> Case | None:
        """The case that it began and did not record."""
        if self.case is None:
            return None
        recorded = {program_records.case_of(record, "") for record, _ in self.samples}
        recorded |= {program_records.case_of(problem, "") for problem in self.problems}
        began = program_records.case_of(self.case, "")
        return None if began in recorded else began

    @property
    def over(self) -> bool:
        """True if it was not cut off."""
        return self.end is not None and self.end.status != "interrupted"

    @property
    def failed(self) -> bool:
        """True if it says something against the library."""
        return failure(self.status) is not None or bool(self.wrong)

    @property
    def status(self) -> Ending:
        """Its ending; one that was cut off ended well as far as it came."""
        return self.end.status if self.end else "ok"

    @property
    def believable(self) -> list[tuple[program_records.SamplesRecord, Floats]]:
        """The cases whose numbers may be used."""
        use = usable(self.status, self.misplaced, self.problems)
        return [pair for pair in self.samples if use(pair[0])]


def load(folder: Path) -> Observations:
    """The study in `folder`.

    Of a launch that was tried several times the last try counts that was not cut off, and of the
    others what failed. A last line that was cut off (the study was killed, or the disk was full) is
    left out; any other bad line is an error.

    Raises:
        UserError: no study there, one of another schema, or a file that cannot be read.
    """
    for name in (journal.NAME, PLAN, MACHINE):
        if not (folder / name).is_file():
            hint = "it holds a report alone: " if (folder / "results.json").is_file() else ""
            raise UserError(
                f"{folder}: no {name} there; {hint}give the folder that `nearpeak study` wrote, or "
                "the file that was imported"
            )
    next(journal.read_records(folder), None)  # refuses other files that were changed
    plan = journal.grown(_decode(folder / PLAN, Plan, PLAN_SCHEMA), folder)
    machine = _decode(folder / MACHINE, Machine, None)
    if machine.schema > MACHINE_SCHEMA:
        raise _unknown_schema(folder / MACHINE, machine.schema, MACHINE_SCHEMA)
    return _read(folder, plan, _with_variables(machine))


def _with_variables(machine: Machine) -> Machine:
    """The machine, with variables that the doctor of older studies named only in its sentence."""
    return msgspec.structs.replace(
        machine,
        diagnoses=[
            msgspec.structs.replace(diagnosis, variables=_named_in(diagnosis.message))
            if diagnosis.id == VARIABLES and not diagnosis.variables
            else diagnosis
            for diagnosis in machine.diagnoses
        ],
    )


def _named_in(message: str) -> list[str]:
    return [name for name in _VARIABLE.findall(message) if name not in NO_SETTINGS]


def _decode(path: Path, kind: type[T], schema: int | None) -> T:
    try:
        plain = msgspec.json.decode(path.read_bytes())
        if schema is not None and plain["schema"] != schema:
            raise _unknown_schema(path, plain["schema"], schema)
        return msgspec.convert(plain, type=kind, dec_hook=journal.decode_path, str_keys=True)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): make it readable") from None
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: damaged ({error}); restore it from a copy or measure anew"
        ) from None


def _unknown_schema(path: Path, schema: int, readable: int) -> UserError:
    return UserError(
        f"{path}: schema {schema}, this nearpeak reads schema {readable}: "
        "use the nearpeak that wrote it, or start anew in another folder"
    )


def _read(folder: Path, plan: Plan, machine: Machine) -> Observations:
    places = {path.id: path.place for path in plan.paths}
    study: records.StudyRecord | None = None
    observations = Observations(
        name=plan.study,
        started="",
        nearpeak="",
        complete=False,
        machine=machine,
        paths=plan.paths,
        libraries=[_library(contender) for contender in plan.contenders],
        benchmarks=plan.benchmarks,
        curves=[
            curve for variant in plan.variants for curve in _curves(plan, variant, variant.buffers)
        ],
        awareness=plan.awareness,
        explanations=read_explanations(folder),
        left_out=[*plan.left_out],
        sessions=[],
    )
    tries: dict[int, _Recorded] = {}
    answers = Answers(plan)
    left_out: dict[int, LeftOut] = {}  # after the start, by the number of a spare
    for record in journal.read_records(folder, answers.check):
        if isinstance(record, records.StudyRecord):
            study = study or record
        elif isinstance(record, records.SessionRecord):
            observations.sessions.append(_session(record))
        elif isinstance(record, records.AmendmentRecord):
            added = "; asked for: ".join(filter(None, [record.reason, record.asked]))
            observations.sessions[-1] = replace(observations.sessions[-1], added=added)
            observations.complete, observations.ended = False, ""
        elif isinstance(record, records.LeftOutRecord):
            left_out[record.spare] = plan.left_out_later(
                record.spare, record.budget_seconds, record.block
            )
        elif isinstance(record, records.StudyEndRecord):
            observations.complete = record.status != "interrupted"
            observations.ended = record.message
        elif isinstance(record, records.LaunchRecord):
            tries.pop(record.launch, None)  # of schema 4, where a later one has the same number
            tries[record.launch] = _Recorded(answers.id, record)
            observations.complete, observations.ended = False, ""
        else:
            _add(tries[record.launch], record, answers)
    if study is None or not tries:
        raise UserError(f"{folder}: no launch was recorded there; run `{resume_study(folder)}`")
    observations.started, observations.nearpeak = study.started, study.nearpeak
    observations.left_out += left_out.values()
    counting = _counting(tries.values())
    for recorded in tries.values():
        counts = counting[recorded.id] is recorded
        if counts or recorded.failed:
            launch = _launch(plan, places[recorded.begin.path], recorded)
            observations.launches.append(launch)
            observations.gaps += _gaps(plan, launch, recorded)
            for record, samples in recorded.believable if counts else ():
                observations.observed.append(_observation(launch, record, samples))
    return observations


def _counting(tries: Iterable[_Recorded]) -> dict[LaunchId, _Recorded]:
    """The try of each launch whose figures count."""
    counting: dict[LaunchId, _Recorded] = {}
    for recorded in tries:
        if recorded.over or recorded.id not in counting or not counting[recorded.id].over:
            counting[recorded.id] = recorded
    return counting


def _add(
    launch: _Recorded,
    record: program_records.EnvironmentRecord
    | program_records.CaseRecord
    | program_records.SamplesRecord
    | program_records.ProblemRecord
    | records.LaunchEndRecord,
    answers: Answers,
) -> None:
    if isinstance(record, program_records.SamplesRecord):
        samples = np.array(record.samples, dtype=np.float64)
        record.samples = []  # a million boxed numbers are not worth their memory
        launch.samples.append((record, samples))
    elif isinstance(record, program_records.ProblemRecord):
        launch.problems.append(record)
    elif isinstance(record, program_records.CaseRecord):
        launch.case = record
    elif isinstance(record, program_records.EnvironmentRecord):
        launch.environment = launch.environment or record  # of its first group
        launch.misplaced = answers.misplaced
    else:
        launch.end = record
        if record.status == "ok" and (lacking := answers.lacking()):
            record.status, record.message = "failed", lacking  # as it would be recorded today


def _library(contender: Contender) -> Library:
    library = contender.library
    family = all_families().get(library.family)
    return Library(
        who=Who(library.name, contender.settings.name),
        family=library.family,
        version=library.version,
        version_text=library.version_text,
        env=library.env,
        given=contender.settings,
        native=is_ceiling(library),
        lacks=library.lacks,
        broken=tuple(library.broken),
        mpi=not is_native(library),
        notes=(family.scope,) if family and family.scope else (),
    )


def _session(record: records.SessionRecord) -> Session:
    return Session(
        number=record.session,
        started=record.started,
        nearpeak=record.nearpeak,
        forced=record.forced,
        fingerprint=msgspec.to_builtins(record.fingerprint),
    )


def _curves(plan: Plan, chosen: records.Chosen | Variant, buffers: str) -> Iterator[Curve]:
    """A curve for each metric of a benchmark with its axes."""
    for metric in named(plan.benchmarks, chosen.benchmark).metrics:
        yield Curve(
            benchmark=chosen.benchmark, metric=metric.name, buffers=buffers, axes=chosen.axes
        )


def _launch(plan: Plan, place: Place, recorded: _Recorded) -> Launch:
    begin, end, environment = recorded.begin, recorded.end, recorded.environment
    status, message, given_up_after = recorded.status, "", 0
    if end is not None:
        message, given_up_after = end.message, end.given_up_after
    if before := GIVEN_UP.search(message):
        message, given_up_after = message[: before.start()], int(before[1])
    cause = logs.cause(message)
    slowed = _held_down(recorded)
    if wrong := recorded.wrong:
        if failure(status) is None:
            problem = wrong[0]
            status = "wrong data"
            message = f"{problem.benchmark} {problem.size_bytes} bytes: {problem.message}"
            cause = message
        if len(wrong) > 1:
            message += f" (wrong data in {len(wrong)} cases)"
    return Launch(
        number=begin.launch,
        block=Block(begin.session, begin.block),
        who=Who(begin.library, begin.settings),
        place=place,
        curves=tuple(
            curve
            for group in begin.groups
            for chosen in group.benchmarks
            for curve in _curves(plan, chosen, group.buffers)
        ),
        status=status,
        message=message,
        command=begin.command,
        log=end.log if end else None,
        conditions=_conditions(recorded, slowed),
        tick_ns=environment.clock.get("tick_ns") if environment else None,
        slot_ms=begin.slot_ms or plan.slot_ms,
        at=recorded.not_survived if failure(status) else None,
        held_down=slowed,
        cause=cause,
        given_up_after=given_up_after,
        load=begin.state.load if begin.state else None,
    )


def _held_down(recorded: _Recorded) -> tuple[str, ...]:
    begin, end = recorded.begin, recorded.end
    if end is None or begin.state is None or end.state is None:
        return ()
    return tuple(slowdown_reasons(begin.state, end.state, end.seconds))


def _conditions(recorded: _Recorded, slowed: tuple[str, ...]) -> dict[str, str]:
    """The conditions of a launch, flattened: `rank 0 cpus`, `env OMPI_...`, `cpu 0 governor`.

    Nothing that is counted or measured, which no two launches have alike.
    """
    conditions: dict[str, str] = {}
    if environment := recorded.environment:
        conditions["library version"] = environment.library_version or ""
        conditions |= {f"env {name}": value for name, value in environment.env.items()}
        for number, rank in enumerate(environment.ranks):
            conditions |= {f"rank {number} {name}": str(value) for name, value in rank.items()}
    if state := recorded.begin.state:
        conditions |= {
            f"cpu {cpu.cpu} governor": cpu.governor for cpu in state.cpus if cpu.governor
        }
    if slowed:
        conditions["held down"] = ", ".join(slowed)
    return conditions


def _observation(
    launch: Launch, record: program_records.SamplesRecord, samples: Floats
) -> Observation:
    return Observation(
        launch=launch,
        case=program_records.case_of(record, record.metric),
        unit=record.unit,
        better=record.better,
        summary=Summary.from_samples(samples),
        samples=samples,
        origin=journal.NAME,
        window=record.window,
        first_use_us=record.first_use_us,
        limited=record.limited,
        method=record.method or "",
        trial=record.trial,
        needs=tuple(record.needs),
        cache_line_ns=record.apart_ns,
        work=record.work,
        phases=_medians(record.phases),
        shortest_phases=_medians(record.shortest_phases),
        mean_phases=_medians(record.mean_phases),
    )


def _medians(phases: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: float(np.median(times)) for name, times in phases.items() if times}


def _gaps(plan: Plan, launch: Launch, recorded: _Recorded) -> Iterator[Gap]:
    """The gaps of a launch, as it reported them, else by how it ended."""
    settled = {program_records.case_of(record, record.metric) for record, _ in recorded.believable}
    for problem in recorded.problems:
        for metric in _metrics(plan, problem.benchmark):
            case = program_records.case_of(problem, metric)
            settled.add(case)
            yield Gap(
                launch,
                case,
                problem.status,
                problem.message,
                problem.method or "",
                said=True,
                at_least=problem.at_least,
            )
    gap: NoFigure | None = failure(recorded.status)
    if recorded.end is None or gap is None:
        return
    if gap == "wrong data" and recorded.wrong:
        gap = "skipped"  # the cases with wrong data are named; the others were not reached
    reached = True
    for _, curves in groupby(
        launch.curves, key=lambda curve: (curve.benchmark, curve.buffers, curve.axes)
    ):
        missing = [case for curve in curves for case in _cases(plan, curve) if case not in settled]
        for case in missing:
            began = msgspec.structs.replace(case, metric="")
            ended_in = began == launch.at if recorded.case else reached
            yield Gap(launch, case, gap, launch.message, reached=ended_in)
        reached = reached and not missing


def _metrics(plan: Plan, benchmark: str) -> list[str]:
    """The metrics of a benchmark of the plan; a fact of a ceiling has the name of its one
    metric."""
    described = by_name(plan.benchmarks).get(benchmark)
    return [metric.name for metric in described.metrics] if described else [benchmark]


def _cases(plan: Plan, curve: Curve) -> Iterator[Case]:
    """The cases of a curve that a launch was to measure."""
    for metric, size in expected_cases(plan, named(plan.benchmarks, curve.benchmark)):
        if metric == curve.metric:
            yield curve.at(size)
