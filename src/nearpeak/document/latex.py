# SPDX-License-Identifier: Apache-2.0
"""Tables as LaTeX, for a document that loads the package booktabs."""

from nearpeak.document.model import Row, Table, Value

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
    '"': "''",  # \textquotedbl is in no document without the package fontenc
    "µ": r"\textmu{}",
    "[": "{[}",
    "]": "{]}",
    "✓": r"\(\surd\)",
    "½": r"\textonehalf{}",
}


def escape(text: str) -> str:
    """`text` as LaTeX prints it; a control character becomes a blank."""
    return "".join(_LATEX.get(char, char if char.isprintable() else " ") for char in text)


def to_latex(section: Table) -> str:
    """A table with its caption; values without intervals, for which columns have no room."""
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
    """True if no group of rows has a heading, so that the table needs no column for headings."""
    return not any(group.title for group in section.groups)


def _latex_row(section: Table, title: str, row: Row) -> list[str]:
    head = f"{row.head} ({row.detail})" if row.detail else row.head
    first = [head] if _untitled(section) else [title, head]
    return [*map(escape, first), *(_field(value) for _, value in row.fields(section.columns))]


def _field(value: Value | None) -> str:
    if value is None:
        return ""
    detail = f"({value.detail})" if value.detail else ""
    text = escape(" ".join(filter(None, [value.text, detail, value.remark])))
    return text if value.columns == 1 else rf"\multicolumn{{{value.columns}}}{{c}}{{{text}}}"


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
