# SPDX-License-Identifier: Apache-2.0
"""report.html: one file that loads nothing from elsewhere.

The template writes the tables; report.js draws the charts (with charts.js) and the long tables from
one block of JSON. Every name in the results is from outside: jinja2 escapes it in markup,
`templates.embedded` inside the script tag, and the content security policy admits only the two
scripts of this page by their hash.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, TypeVar

from markupsafe import Markup

from nearpeak import numbers
from nearpeak.document import templates
from nearpeak.document.model import Table, Value
from nearpeak.explain.drawing import STYLE
from nearpeak.explain.present import sections
from nearpeak.files import write_whole
from nearpeak.machine.doctor import SETTINGS_FILE, VARIABLES
from nearpeak.machine.machine import Diagnosis
from nearpeak.machine.provenance import labelled_facts
from nearpeak.picture import svg
from nearpeak.report import (
    applications,
    appraisals,
    awareness,
    beside,
    counted,
    digest,
    drift,
    failures,
    families,
    fits,
    gpu_memory,
    headlines,
    imported,
    left_out,
    notices,
    overlap,
    pairs,
    percentiles,
    references,
    required,
    sessions,
    staged_or_aware,
    summary,
    tables,
    verdicts,
    wording,
)
from nearpeak.report.beside import Published
from nearpeak.report.glossary import GLOSSARY
from nearpeak.report.headlines import Group
from nearpeak.report.picture import picture
from nearpeak.report.remarks import BY_TRIALS
from nearpeak.results import methods, names, order
from nearpeak.results.build import write_results
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import is_defect
from nearpeak.results.results import (
    Attainable,
    CeilingPoint,
    CeilingValue,
    Cell,
    Comparison,
    CurveComparison,
    PairFigure,
    PairMatrix,
    Peak,
    Results,
)
from nearpeak.terms.awareness import describe
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import with_ceilings
from nearpeak.terms.identity import Curve, Place, Who
from nearpeak.terms.ratings import FAIR, GOOD

P = TypeVar("P", Peak, Group)
SMALL_LATENCY_UP_TO = 8192  # bytes: where the small-message chart ends and the large one begins
MOST_FIGURES = 8  # of Table 2, where families have tables of the same
# Diagnoses of settings, and the findings that say that they concern a library.
SETTINGS_FOUND = {SETTINGS_FILE: "settings_files", VARIABLES: "inherited"}
FEWEST_SMALL = 3  # least sizes for a separate chart of small messages

_HERE = Path(__file__).parent
_SIGNIFICANT = 6  # digits kept of the figures embedded for the charts


def write_report(
    results: Results,
    folder: Path,
    machines: Sequence[Published] = (),
    study: Path | None = None,
) -> Path:
    """Writes results.json and report.html into `folder`; the page's path.

    Raises UserError if one cannot be made; without a page, results.json stays unmodified too.
    `machines`, `study`: as in `write_page`.
    """
    page = write_page(results, folder, machines, study)
    write_results(results, folder)
    return page


def write_page(
    results: Results,
    folder: Path,
    machines: Sequence[Published] = (),
    study: Path | None = None,
) -> Path:
    """Writes `report.html` into `folder` and returns its path. Raises UserError.

    `machines`: those whose published figures are compared with the study's; `study`: its folder, if
    that is another one.
    """
    target = folder / "report.html"
    write_whole(target, render(results, machines, study or folder))
    return target


def render(results: Results, machines: Sequence[Published] = (), study: Path = Path("DIR")) -> str:
    """Returns the whole page of the study in that folder."""
    charts, script = templates.script(_HERE / "charts.js"), templates.script(_HERE / "report.js")
    environment = templates.environment(_HERE)
    environment.globals |= {
        "curve_label": names.label,
        "curve_detail": names.detail,
        "case_words": names.case,
        "pair_source": pairs.name,
        "staged": names.staged,
        "staging": staging,
        "drift": drift,
        "terms": templates.linked(GLOSSARY),
    }
    data = _Data(results)
    groups = headlines.groups(results)
    return environment.get_template("report.html.j2").render(
        results=results,
        picture=Markup(picture(results)),  # its texts are escaped
        answer=list(digest.answer(results, study)),
        legend=list(digest.legend(results)),
        cards=list(digest.actions(results, study)),
        appraisals=list(appraisals.blocks(results)),
        paths_table=list(digest.paths(results, everywhere=True)),
        findings_all=results.findings,
        findings_block=digest.all_findings(results),
        glossary=[GLOSSARY],
        ending=wording.ending(results),
        headlines=wording.headlines(results, groups),
        tables=list(_tables(results, groups)),
        beside=[_beside(results, machine) for machine in machines],
        awareness=awareness.table(results),
        unaware=list(map(describe, results.unaware)),
        counted=counted.table(results),
        counting=counted.sentences(results),
        gpu_memory=gpu_memory.table(results),
        in_gpu_memory=gpu_memory.sentences(results),
        staged_or_aware=staged_or_aware.table(results),
        aware_from=staged_or_aware.sentences(results),
        percentiles=percentiles.table(results),
        matrices=results.pairs,
        slowest=pairs.sentences(results),
        verdicts=verdicts.tables(results),
        fits=fits.table(results),
        subject=wording.subject(results),
        notices=notices.notices(results, study),
        required=required.table(results),
        left_out=left_out.table(results),
        imported=imported.table(results),
        references=references.table(results),
        explained=sections(results.explanations),
        flags=summary.flags(results),
        failures=failures.table(results),
        skipped=failures.skipped(results),
        provenance=list(labelled_facts(results.machine.provenance)),
        diagnoses=list(_diagnoses(results)),
        sessions=sessions.rows(results.sessions),
        measuring={session.session for session in results.measuring_sessions},
        drifts=drift.sentences(results),
        sections=data.sections,
        families=data.families,
        applications=data.applications,
        about_applications=applications.ABOUT,
        contenders=data.contenders,
        small_up_to=SMALL_LATENCY_UP_TO,
        css=templates.css() + Markup(svg.css() + STYLE),
        charts=charts,
        script=script,
        data=templates.embedded(data.embedded),
        policy=templates.policy(charts, script),
    )


def _diagnoses(results: Results) -> Iterator[Diagnosis]:
    """Yields what doctor reported; of settings only those that are found to concern a library."""
    kinds = {finding.kind for finding in results.findings}
    for one in results.machine.diagnoses:
        if one.severity != "ok" and SETTINGS_FOUND.get(one.id) in {None, *kinds}:
            yield one


def _tables(results: Results, groups: list[Group]) -> Iterator[Table]:
    """The two tables; those of all pairs, which are many, are folded under a summary."""
    for of_pairs, rows in _by_pairs(results.peaks):
        yield tables.table_one(results, rows, folded="Table 1 of all pairs" if of_pairs else "")
    first = set(order.first_sheet(results))
    shown = [curve for curve in order.default_curves(results) if curve in first]
    about = f"{wording.windows(results)} {families.measured_with(shown)}".strip()
    figures = order.figures(results)
    held = with_ceilings(results.benchmarks)
    if len(figures) > MOST_FIGURES and not any(curve.benchmark in held for curve in first):
        yield tables.too_wide(len(figures))
        return
    for of_pairs, part in _by_pairs(groups):
        folded = "Table 2 of all pairs" if of_pairs else ""
        plateaus = f"{wording.cached_ceilings(part)} {wording.low_plateaus(part)}".strip()
        yield tables.table_two(part, figures, f"{about} {plateaus}".strip(), folded=folded)


def _beside(results: Results, machine: Published) -> dict[str, Any]:
    comparison = beside.beside(results, machine)
    return {
        "name": machine.name,
        "tables": beside.tables(comparison),
        "lines": list(beside.lines(comparison)),
    }


def _by_pairs(rows: Sequence[P]) -> list[tuple[bool, list[P]]]:
    """The rows of ordinary paths (False), then those of all pairs (True), which are many."""
    parts: dict[bool, list[P]] = {False: [], True: []}
    for row in rows:
        parts[bool(row.place.pair)].append(row)
    return [(of_pairs, part) for of_pairs, part in parts.items() if part] or [(False, [])]


def _short(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{_SIGNIFICANT}g}")


class _Numbered:
    """Gives each different text a number, so that it is embedded once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


class _Data:
    """The data that the template and report.js share: numbered names, figures, chart sections."""

    def __init__(self, results: Results) -> None:
        self._results = results
        who = order.contenders(results)
        self.contenders = [owner.label for owner in who]
        self.styles = _styles(who)
        self._who = {owner: number for number, owner in enumerate(who)}
        self._places = {place: number for number, place in enumerate(order.places(results))}
        self._curves = {curve: number for number, curve in enumerate(order.curves(results))}
        self._defaults = set(order.default_curves(results))
        self._bounded = {
            benchmark.name for benchmark in results.benchmarks if benchmark.ceiling == "bound"
        }
        self._ideal = {
            benchmark.name for benchmark in results.benchmarks if benchmark.bound is not None
        }
        kinds = dict.fromkeys(curve.buffers for curve in self._curves)
        self._buffers = {buffers: number for number, buffers in enumerate(kinds)}
        self._methods, self._commands = _Numbered(), _Numbered()
        self._cells: dict[tuple[Place, Curve], list[Cell]] = {}
        for cell in results.cells:
            self._cells.setdefault((cell.place, cell.case.curve), []).append(cell)
        self._first = set(order.first_sheet(results))
        measured = {place for place, curve in self._cells if curve in self._first}
        self.sections = [self._section(place) for place in self._places if place in measured]
        self._scalings: list[dict[str, Any]] = []
        self.families = [self._family(family) for family in families.families(results)]
        self.applications = applications.sections(results)
        self.embedded = self._embedded()

    def _section(self, place: Place) -> dict[str, Any]:
        """A path's charts by buffers: those of the default curves, then the other ones."""
        mine = [
            curve
            for curve in self._curves
            if (place, curve) in self._cells and curve in self._first
        ]
        by_buffers: dict[str, list[Curve]] = {}
        for curve in mine:
            by_buffers.setdefault(curve.buffers, []).append(curve)
        return {
            "number": self._places[place],
            "place": place,
            "contenders": sorted(
                {self._who[cell.who] for curve in mine for cell in self._cells[place, curve]}
            ),
            "kinds": [self._kind(place, buffers, curves) for buffers, curves in by_buffers.items()],
        }

    def _kind(self, place: Place, buffers: str, curves: Sequence[Curve]) -> dict[str, Any]:
        """A path's charts of one kind of buffers."""
        charts = {curve: self._charts(place, curve, curves) for curve in curves}
        return {
            "buffers": buffers,
            "defaults": [charts[curve] for curve in curves if curve in self._defaults],
            "others": [charts[curve] for curve in curves if curve not in self._defaults],
        }

    def _family(self, family: families.Family) -> dict[str, Any]:
        """A family with its charts: over sizes, folded by place and buffers; and over ranks."""
        charts: dict[tuple[Place, str], list[Curve]] = {}
        for (place, buffers), curves in family.charts.items():
            # One point is no curve: the table has it.
            if several := [curve for curve in curves if len(self._sizes(place, curve)) > 1]:
                charts[place, buffers] = several
        drawn = {(place, curve) for (place, _), curves in charts.items() for curve in curves}
        drawn |= {(place, scaling.curve) for scaling in family.scalings for place in scaling.places}
        scaled = [scaling.curve for scaling in family.scalings]
        return {
            "family": family,
            "kinds": [
                self._family_kind(place, buffers, curves)
                for (place, buffers), curves in charts.items()
            ],
            "scalings": [
                self._scaling(scaling, size, scaled)
                for scaling in family.scalings
                for size in scaling.sizes
            ],
            "chains": dict.fromkeys(map(_chain, family.scalings)),
            "references": {self._reference(curve) for _, curve in drawn},
            "contenders": sorted(
                {
                    self._who[cell.who]
                    for key in drawn
                    for cell in self._cells[key]
                    if cell.median is not None
                }
            ),
        }

    def _family_kind(self, place: Place, buffers: str, curves: Sequence[Curve]) -> dict[str, Any]:
        """A family's charts of one place and kind of buffers."""
        return {
            "number": self._places[place],
            "place": place,
            "buffers": buffers,
            "charts": [self._charts(place, curve, curves) for curve in curves],
        }

    def _scaling(
        self, scaling: families.Scaling, size: int, beside: Sequence[Curve]
    ) -> dict[str, Any]:
        """A chart over ranks; adds its data for report.js. `beside`: as in `_charts`."""
        number = len(self._scalings)
        self._scalings.append(
            {
                "variant": self._curves[scaling.curve],
                "size": size,
                "paths": [self._places[place] for place in scaling.places],
                "ranks": [len(place.ends) for place in scaling.places],
            }
        )
        name = families.named(scaling.curve, beside)
        return {"number": number, "curve": scaling.curve, "name": name, "size": size}

    def _growth(self, growth: applications.Growth) -> dict[str, Any]:
        """The curves of an application over ranks, in percent, for report.js."""
        ways = list(dict.fromkeys(line.way for line in growth.lines))
        return {
            "ranks": growth.ranks,
            "lines": [
                {
                    "who": self._who[line.who],
                    "way": ways.index(line.way),
                    "name": f"{line.who.label} {line.way}".rstrip(),
                    "points": _by_column(starmap(_percentages, line.points.items())),
                }
                for line in growth.lines
            ],
        }

    def _sizes(self, place: Place, curve: Curve) -> set[int]:
        """The message sizes at which a curve was measured."""
        return {cell.case.x for cell in self._cells[place, curve] if cell.median is not None}

    def _charts(self, place: Place, curve: Curve, beside: Sequence[Curve]) -> dict[str, Any]:
        """The charts of a curve, with a name that distinguishes it from those `beside` it."""
        cells = [cell for cell in self._cells[place, curve] if cell.median is not None]
        kinds = ["fraction"] if any(cell.fraction is not None for cell in cells) else []
        if any(cell.unit == "us" for cell in cells):
            sizes = self._sizes(place, curve)
            small = sum(size <= SMALL_LATENCY_UP_TO for size in sizes)
            if small < len(sizes) and 0 < small < FEWEST_SMALL:
                kinds.append("times")
            else:
                kinds += ["small"] if small else []
                kinds += ["large"] if small < len(sizes) else []
        elif cells:
            kinds.append("rate")
        return {
            "number": self._curves[curve],
            "curve": curve,
            "name": families.named(curve, beside),
            "kinds": kinds,
            "reference": self._reference(curve),
        }

    def _reference(self, curve: Curve) -> str:
        """`ceiling` or `bound`: the reference of the curve."""
        return "bound" if curve.benchmark in self._bounded else "ceiling"

    def _embedded(self) -> dict[str, Any]:
        results = self._results
        first: dict[Curve, Cell] = {}
        for (_, curve), cells in self._cells.items():
            first.setdefault(curve, cells[0])
        measured = Ceilings(results.ceilings)
        ceilings = {
            f"{self._places[place]},{self._curves[curve]}": _by_column(
                map(self._ceiling, measured.curve(place, curve))
            )
            for place, curve in self._cells
        }
        return {
            "contenders": [
                {"label": name, **style}
                for name, style in zip(self.contenders, self.styles, strict=True)
            ],
            "paths": [place.path for place in self._places],
            "variants": [
                {
                    "label": names.label(curve),
                    "detail": names.detail(curve),
                    "figure": curve.figure,
                    "unit": numbers.unit(first[curve].unit),
                    "better": first[curve].better,
                    "reference": self._reference(curve),
                    "ideal": int(curve.benchmark in self._ideal),
                }
                for curve in self._curves
            ],
            "small_up_to": SMALL_LATENCY_UP_TO,
            "ratings": {"good": GOOD, "fair": FAIR},
            "cells": _by_column(self._cell(cell) for cell in results.cells),
            "bandwidths": self._bandwidths(),
            "overlaps": self._overlaps(),
            "ceilings": ceilings,
            "comparisons": self._comparisons(),
            "scalings": self._scalings,
            "growths": {
                application.name: list(map(self._growth, application.growths))
                for application in self.applications
            },
            "buffers": list(self._buffers),
            "matrices": [_matrix(matrix) for matrix in results.pairs],
            "methods": self._methods.texts,
            "commands": self._commands.texts,
        }

    def _cell(self, cell: Cell) -> dict[str, Any]:
        low, high = cell.ci95 or cell.range or (None, None)
        fraction_low, fraction_high = cell.fraction_ci95 or cell.fraction_range or (None, None)
        return {
            "who": self._who[cell.who],
            "path": self._places[cell.place],
            "variant": self._curves[cell.case.curve],
            "buffers": self._buffers[cell.case.buffers],
            "size": cell.case.x,
            "median": _short(cell.median),
            "low": _short(low),
            "high": _short(high),
            "isInterval": int(cell.ci95 is not None),
            "launches": cell.launches,
            "ceiling": _short(cell.ceiling.value) if cell.ceiling else None,
            "method": self._methods(_method(cell)) if cell.ceiling else None,
            "fraction": _short(cell.fraction),
            "fractionLow": _short(fraction_low),
            "fractionHigh": _short(fraction_high),
            "fractionIsInterval": int(cell.fraction_ci95 is not None),
            "fractionBlocks": cell.fraction_blocks,
            "status": names.status(cell),
            "failed": cell.failed,
            "flags": ", ".join(cell.flags)
            + (f": {wording.mode_words(cell.modes)}" if cell.modes else ""),
            "defect": int(is_defect(cell)),
            "minimum": _short(cell.minimum),
            "p05": _short(cell.p05),
            "p95": _short(cell.p95),
            "firstUse": _short(cell.first_use_us),
            "command": self._commands(cell.command),
        }

    def _bandwidths(self) -> dict[int, tuple[float | None, float | None]]:
        """Algorithm and bus bandwidth of the cells that have them, by number."""
        return {
            number: (_short(cell.algbw_gbs), _short(cell.busbw_gbs))
            for number, cell in enumerate(self._results.cells)
            if cell.busbw_gbs is not None
        }

    def _overlaps(self) -> dict[int, str]:
        """Text about communication/computation overlap, by the number of the cell."""
        cells = enumerate(self._results.cells)
        return {number: overlap.describe(cell.overlap) for number, cell in cells if cell.overlap}

    def _ceiling(self, point: CeilingPoint) -> dict[str, Any]:
        low, high = point.ci95 or point.range
        return {
            "size": point.case.x,
            "value": _short(point.value),
            "low": _short(low),
            "high": _short(high),
            "isInterval": int(point.ci95 is not None),
            "method": self._methods(_method_of(point)),
        }

    def _comparisons(self) -> dict[str, list[Any]]:
        """The comparisons, each with the number of its row in the table of curves."""

        def compared(item: Comparison | CurveComparison, curve: Curve) -> tuple[object, ...]:
            return item.first, item.second, item.place, curve

        rows = {
            compared(curve, curve.curve): number
            for number, curve in enumerate(summary.judged_curves(self._results))
        }
        return _by_column(
            {
                "row": rows[compared(item, item.case.curve)],
                "size": item.case.x,
                "ratio": _short(item.ratio),
                "low": _short(item.ci95[0]) if item.ci95 else None,
                "high": _short(item.ci95[1]) if item.ci95 else None,
                "p": _short(item.p_adjusted),
                "verdict": item.verdict,
            }
            for item in self._results.comparisons
        )


def _chain(scaling: families.Scaling) -> tuple[tuple[int, str], ...]:
    """The number of ranks and the name of each path of a chart over ranks."""
    return tuple((len(place.ends), place.path) for place in scaling.places)


def _by_column(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows of one kind as one list for each column, by its name; report.js restores the rows."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return columns


def _matrix(matrix: PairMatrix) -> dict[str, Any]:
    """A matrix for report.js: the values of each source, and the fractions of the median pair."""
    rows, columns = pairs.ends(matrix)
    sources = []
    for source in matrix.sources:
        grid = pairs.grid(matrix, source)
        values = [_short_fields(row, "value") for row in grid]
        fractions = [_short_fields(row, "fraction") for row in grid]
        sources.append({"who": pairs.name(source), "values": values, "fractions": fractions})
    return {
        "kind": matrix.kind,
        "directed": not matrix.symmetric and matrix.kind == "gpu-gpu",
        "case": names.case(matrix.case),
        "unit": numbers.unit(matrix.unit),
        "rows": rows,
        "columns": columns,
        "sources": sources,
    }


def _short_fields(figures: Iterable[PairFigure | None], name: str) -> list[float | None]:
    return [None if figure is None else _short(getattr(figure, name)) for figure in figures]


def _percentages(ranks: int, value: Value) -> dict[str, Any]:
    figures = [value.value, *(value.ci95 or value.range or (None, None))]
    names = ("y", "low", "high")
    percentages = {
        name: _short(100 * figure) if isinstance(figure, float) else None
        for name, figure in zip(names, figures, strict=True)
    }
    return {"size": ranks, **percentages, "isInterval": int(value.ci95 is not None)}


def _styles(who: list[Who]) -> list[dict[str, int]]:
    """A colour and a marker for each library, a line style for each of its settings."""
    libraries = list(dict.fromkeys(owner.library for owner in who))
    seen: dict[str, int] = {}
    styles = []
    for owner in who:
        dash = seen[owner.library] = seen.get(owner.library, -1) + 1
        styles.append({"colour": libraries.index(owner.library), "dash": dash})
    return styles


def _method(cell: Cell) -> str:
    """The best method of the ceiling, with the host-driven ceiling if that one is lower."""
    method = methods.describe(cell.ceiling.method) if cell.ceiling else ""
    if cell.attainable is None or cell.fraction_attainable is None:
        return method
    share = f"{numbers.percent(cell.fraction_attainable)} % of it"
    return f"{method}; attainable {_attained(cell.attainable)}, {share}"


def _method_of(point: CeilingPoint) -> str:
    if point.attainable is None:
        return methods.describe(point.method)
    return f"{methods.describe(point.method)}; attainable {_attained(point.attainable)}"


def _attained(value: CeilingValue | Attainable) -> str:
    short = f", {BY_TRIALS}" if isinstance(value, Attainable) and value.by_trials else ""
    return f"{numbers.number(value.value)} ({methods.describe(value.method)}{short})"
