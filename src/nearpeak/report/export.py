# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: CSV of every cell, and LaTeX of the tables."""

import csv
import io
from collections.abc import Mapping

from nearpeak.report import applications, awareness, fits, summary, tables, verdicts
from nearpeak.report.bandwidths import bandwidths
from nearpeak.report.families import families
from nearpeak.report.headlines import groups
from nearpeak.report.sections import Row, Table, Value
from nearpeak.results.results import (
    Application,
    Cell,
    Estimated,
    Headline,
    OfPlateau,
    Overlap,
    Results,
)
from nearpeak.terms.benchmarks import Benchmark

COLUMNS = (
    "study",
    "started",
    "host",
    "nearpeak",
    "library",
    "library_version",
    "settings",
    "path",
    "ranks",
    "family",
    "benchmark",
    "metric",
    "buffers",
    "axes",
    "size_bytes",
    "unit",
    "better",
    "window",
    "lies_in",
    "median",
    "ci95_low",
    "ci95_high",
    "range_low",
    "range_high",
    "p05",
    "p95",
    "minimum",
    "first_use_us",
    "at_least",
    "launches",
    "ceiling",
    "ceiling_method",
    "ceiling_kind",
    "fraction",
    "fraction_ci95_low",
    "fraction_ci95_high",
    "fraction_range_low",
    "fraction_range_high",
    "fraction_blocks",
    "attainable",
    "attainable_method",
    "fraction_attainable",
    "fraction_attainable_ci95_low",
    "fraction_attainable_ci95_high",
    "fraction_attainable_range_low",
    "fraction_attainable_range_high",
    "plateau",
    "plateau_size_bytes",
    "fraction_plateau",
    "fraction_plateau_ci95_low",
    "fraction_plateau_ci95_high",
    "fraction_plateau_range_low",
    "fraction_plateau_range_high",
    "standing",
    "algbw_gbs",
    "busbw_gbs",
    "overlap",
    "overlap_ci95_low",
    "overlap_ci95_high",
    "overlap_range_low",
    "overlap_range_high",
    "communicate_us",
    "compute_us",
    "both_us",
    "device_slowdown",
    "device_slowdown_ci95_low",
    "device_slowdown_ci95_high",
    "problem_size",
    "problem_unit",
    "rate",
    "rate_unit",
    "phases_us",
    "messages_us",
    "predicted_us",
    "predicted_range_low",
    "predicted_range_high",
    "imbalance",
    "scaling",
    "efficiency",
    "efficiency_ci95_low",
    "efficiency_ci95_high",
    "efficiency_range_low",
    "efficiency_range_high",
    "roofline",
    "roofline_ci95_low",
    "roofline_ci95_high",
    "roofline_range_low",
    "roofline_range_high",
    "status",
    "flags",
    "command",
)

Columns = dict[str, object]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how texts begin that a spreadsheet would run
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "µ": r"\textmu{}",
    "[": "{[}",
    "]": "{]}",
    "✓": r"\(\surd\)",
    "½": r"\textonehalf{}",
}


def to_csv(results: Results) -> str:
    """One row for each cell, in the columns of `COLUMNS` (docs/report.md); empty where null."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    study: Columns = {
        "study": results.study,
        "started": results.started,
        "host": results.machine.hostname,
        "nearpeak": results.nearpeak,
    }
    versions = {library.name: library.version for library in results.libraries}
    rates = bandwidths(results)
    known = {one.name: one for one in results.benchmarks}
    headlines = {(one.place, one.case): one for one in results.headlines}
    for cell in results.cells:
        row = _cell(cell, known[cell.case.benchmark], versions)
        algbw, busbw = rates(cell) or (None, None)
        size: Columns = {"size_bytes": cell.case.x, "algbw_gbs": algbw, "busbw_gbs": busbw}
        first: Columns = {"standing": _standing(cell, headlines.get((cell.place, cell.case)))}
        writer.writerow(_inert(study | row | size | first | _overlap(cell.overlap)))
    for one in results.applications:
        benchmark = known[one.cell.case.benchmark]
        row = _cell(one.cell, benchmark, versions)
        writer.writerow(_inert(study | row | _application(one, benchmark.x.unit)))
    return stream.getvalue()


def _inert(row: Columns) -> Columns:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    return {
        name: f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value
        for name, value in row.items()
    }


def _cell(cell: Cell, benchmark: Benchmark, versions: Mapping[str, str]) -> Columns:
    return {
        "library": cell.who.library,
        "library_version": versions.get(cell.who.library),
        "settings": cell.who.settings,
        "path": cell.place.path,
        "ranks": len(cell.place.ends),
        "family": benchmark.family,
        "benchmark": cell.case.benchmark,
        "metric": cell.case.metric,
        "buffers": cell.case.buffers,
        "axes": ";".join(f"{name}={value}" for name, value in cell.case.axes.items()),
        "unit": cell.unit,
        "better": cell.better,
        "window": cell.window,
        "lies_in": cell.lies_in,
        "median": cell.median,
        **_within("", cell.ci95, cell.range),
        "p05": cell.p05,
        "p95": cell.p95,
        "minimum": cell.minimum,
        "first_use_us": cell.first_use_us,
        "at_least": cell.at_least,
        "launches": cell.launches,
        "ceiling": cell.ceiling.value if cell.ceiling else None,
        "ceiling_method": cell.ceiling.method if cell.ceiling else None,
        "ceiling_kind": cell.ceiling.kind if cell.ceiling else None,
        "fraction": cell.fraction,
        **_within("fraction_", cell.fraction_ci95, cell.fraction_range),
        "fraction_blocks": cell.fraction_blocks,
        "attainable": cell.attainable.value if cell.attainable else None,
        "attainable_method": cell.attainable.method if cell.attainable else None,
        "fraction_attainable": cell.fraction_attainable,
        **_within(
            "fraction_attainable_", cell.fraction_attainable_ci95, cell.fraction_attainable_range
        ),
        **_plateau(cell.of_plateau),
        "status": cell.status,
        "flags": ";".join(cell.flags),
        "command": cell.command,
    }


def _standing(cell: Cell, headline: Headline | None) -> str:
    """Of the best one of a headline how sure that is, and of who ties with it; else empty."""
    if headline is None or cell.who not in (headline.best, *headline.tied):
        return ""
    return headline.standing


def _plateau(part: OfPlateau | None) -> Columns:
    if part is None:
        return {}
    return {
        "plateau": part.value,
        "plateau_size_bytes": part.x,
        "fraction_plateau": part.fraction,
        **_within("fraction_plateau_", part.ci95, part.range),
    }


def _application(one: Application, unit: str) -> Columns:
    return {
        "problem_size": one.cell.case.x,
        "problem_unit": unit,
        "rate": one.rate,
        "rate_unit": one.rate_unit,
        "phases_us": ";".join(f"{name}={us}" for name, us in one.phases.items()),
        "messages_us": one.messages_us,
        "predicted_us": one.predicted_us,
        "predicted_range_low": one.predicted_range[0] if one.predicted_range else None,
        "predicted_range_high": one.predicted_range[1] if one.predicted_range else None,
        **_estimated("overlap", one.hidden),
        "imbalance": one.imbalance.value if one.imbalance else None,
        "scaling": one.scaled.scaling if one.scaled else None,
        **_estimated("efficiency", one.scaled.efficiency if one.scaled else None),
        **_estimated("roofline", one.roofline.fraction if one.roofline else None),
    }


def _estimated(name: str, found: Estimated | None) -> Columns:
    if found is None:
        return {}
    return {name: found.value, **_within(f"{name}_", found.ci95, found.range)}


def _within(
    prefix: str, ci95: tuple[float, float] | None, span: tuple[float, float] | None
) -> Columns:
    found: Columns = {}
    for name, ends in (("ci95", ci95), ("range", span)):
        if ends is not None:
            found[f"{prefix}{name}_low"], found[f"{prefix}{name}_high"] = ends
    return found


def _overlap(overlap: Overlap | None) -> Columns:
    if overlap is None:
        return {}
    slower = overlap.device_slowdown
    return {
        **_estimated("overlap", overlap.hidden),
        "communicate_us": overlap.communicate_us,
        "compute_us": overlap.compute_us,
        "both_us": overlap.both_us,
        "device_slowdown": slower.value if slower else None,
        **_within("device_slowdown_", slower.ci95 if slower else None, None),
    }


def to_latex(results: Results) -> str:
    """The two tables, and where there are any those of applications, families, GPU-awareness,
    verdicts and fits.

    For a document that loads the package booktabs.
    """
    theory = (row for row in summary.table_one(results) if not row.best.fact)
    others = [one.table for one in applications.sections(results)]
    others += [one.table for one in families(results)]
    others += [awareness.table(results), *verdicts.main(results), fits.table(results)]
    shown = [
        tables.table_one(theory),
        tables.table_two(groups(results), summary.figures(results)),
        *(table for table in others if table.groups),
    ]
    return "\n".join(map(_latex, shown))


def escape(text: str) -> str:
    """`text` as LaTeX prints it; a control character becomes a blank."""
    return "".join(_LATEX.get(char, char if char.isprintable() else " ") for char in text)


def _latex(section: Table) -> str:
    """A table with its caption; a value without its interval, which no column has room for."""
    columns = section.columns
    left_out = " Intervals and ranges are left out here; the CSV has them."
    promised = "interval" in section.caption
    heads = [section.head] if _untitled(section) else ["Path", section.head]
    empty = [""] * len(heads)
    over = [rf"\multicolumn{{{span}}}{{c}}{{{escape(text)}}}" for text, span in section.spans]
    titles = [escape(column.title) for column in columns]
    units = [escape(f"({column.unit})" if column.unit else "") for column in columns]
    return _latex_table(
        caption=escape(f"{section.title} {section.caption}{left_out if promised else ''}"),
        columns="l" * len(heads) + "".join("r" if column.figure else "l" for column in columns),
        heads=[
            *([[*empty, *over]] if any(column.over for column in columns) else []),
            [*heads, *titles],
            *([[*empty, *units]] if any(units) else []),
        ],
        rows=[
            _latex_row(section, group.title, row) for group in section.groups for row in group.rows
        ],
    )


def _untitled(section: Table) -> bool:
    """Whether its rows stand under no headings, so that they need no column for them."""
    return not any(group.title for group in section.groups)


def _latex_row(section: Table, title: str, row: Row) -> list[str]:
    head = f"{row.head} ({row.detail})" if row.detail else row.head
    first = [head] if _untitled(section) else [title, head]
    return [*map(escape, first), *(_field(value) for _, value in row.fields(section.columns))]


def _field(value: Value | None) -> str:
    if value is None:
        return ""
    detail = f"({value.detail})" if value.detail else ""
    words = escape(" ".join(filter(None, [value.text, detail, value.remark])))
    return words if value.columns == 1 else rf"\multicolumn{{{value.columns}}}{{c}}{{{words}}}"


def _latex_table(caption: str, columns: str, heads: list[list[str]], rows: list[list[str]]) -> str:
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *(" & ".join(head) + r" \\" for head in heads),
        r"\midrule",
        *(" & ".join(row).replace("–", "--") + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
