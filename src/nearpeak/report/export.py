# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: CSV of every cell, and LaTeX of the two tables."""

import csv
import io

from nearpeak.identity import Curve
from nearpeak.numbers import number, percent, size, unit
from nearpeak.report import summary
from nearpeak.results.cells import is_defect
from nearpeak.results.model import Cell, Results
from nearpeak.results.names import case

COLUMNS = (
    "library",
    "settings",
    "path",
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
    "launches",
    "ceiling",
    "ceiling_method",
    "fraction",
    "fraction_ci95_low",
    "fraction_ci95_high",
    "fraction_range_low",
    "fraction_range_high",
    "fraction_blocks",
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
}


def to_csv(results: Results) -> str:
    """One row for each cell, in the columns of `COLUMNS` (docs/report.md); empty where null."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(_inert, _row(cell)) for cell in results.cells)
    return stream.getvalue()


def _inert(value: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value


def _row(cell: Cell) -> list[object]:
    nothing = (None, None)
    return [
        cell.who.library,
        cell.who.settings,
        cell.place.path,
        cell.case.benchmark,
        cell.case.metric,
        cell.case.buffers,
        ";".join(f"{name}={value}" for name, value in cell.case.axes.items()),
        cell.case.x,
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
        cell.launches,
        cell.ceiling.value if cell.ceiling else None,
        cell.ceiling.method if cell.ceiling else None,
        cell.fraction,
        *(cell.fraction_ci95 or nothing),
        *(cell.fraction_range or nothing),
        cell.fraction_blocks,
        cell.status,
        ";".join(cell.flags),
        cell.command,
    ]


def to_latex(results: Results) -> str:
    """The two tables, for a document that loads the package booktabs."""
    return f"{_latex_one(results)}\n{_latex_two(results)}"


def escape(text: str) -> str:
    """`text` as LaTeX prints it; a control character becomes a blank."""
    return "".join(_LATEX.get(char, char if char.isprintable() else " ") for char in text)


def _latex_one(results: Results) -> str:
    rows = [
        [
            escape(row.place.path),
            escape(_curve(row.best.case)),
            number(row.theoretical_gbs) if row.one_way else "",
            number(row.best.value),
            escape(unit(row.best.unit)),
            size(row.best.case.x),
            escape(row.best.method),
            "" if row.fraction is None else percent(row.fraction),
        ]
        for row in summary.table_one(results)
        if not row.best.fact
    ]
    return _latex_table(
        caption="What each path carries without MPI: the best value of the measured ceiling over"
        " the message sizes. Fraction: of the theoretical rate in one direction.",
        columns="llrrlrlr",
        heads=[
            "Path & Metric & Theoretical & Measured & Unit & At size & Method & Fraction",
            r" & & (GB/s) & & & & & (\%)",
        ],
        rows=rows,
    )


def _curve(curve: Curve) -> str:
    axes = ", ".join(f"{name}={value}" for name, value in curve.axes.items())
    return f"{case(curve)} ({axes})" if axes else case(curve)


def _fraction(cell: Cell) -> str:
    text = percent(cell.fraction)
    return f"{text} (defect)" if is_defect(cell) else text


def _latex_two(results: Results) -> str:
    groups = summary.table_two(results)
    shown = {name for group in groups for name in group.figures}
    names = [name for name in summary.figures(results) if name in shown]
    units = {name: group.unit(name) for group in groups for name in group.figures}
    rows = []
    for group in groups:
        for who, found in group.all_rows:
            row = [escape(group.title), escape(who)]
            for name in names:
                best = found.get(name)
                row += (
                    ["--", "--"]
                    if best is None
                    else [number(best.cell.median), _fraction(best.cell)]
                )
            rows.append(row)
    first = "".join(rf" & \multicolumn{{2}}{{c}}{{{escape(name)}}}" for name in names)
    second = "".join(rf" & ({escape(units[name])}) & (\%)" for name in names)
    return _latex_table(
        caption="What each library reaches: its best rate over the message sizes or its latency"
        " of the smallest message that is not empty, and its fraction of the measured ceiling at"
        " that same size; a defect is one of the ceiling.",
        columns="ll" + "rr" * len(names),
        heads=[f"Path & Library{first}", f" & {second}"],
        rows=rows,
    )


def _latex_table(caption: str, columns: str, heads: list[str], rows: list[list[str]]) -> str:
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *(head + r" \\" for head in heads),
        r"\midrule",
        *(" & ".join(row).replace("–", "--") + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
