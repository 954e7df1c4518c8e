# SPDX-License-Identifier: Apache-2.0
"""Notices that qualify the figures; the terminal and the page show the same ones."""

from collections.abc import Collection, Iterator
from pathlib import Path

from nearpeak.document.model import Notice, Tone
from nearpeak.journal import resume_study
from nearpeak.libraries.library import lacking_words
from nearpeak.numbers import agreeing, count, number, percent, resting, size
from nearpeak.report import drift, failures, sessions, wording
from nearpeak.report.summary import defects
from nearpeak.results import methods
from nearpeak.results.names import case, no_fraction, reference
from nearpeak.results.order import guests, is_left_out
from nearpeak.results.results import Cell, Results
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.awareness import describe
from nearpeak.terms.benchmarks import named

# Wrong or missing figures first, then warnings, then general remarks.
_SEVERITY: tuple[Tone, ...] = ("bad", "note", "")


def notices(results: Results, folder: Path = Path("DIR")) -> list[Notice]:
    """All notices, the most serious first; within one severity, those about most of the study.

    `folder`: the study folder, which the printed commands name.
    """
    collected = [
        *_failed(results),
        *_defects(results),
        *_above_memory(results),
        *_no_fraction(results, folder),
        *_incomplete(results, folder),
        *_broken(results),
        *_lacking(results),
        *_unaware(results),
        *(Notice(text, tone="note") for text in wording.missing_methods(results)),
        *_drift(results),
        *_sessions(results, folder),
        *_few_launches(results),
        *scopes(results),
        *(Notice(text) for text in [wording.precision(results)] if text),
    ]
    return sorted(collected, key=lambda notice: _SEVERITY.index(notice.tone))


def _failed(results: Results) -> Iterator[Notice]:
    if launches := results.failures:
        items = tuple(failures.sentences(results))
        text = f"{count(len(launches), 'launch')} failed."
        yield Notice(text, items, tone="bad", details="failures")


def _defects(results: Results) -> Iterator[Notice]:
    if cells := defects(results):
        kinds = " or the ".join(sorted({reference(cell.ceiling) for cell in cells}, reverse=True))
        text = (
            f"{count(len(cells), 'cell')} {agreeing(len(cells), 'is', 'are')} above the {kinds}."
            f" More than 103 % is a defect of the {kinds}, not a merit of the library."
        )
        differing = {
            name
            for cell in cells
            for other in cells
            for name, value in cell.case.axes.items()
            if cell.case.benchmark == other.case.benchmark
            and other.case.axes.get(name, value) != value
        }
        yield Notice(text, tuple(_defect(cell, differing) for cell in cells), tone="bad")


def _above_memory(results: Results) -> Iterator[Notice]:
    """Ceilings of messages in memory that exceed the memory's copy rate: one of both is wrong."""
    if points := [point for point in results.ceilings if point.above_memory is not None]:
        copied = number(max(point.above_memory or 0.0 for point in points))
        are = agreeing(len(points), "is", "are")
        yield Notice(
            f"{count(len(points), 'ceiling')} of messages that lie in memory {are} above the"
            f" {copied} GB/s that the memory copies: one of both is wrong. Measure again while"
            " nothing else runs.",
            tuple(
                f"{point.place.path}, {case(point.case)} at {size(point.case.x)}:"
                f" {number(point.value)} {point.unit} by {methods.describe(point.method)}"
                f" ({resting(point.ci95, point.range, count(len(point.blocks), 'block'))})"
                for point in points
            ),
            tone="bad",
        )


def _defect(cell: Cell, differing: Collection[str]) -> str:
    """A cell above its ceiling; `differing`: the axes in which such cells differ."""
    method = f" by {methods.describe(cell.ceiling.method)}" if cell.ceiling else ""
    axes = ", ".join(
        f"{name}={value}" for name, value in cell.case.axes.items() if name in differing
    )
    full = cell.fraction_range or (cell.fraction or 0.0,) * 2
    blocks = count(cell.fraction_blocks, "block")
    return (
        f"{cell.who.label}, {cell.place.path}, {case(cell.case)} at {size(cell.case.x)}"
        f"{f' ({axes})' if axes else ''}:"
        f" {percent(cell.fraction)} % of the {reference(cell.ceiling)}{method}"
        f" ({resting(cell.fraction_ci95, full, blocks, 100)})"
    )


def _no_fraction(results: Results, folder: Path) -> Iterator[Notice]:
    """Figures without a percentage, the reason and the remedy."""
    if cells := [cell for cell in results.cells if cell.no_fraction]:
        references = " or ".join(sorted({_reference_kind(cell, results) for cell in cells}))
        remedy, command = "More blocks may have both:", sessions.more_blocks(results.cells, folder)
        if not results.complete:
            command = resume_study(folder)
        elif all(is_left_out(cell, results) for cell in cells):  # more blocks do not help
            remedy, command = "The budget left them out since: study them alone.", ""
        yield Notice(
            f"{count(len(cells), 'figure')} {agreeing(len(cells), 'has', 'have')} no percentage,"
            f" as no block has both the figure and its {references}. {remedy}",
            tuple(
                f"{cell.who.label}, {cell.place.path}, {case(cell.case)} at {size(cell.case.x)}:"
                f" {no_fraction(cell)}"
                for cell in cells
            ),
            tone="note",
            command=command,
        )


def _reference_kind(cell: Cell, results: Results) -> str:
    kind = named(results.benchmarks, cell.case.benchmark).ceiling
    return "ceiling" if kind == "measured" else "bound"


def _incomplete(results: Results, folder: Path) -> Iterator[Notice]:
    if not results.complete:
        reason = f": {results.ended}" if results.ended else ""
        text = f"This study is not complete{reason}. To continue it:"
        yield Notice(text, tone="note", command=resume_study(folder))


def _broken(results: Results) -> Iterator[Notice]:
    for library in results.libraries:
        if library.broken:
            modules = count(len(library.broken), "module")
            did = agreeing(len(library.broken), "does", "do")
            text = f"{library.name} is not whole: {modules} of it {did} not load."
            yield Notice(text, tuple(library.broken), tone="bad")


def _lacking(results: Results) -> Iterator[Notice]:
    for library in results.libraries:
        if library.lacks:
            yield Notice(lacking_words(library.name, library.lacks) + ".", tone="note")


def _unaware(results: Results) -> Iterator[Notice]:
    if operations := results.unaware:
        text = (
            "Some operations with GPU buffers failed (alone, or after others in one job), or were"
            " not tried."
        )
        yield Notice(text, tuple(map(describe, operations)), tone="note", details="aware")


def _drift(results: Results) -> Iterator[Notice]:
    lines = tuple(drift.sentences(results))
    if paths := [path_drift.place.path for path_drift in results.drift if path_drift.changed]:
        text = f"The machine drifted during the study on {', '.join(paths)}. {drift.WHAT_TO_DO}"
        yield Notice(text, lines, tone="note", details="drift")
    elif lines:
        yield Notice(f"Drift: {lines[0]}", lines[1:], details="drift")


def _sessions(results: Results, folder: Path) -> Iterator[Notice]:
    if text := sessions.sentence(results):
        forced = any(session.forced for session in results.measuring_sessions)
        yield Notice(text, tone="note" if forced else "", details="sessions")
    if notice := sessions.apart(results, folder):
        yield notice


def scopes(results: Results) -> Iterator[Notice]:
    """Yields what is known of the figures of each library that was not measured here."""
    libraries_by_scope: dict[str, list[str]] = {}
    for library in results.libraries:
        if library.scope:
            libraries_by_scope.setdefault(library.scope, []).append(library.name)
    imported = [info.name for info in results.libraries if info.imported]
    for scope, names in libraries_by_scope.items():
        several = len(imported) > len(names) and set(names) <= set(imported)
        yield Notice(f"{', '.join(names)}: {scope}" if several else scope)


def _few_launches(results: Results) -> Iterator[Notice]:
    imported = guests(results)
    cells = [cell for cell in results.cells if cell.who.library not in imported]
    measured = [cell for cell in cells if cell.median is not None]
    lacking = [cell for cell in measured if cell.ci95 is None]
    if few := len(lacking):
        single = any(cell.launches == 1 for cell in lacking)
        left = sum(is_left_out(cell, results) for cell in lacking)
        yield Notice(
            f"{few} of {count(len(measured), 'cell')} {agreeing(few, 'has', 'have')} fewer than"
            f" {FEWEST_FOR_INTERVAL} launches: {agreeing(few, 'it has', 'they have')} a range"
            f"{', or one value,' if single else ''} instead of a 95 % interval."
            + (
                f" Of these, {left} were left out, so that the budget holds the rest."
                if left
                else ""
            )
        )
    fractions = [cell for cell in measured if cell.fraction is not None and cell.ci95 is not None]
    if few := sum(cell.fraction_ci95 is None for cell in fractions):
        yield Notice(
            f"{few} of {count(len(fractions), 'fraction')} of the ceiling"
            f" {agreeing(few, 'has', 'have')} a range though the figure has an interval: fewer"
            f" than {FEWEST_FOR_INTERVAL} blocks have the launch and its ceiling, with the CPUs as"
            " far apart."
        )
