# SPDX-License-Identifier: Apache-2.0
"""From observations to results: all of results.json but its findings and advice."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from nearpeak.files import write_whole
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
    theoretical,
)
from nearpeak.results.results import SCHEMA, LibraryInfo, Results, SessionInfo
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
    paths = by_place(observations.paths)
    locality.locate(observations.machine, paths, measured)
    points = [*measured, *bounds.find(observations, measured)]
    theoretical.compare(measured, observations.paths, observations.benchmarks)
    drifts = drift.find(measured)
    changed = {(shift.place, block) for shift in drifts for block in shift.changed}
    limits = ceilings.Ceilings(points)
    every = cells.summarise(observations, limits, changed)
    benchmarks = by_name(observations.benchmarks)
    messages = [cell for cell in every if benchmarks[cell.case.benchmark].over_bytes]
    problems = [cell for cell in every if not benchmarks[cell.case.benchmark].over_bytes]
    for cell in messages:
        benchmark = benchmarks[cell.case.benchmark]
        bandwidths.add(cell, benchmark)
        if benchmark.ceiling == "measured" or benchmark.one_sided:
            cell.lies_in = locality.lies_in(
                observations.machine, paths[cell.place], cell.case, cell.window
            )
    native = {library.who for library in observations.libraries if library.native}
    guests = _guests(observations.libraries)
    mine = [cell for cell in messages if cell.who not in guests]
    compared = comparisons.compare(
        (cell for cell in mine if cell.who not in native),
        [session for session in observations.sessions if not (guests and session.source)],
    )
    computing = applications.summarise(observations, problems, messages, measured)
    failed, skipped = failures.failures(observations), failures.skipped(observations)
    blocks = {block for cell in every for block in cell.blocks}
    blocks_in = Counter(block.session for block in blocks)
    results = Results(
        schema=SCHEMA,
        nearpeak=observations.nearpeak,
        study=observations.name,
        started=observations.started,
        complete=observations.complete,
        ended=observations.ended,
        sessions=[
            SessionInfo(
                session=session.number,
                started=session.started,
                nearpeak=session.nearpeak,
                forced=session.forced,
                fingerprint=session.fingerprint,
                blocks=blocks_in[session.number],
                verdicts=session.number in compared.sessions,
                added=session.added,
                source=session.source,
            )
            for session in observations.sessions
        ],
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
        conditions=conditions.find(observations),
        headlines=headlines.find(mine, compared.cases, native, limits, compared.judging.left_out),
        failures=failed,
        failure_kinds=failures.kinds(failed),
        skipped=skipped,
        awareness=observations.awareness,
        unaware=unaware(observations.awareness),
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
    results.precision = precision.find(results.cells)
    results.peaks = peaks.find(results)
    results.modes = modes.find(results)
    results.pairs = pairs.find(results)
    results.furthest = furthest.find(results)
    results.gpu_memory = gpu_memory.find(
        [cell for cell in mine if cell.who not in native],
        observations.paths,
        observations.benchmarks,
    )
    results.imported = imported.find(results, limits)
    return results


def _guests(libraries: Sequence[Library]) -> set[Who]:
    """The libraries that were imported into a study; empty where all was imported."""
    measured = any(not library.imported for library in libraries)
    return {library.who for library in libraries if measured and library.imported}


def _without(observations: Observations, guests: Collection[Who]) -> Observations:
    """The observations without guests: the rules judge only what was measured here."""
    launches = [launch for launch in observations.launches if launch.who not in guests]
    return replace(observations, launches=launches)


def _libraries(libraries: Iterable[Library]) -> list[LibraryInfo]:
    infos: dict[str, LibraryInfo] = {}
    for library in libraries:
        name = library.who.library
        info = infos.setdefault(
            name,
            LibraryInfo(
                name=name,
                family=library.family,
                version=library.version,
                version_text=library.version_text,
                env=library.env,
                settings=[],
                native=library.native,
                lacks=library.lacks,
                broken=list(library.broken),
                mpi=library.mpi,
                scope=library.scope,
                imported=library.imported,
            ),
        )
        info.settings.append(library.given)
    return list(infos.values())
