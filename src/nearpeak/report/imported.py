# SPDX-License-Identifier: Apache-2.0
"""The table of figures imported from other tools, compared with the study's on the same path."""

from itertools import groupby

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.numbers import size, span, unit
from nearpeak.results import names
from nearpeak.results.imported import FIGURE
from nearpeak.results.results import Difference, Imported, Results

_DISTANCE = (
    " How far apart the CPUs of an imported figure were is not known. Below a ceiling stands how"
    " far apart the CPUs of this study were (a cache line there and back): at several distances"
    " there is no percentage, as the ceiling is the median over all of them."
)


def table(results: Results) -> Table:
    """A row for each imported curve, by path; no rows if nothing was imported."""
    return Table(
        title="Imported figures, beside this study's.",
        caption=(
            "A time is told at 8 B, a rate at the largest message that a library of the study sent"
            " too. Best library: of the study, in the same memories. The ceiling is that of the"
            " same size, or, where it was not measured, the best at any. Another time, and perhaps"
            " other software: no verdict compares an imported figure with one of the study, and"
            " nothing tells how sure its percentage is; there is none where the ceiling is of"
            " buffers that were used otherwise."
            + (_DISTANCE if any(record.ceiling_ns for record in results.imported) else "")
        ),
        head="Imported",
        columns=[
            Column("what", "What", figure=False, long=True),
            Column("value", "Imported"),
            Column("library", "Best", "library"),
            Column("ceiling", "Ceiling"),
            Column("fraction", "% of", "ceiling"),
        ],
        groups=[
            Rows(place.path, list(map(_row, mine)))
            for place, mine in groupby(results.imported, key=lambda record: record.place)
        ],
    )


def _row(record: Imported) -> Row:
    label = f"{names.case(record.case)}, {size(record.case.x)}, {unit(record.unit)}"
    values = {
        "what": Value(label, "text", notes=tuple(map(_difference, record.differs))),
        "value": Value(record.value),
        "library": Value(
            record.library_value, notes=(record.library.label,) if record.library else ()
        ),
    }
    if ceiling := record.ceiling:
        notes = [f"at {size(ceiling.x)}"] if ceiling.x != record.case.x else []
        notes += [f"CPUs {span(*ns, 'ns')} apart" for ns in record.ceiling_ns]
        values["ceiling"] = Value(ceiling.value, notes=tuple(notes))
        values["fraction"] = Value(record.fraction, "percent")
    return Row(record.who.label, values)


def _difference(difference: Difference) -> str:
    name = "" if difference.name == FIGURE else f"{difference.name}="
    return f"{name}{difference.own}, not {difference.study}"
