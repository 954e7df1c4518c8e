# SPDX-License-Identifier: Apache-2.0
"""From observations to results: all of results.json but its findings and advice."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path

import msgspec

from nearpeak.files import write_whole
from nearpeak.grouping import grouped
from nearpeak.observations.observed import Library, Observations
from nearpeak.results import (
    applications,
    bandwidths,
    bounds,
    ceilings,
    cells,
    checklist,
    comparisons,
    conditions,
    counted,
    drift,
    failures,
    fits,
    furthest,
    gpu_memory,
    headlines,
    imported,
    locality,
    modes,
    pairs,
    peaks,
    precision,
    references,
    staged_or_aware,
    theoretical,
)
from nearpeak.results.blocks import sessions_of
from nearpeak.results.results import SCHEMA, Cell, Drift, LibraryInfo, Results, SessionInfo
from nearpeak.results.shared import expand, once
from nearpeak.terms.awareness import unaware
from nearpeak.terms.benchmarks import by_name
from nearpeak.terms.identity import Who
from nearpeak.terms.path import by_place

NAME = "results.json"


def to_json(results: Results) -> str:
    """The text of results.json."""
    plain = once(msgspec.to_builtins(results, str_keys=True))
    return msgspec.json.format(msgspec.json.encode(plain), indent=1).decode() + "\n"


def from_json(text: str | bytes) -> Results:
    """The results that `to_json` wrote; msgspec.MsgspecError for another text."""
    return msgspec.convert(expand(msgspec.json.decode(text)), type=Results, str_keys=True)


def write_results(results: Results, folder: Path) -> None:
    """Writes results.json into `folder`: whole or not at all."""
    write_whole(folder / NAME, to_json(results))


def summarise(observations: Observations) -> Results:
    """The results of what was observed; nearpeak.findings adds what stands out in them."""
    measured = ceilings.find(observations)
    locality.locate(observations.machine, by_place(observations.paths), measured)
    points = [*measured, *bounds.find(observations, measured)]
    theoretical.compare(measured, observations.paths, observations.benchmarks)
    drifts = drift.find(measured)
    limits = ceilings.Ceilings(points)
    of_sizes = _cells(observations, limits, drifts)
    messages, problems = of_sizes[True], of_sizes[False]
    guests = _guests(observations.libraries)
    native = {library.who for library in observations.libraries if library.native}
    mine = [cell for cell in messages if cell.who not in guests]
    rivals = [cell for cell in mine if cell.who not in native]
    sessions = [session for session in observations.sessions if not (guests and session.source)]
    compared = comparisons.compare(rivals, sessions)
    computing = applications.summarise(observations, problems, messages, measured)
    failed, skipped = failures.failures(observations), failures.skipped(observations)
    results = Results(
        schema=SCHEMA,
        nearpeak=observations.nearpeak,
        study=observations.name,
        started=observations.started,
        complete=observations.complete,
        ended=observations.ended,
        sessions=_sessions(observations, [*messages, *problems], compared.sessions),
        machine=observations.machine,
        libraries=_libraries(observations.libraries),
        paths=observations.paths,
        benchmarks=observations.benchmarks,
        cells=messages,
        applications=computing,
        ceilings=points,
        fits=fits.fit(messages, measured, observations.benchmarks),
        comparisons=compared.cases,
        curves=compared.curves,
        judging=compared.judging,
        counting=counted.counting(observations),
        conditions=conditions.find(observations),
        headlines=headlines.find(mine, compared.cases, native, limits, compared.judging),
        gpu_memory=gpu_memory.find(rivals, observations.paths, observations.benchmarks),
        staged_or_aware=staged_or_aware.find(rivals),
        failures=failed,
        failure_kinds=failures.kinds(failed, observations.launches),
        skipped=skipped,
        awareness=observations.awareness,
        unaware=unaware(observations.trials),
        left_out=observations.left_out,
        explanations=observations.explanations,
        drift=drifts,
        checklist=checklist.judge(
            _without(observations, guests),
            mine,
            computing,
            compared.cases,
            compared.judging,
            skipped,
        ),
    )
    _add_derived(results, limits)
    return results


def _cells(
    observations: Observations, limits: ceilings.Ceilings, drifts: Iterable[Drift]
) -> dict[bool, list[Cell]]:
    """The cells of messages (True), with what follows from their paths, and of applications."""
    paths, benchmarks = by_place(observations.paths), by_name(observations.benchmarks)
    changed = {(shift.place, block) for shift in drifts for block in shift.changed}
    of_sizes: dict[bool, list[Cell]] = {True: [], False: []}
    for cell in cells.summarise(observations, limits, changed):
        benchmark = benchmarks[cell.case.benchmark]
        of_sizes[benchmark.over_bytes].append(cell)
        if benchmark.over_bytes:
            bandwidths.add(cell, benchmark)
        if benchmark.over_bytes and (benchmark.ceiling == "measured" or benchmark.one_sided):
            path = paths[cell.place]
            cell.lies_in = locality.lies_in(observations.machine, path, cell.case, cell.window)
    return of_sizes


def _sessions(
    observations: Observations, measured: Iterable[Cell], judged: Collection[int]
) -> list[SessionInfo]:
    """The sessions. `judged`: those that verdicts rest on."""
    blocks = Counter(sessions_of({block for cell in measured for block in cell.blocks}))
    return [
        SessionInfo(
            session=session.number,
            started=session.started,
            nearpeak=session.nearpeak,
            forced=session.forced,
            fingerprint=session.fingerprint,
            blocks=blocks[session.number],
            verdicts=session.number in judged,
            added=session.added,
            source=session.source,
        )
        for session in observations.sessions
    ]


def _add_derived(results: Results, limits: ceilings.Ceilings) -> None:
    """Adds what follows from the rest of the results."""
    results.precision = precision.find(results.cells)
    results.peaks = peaks.find(results)
    results.modes = modes.find(results)
    results.pairs = pairs.find(results)
    results.furthest = furthest.find(results)
    results.references = references.find(results)
    results.imported = imported.find(results, limits)


def _guests(libraries: Sequence[Library]) -> set[Who]:
    """The libraries that were imported into a study; empty where all was imported."""
    measured = any(not library.imported for library in libraries)
    return {library.who for library in libraries if measured and library.imported}


def _without(observations: Observations, guests: Collection[Who]) -> Observations:
    """The observations without guests: the rules judge only what was measured here."""
    launches = [launch for launch in observations.launches if launch.who not in guests]
    return replace(observations, launches=launches)


def _libraries(libraries: Iterable[Library]) -> list[LibraryInfo]:
    by_library = grouped(libraries, lambda library: library.who.library)
    return [*starmap(_library, by_library.items())]


def _library(name: str, libraries: Sequence[Library]) -> LibraryInfo:
    first = libraries[0]
    return LibraryInfo(
        name=name,
        family=first.family,
        version=first.version,
        version_text=first.version_text,
        env=first.env,
        settings=[library.given for library in libraries],
        native=first.native,
        lacks=first.lacks,
        broken=list(first.broken),
        mpi=first.mpi,
        scope=first.scope,
        imported=first.imported,
    )
