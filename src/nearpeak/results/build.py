# SPDX-License-Identifier: Apache-2.0
"""From a study folder to its results: all of results.json, made from the records alone."""

from pathlib import Path

import msgspec

from nearpeak.files import write_whole
from nearpeak.libraries.families import is_native
from nearpeak.results import ceilings, cells, checklist, comparisons, drift, findings, fits
from nearpeak.results.model import SCHEMA, LibraryInfo, Results
from nearpeak.results.reading import StudyData, load
from nearpeak.study.model import Contender

NAME = "results.json"


def build_results(folder: Path) -> Results:
    """What the study in `folder` found; UserError when there is none that can be read."""
    return summarise(load(folder))


def write_results(results: Results, folder: Path) -> None:
    """Writes results.json into `folder`: whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(results), indent=1).decode()
    write_whole(folder / NAME, text + "\n")


def summarise(data: StudyData) -> Results:
    """The results of a study that was read."""
    limits = ceilings.find(data)
    points = [ceiling.point for found in limits.values() for ceiling in found]
    points.sort(key=lambda p: (p.path, p.metric, p.buffers, sorted(p.axes.items()), p.size_bytes))
    blocks = drift.find(data)
    drifted = {block.block for block in blocks if block.flagged}
    found = cells.summarise(data, cells.gather(data), limits, drifted)
    native = {one.library.name for one in data.plan.contenders if is_native(one.library)}
    libraries = [cell for cell in found if cell.library not in native]
    compared, log_ratios = comparisons.compare(libraries)
    skipped = cells.skipped(data)
    return Results(
        schema=SCHEMA,
        nearpeak=data.study.nearpeak,
        study=data.study.id,
        started=data.study.started,
        complete=data.complete,
        machine=data.machine,
        libraries=_libraries(data.plan.contenders),
        paths=data.plan.paths,
        benchmarks=data.plan.benchmarks,
        cells=found,
        ceilings=points,
        fits=fits.fit(found, points, data.plan.benchmarks),
        comparisons=compared,
        failures=cells.failures(data),
        skipped=skipped,
        awareness=data.plan.awareness,
        findings=findings.find(found, data.plan.contenders, data.plan.benchmarks),
        drift=blocks,
        checklist=checklist.judge(data, found, compared, log_ratios, skipped),
    )


def _libraries(contenders: list[Contender]) -> list[LibraryInfo]:
    found: dict[str, LibraryInfo] = {}
    for contender in contenders:
        library = contender.library
        info = found.setdefault(
            library.name,
            LibraryInfo(
                name=library.name,
                family=library.family,
                version=library.version,
                version_text=library.version_text,
                env=library.env,
                settings=[],
            ),
        )
        info.settings.append(contender.settings.name)
        info.given.append(contender.settings)
    return list(found.values())
