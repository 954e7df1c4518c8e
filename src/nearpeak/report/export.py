# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: CSV of every cell, and LaTeX of the tables."""

import csv
import io
from collections.abc import Iterator

from nearpeak.report import applications, awareness, fits, headlines, summary, tables, verdicts
from nearpeak.report.bandwidths import Bandwidths, bandwidths
from nearpeak.report.families import families
from nearpeak.report.sections import Row, Table, Value
from nearpeak.results.model import Application, Cell, Estimated, Overlap, Results
from nearpeak.study.benchmarks import Benchmark

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
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    study = [results.study, results.started, results.machine.hostname, results.nearpeak]
    versions = {library.name: library.version for library in results.libraries}
    rates = bandwidths(results)
    known = {one.name: one for one in results.benchmarks}
    for cell, application in _timed(results):
        benchmark = known[cell.case.benchmark]
        version = versions.get(cell.who.library)
        problem = _application(application, benchmark.x.unit)
        row = [*_row(cell, version, benchmark, rates(cell)), *problem, *_ending(cell)]
        writer.writerow(map(_inert, [*study, *row]))
    return stream.getvalue()


def _timed(results: Results) -> Iterator[tuple[Cell, Application | None]]:
    yield from ((cell, None) for cell in results.cells)
    yield from ((one.cell, one) for one in results.applications)


def _inert(value: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value


def _row(
    cell: Cell, version: str | None, benchmark: Benchmark, rates: Bandwidths | None
) -> list[object]:
    nothing = (None, None)
    return [
        cell.who.library,
        version,
        cell.who.settings,
        cell.place.path,
        len(cell.place.ends),
        benchmark.family,
        cell.case.benchmark,
        cell.case.metric,
        cell.case.buffers,
        ";".join(f"{name}={value}" for name, value in cell.case.axes.items()),
        cell.case.x if benchmark.over_bytes else None,
        cell.unit,
        cell.better,
        cell.window,
        cell.median,
        *(cell.ci95 or nothing),
        *(cell.range or nothing),
        cell.p05,
        cell.p95,
        cell.minimum,
        cell.first_use_us,
        cell.at_least,
        cell.launches,
        cell.ceiling.value if cell.ceiling else None,
        cell.ceiling.method if cell.ceiling else None,
        cell.ceiling.kind if cell.ceiling else None,
        cell.fraction,
        *(cell.fraction_ci95 or nothing),
        *(cell.fraction_range or nothing),
        cell.fraction_blocks,
        *(rates or nothing),
        *_overlap(cell.overlap),
    ]


def _ending(cell: Cell) -> list[object]:
    return [cell.status, ";".join(cell.flags), cell.command]


def _application(one: Application | None, unit: str) -> list[object]:
    if one is None:
        return [None] * 18
    return [
        one.cell.case.x,
        unit,
        one.rate,
        one.rate_unit,
        ";".join(f"{name}={us}" for name, us in one.phases.items()),
        one.messages_us,
        one.predicted_us,
        one.scaled.scaling if one.scaled else None,
        *_estimated(one.scaled.efficiency if one.scaled else None),
        *_estimated(one.roofline.fraction if one.roofline else None),
    ]


def _estimated(found: Estimated | None) -> list[object]:
    if found is None:
        return [None] * 5
    return [found.value, *(found.ci95 or (None, None)), *found.range]


def _overlap(overlap: Overlap | None) -> list[object]:
    if overlap is None:
        return [None] * 11
    hidden, slower = overlap.hidden, overlap.device_slowdown
    return [
        *_estimated(hidden),
        overlap.communicate_us,
        overlap.compute_us,
        overlap.both_us,
        slower.value if slower else None,
        *((slower.ci95 if slower else None) or (None, None)),
    ]


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
        tables.table_two(headlines.groups(results), summary.figures(results)),
        *(table for table in others if table.groups),
    ]
    return "\n".join(map(_latex, shown))


def escape(text: str) -> str:
    """`text` as LaTeX prints it; a control character becomes a blank."""
    return "".join(_LATEX.get(char, char if char.isprintable() else " ") for char in text)


def _latex(section: Table) -> str:
    """A table with its caption; a value without its interval, which no column has room for."""
    columns = section.columns
    heads = [section.head] if _untitled(section) else ["Path", section.head]
    empty = [""] * len(heads)
    over = [rf"\multicolumn{{{span}}}{{c}}{{{escape(text)}}}" for text, span in section.spans]
    titles = [escape(column.title) for column in columns]
    units = [escape(f"({column.unit})" if column.unit else "") for column in columns]
    return _latex_table(
        caption=escape(f"{section.title} {section.caption}"),
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
