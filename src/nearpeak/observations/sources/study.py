# SPDX-License-Identifier: Apache-2.0
"""A study folder as a source: plan.json, machine.json and the truth, records.jsonl."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.journal import resume_study
from nearpeak.launching.describe import Variant
from nearpeak.launching.program_records import EnvironmentRecord, SamplesRecord, case_of
from nearpeak.libraries.families import all_families, is_ceiling, is_native
from nearpeak.libraries.library import Contender
from nearpeak.machine.doctor import with_prefixes
from nearpeak.machine.machine import SCHEMA as MACHINE_SCHEMA
from nearpeak.machine.machine import Machine
from nearpeak.machine.states import slowdown_reasons
from nearpeak.observations.explained import read_explanations
from nearpeak.observations.observed import (
    Block,
    Counted,
    Gap,
    Launch,
    Library,
    Observation,
    Observations,
    Session,
    Summary,
    Unread,
)
from nearpeak.planning.plan import SCHEMA as PLAN_SCHEMA
from nearpeak.planning.plan import LaunchId, Plan
from nearpeak.study import journal, records
from nearpeak.study.launched import Launched, expected_cases
from nearpeak.study.recording import Recording
from nearpeak.terms import logs
from nearpeak.terms.benchmarks import named
from nearpeak.terms.counters import Link, OnLink
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.outcomes import NoFigure, failure
from nearpeak.terms.study_files import MACHINE, PLAN

T = TypeVar("T")


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
    machine = with_prefixes(_decode(folder / MACHINE, Machine, MACHINE_SCHEMA))
    return _read(folder, plan, machine)


def _decode(path: Path, kind: type[T], schema: int) -> T:
    try:
        plain = msgspec.json.decode(path.read_bytes())
        if plain["schema"] != schema:
            raise UserError(
                f"{path}: schema {plain['schema']}, this nearpeak reads schema {schema}: "
                "use the nearpeak that wrote it, or start anew in another folder"
            )
        return msgspec.convert(plain, type=kind, dec_hook=journal.decode_path, str_keys=True)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): make it readable") from None
    except (*UNDECODABLE, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: damaged ({error}); restore it from a copy or measure anew"
        ) from None


def _read(folder: Path, plan: Plan, machine: Machine) -> Observations:
    recording = Recording(plan)
    recording.read(folder)
    if recording.start is None or not recording.launches:
        raise UserError(f"{folder}: no launch was recorded there; run `{resume_study(folder)}`")
    places = {path.id: path.place for path in plan.paths}
    observations = Observations(
        name=plan.study,
        started=recording.start.started,
        nearpeak=recording.start.nearpeak,
        complete=recording.over,
        ended=recording.ended,
        machine=machine,
        paths=plan.paths,
        libraries=[_library(contender) for contender in plan.contenders],
        benchmarks=plan.benchmarks,
        curves=[
            curve for variant in plan.variants for curve in _curves(plan, variant, variant.buffers)
        ],
        awareness=plan.awareness,
        explanations=read_explanations(folder),
        left_out=[
            *plan.left_out,
            *(
                plan.left_out_later(record.spare, record.budget_seconds, record.block)
                for record in recording.left_out
            ),
        ],
        sessions=[
            _session(record, recording.amendments.get(record.session))
            for record in recording.sessions
        ],
    )
    counting = _counting(recording.launches)
    for launched in recording.launches:
        counts = counting[launched.id] is launched
        if counts or launched.failed:
            launch = _launch(plan, places[launched.begin.path], launched)
            observations.launches.append(launch)
            observations.gaps += _gaps(plan, launch, launched)
            for record in launched.believable if counts else ():
                counted = _counted(launched.environment_of(record), record)
                observations.observed.append(_observation(launch, record, counted))
    return observations


def _counting(tries: Iterable[Launched]) -> dict[LaunchId, Launched]:
    """The try of each launch whose figures count."""
    counting: dict[LaunchId, Launched] = {}
    for launched in tries:
        if launched.over or launched.id not in counting or not counting[launched.id].over:
            counting[launched.id] = launched
    return counting


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


def _session(record: records.SessionRecord, amendment: records.AmendmentRecord | None) -> Session:
    added = (amendment.reason, amendment.asked) if amendment else ()
    return Session(
        number=record.session,
        started=record.started,
        nearpeak=record.nearpeak,
        forced=record.forced,
        fingerprint=msgspec.to_builtins(record.fingerprint),
        added="; asked for: ".join(filter(None, added)),
    )


def _curves(plan: Plan, chosen: records.Chosen | Variant, buffers: str) -> Iterator[Curve]:
    """A curve for each metric of a benchmark with its axes."""
    for metric in named(plan.benchmarks, chosen.benchmark).metrics:
        yield Curve(
            benchmark=chosen.benchmark, metric=metric.name, buffers=buffers, axes=chosen.axes
        )


def _launch(plan: Plan, place: Place, launched: Launched) -> Launch:
    begin, end, environment = launched.begin, launched.end, launched.environment
    status, message = launched.status, end.message if end else ""
    cause = logs.cause(message)
    slowed = _held_down(launched)
    if wrong := launched.wrong:
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
        conditions=_conditions(launched, slowed),
        tick_ns=environment.clock.get("tick_ns") if environment else None,
        slot_ms=begin.slot_ms,
        at=launched.not_survived if failure(status) else None,
        held_down=slowed,
        cause=cause,
        given_up_after=end.given_up_after if end else 0,
        load=begin.state.load if begin.state else None,
        counted_links=_links(environment),
        unread=_unread(environment),
    )


def _links(environment: EnvironmentRecord | None) -> tuple[Link, ...]:
    """The links whose bytes a group reads, by their indexes."""
    if environment is None or environment.counters is None:
        return ()
    hosts = _hosts(environment)
    return tuple(counter.link(hosts[counter.rank]) for counter in environment.counters.links)


def _unread(environment: EnvironmentRecord | None) -> tuple[Unread, ...]:
    if environment is None or environment.counters is None:
        return ()
    hosts = _hosts(environment)
    return tuple(
        Unread(links.kind, hosts[links.rank], links.why) for links in environment.counters.unread
    )


def _hosts(environment: EnvironmentRecord) -> dict[int, str]:
    """The host of each rank."""
    return {int(rank["rank"]): str(rank.get("host", "")) for rank in environment.ranks}


def _counted(environment: EnvironmentRecord | None, record: SamplesRecord) -> Counted | None:
    if record.counted is None:
        return None
    links = _links(environment)
    lost = {links[index] for index in record.counted.lost}
    on = {link: OnLink(0, 0) for link in links if link not in lost}
    on |= {
        links[one.link]: OnLink(one.sent_bytes, one.received_bytes, one.at_least)
        for one in record.counted.links
    }
    payload = record.counted.payload
    return Counted(
        seconds=record.counted.seconds,
        reading_us=record.counted.reading_us,
        payload_bytes=sum(payload.sent_bytes) if payload else None,
        links=on,
    )


def _held_down(launched: Launched) -> tuple[str, ...]:
    begin, end = launched.begin, launched.end
    if end is None or begin.state is None or end.state is None:
        return ()
    return tuple(slowdown_reasons(begin.state, end.state, end.seconds))


def _conditions(launched: Launched, slowed: tuple[str, ...]) -> dict[str, str]:
    """The conditions of a launch, flattened: `rank 0 cpus`, `env OMPI_...`, `cpu 0 governor`.

    Nothing that is counted or measured, which no two launches have alike.
    """
    conditions: dict[str, str] = {}
    if environment := launched.environment:
        conditions["library version"] = environment.library_version or ""
        conditions |= {f"env {name}": value for name, value in environment.env.items()}
        for number, rank in enumerate(environment.ranks):
            conditions |= {f"rank {number} {name}": str(value) for name, value in rank.items()}
    if state := launched.begin.state:
        conditions |= {
            f"cpu {cpu.cpu} governor": cpu.governor for cpu in state.cpus if cpu.governor
        }
    if slowed:
        conditions["held down"] = ", ".join(slowed)
    return conditions


def _observation(launch: Launch, record: SamplesRecord, counted: Counted | None) -> Observation:
    samples = np.asarray(record.samples, dtype=np.float64)
    return Observation(
        launch=launch,
        case=case_of(record, record.metric),
        unit=record.unit,
        better=record.better,
        summary=Summary.from_samples(samples),
        samples=samples,
        origin=journal.NAME,
        window=record.window,
        operations=record.operations,
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
        percentiles=record.percentiles,
        counted=counted,
    )


def _medians(phases: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: float(np.median(times)) for name, times in phases.items() if times}


def _gaps(plan: Plan, launch: Launch, launched: Launched) -> Iterator[Gap]:
    """The gaps of a launch, as it reported them, else by how it ended."""
    settled = {case_of(record, record.metric) for record in launched.believable}
    for problem in launched.problems:
        for case in launched.cases_of(problem):
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
    gap: NoFigure | None = failure(launched.status)
    if launched.end is None or gap is None:
        return
    if gap == "wrong data" and launched.wrong:
        gap = "skipped"  # the cases with wrong data are named; the others were not reached
    reached = True
    for _, curves in groupby(
        launch.curves, key=lambda curve: (curve.benchmark, curve.buffers, curve.axes)
    ):
        missing = [case for curve in curves for case in _cases(plan, curve) if case not in settled]
        for case in missing:
            began = msgspec.structs.replace(case, metric="")
            ended_in = began == launch.at if launched.case else reached
            yield Gap(launch, case, gap, launch.message, reached=ended_in)
        reached = reached and not missing


def _cases(plan: Plan, curve: Curve) -> Iterator[Case]:
    """The cases of a curve that a launch was to measure."""
    for metric, size in expected_cases(plan, named(plan.benchmarks, curve.benchmark)):
        if metric == curve.metric:
            yield curve.at(size)
