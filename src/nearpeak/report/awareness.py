# SPDX-License-Identifier: Apache-2.0
"""Which operations each library does with each kind of device buffers."""

from dataclasses import dataclass

from nearpeak.identity import Who
from nearpeak.results.model import Results
from nearpeak.study.model import Awareness

Column = tuple[str, str]  # buffers, operation


@dataclass(frozen=True)
class Matrix:
    """Library with its settings by (buffers, operation)."""

    columns: list[Column]
    rows: list[tuple[str, dict[Column, Awareness]]]

    @property
    def spans(self) -> list[tuple[str, int]]:
        """Each kind of buffers, and how many columns it has."""
        kinds = dict.fromkeys(buffers for buffers, _ in self.columns)
        return [(kind, sum(column[0] == kind for column in self.columns)) for kind in kinds]


def matrix(results: Results) -> Matrix:
    """All trials; what was not tried has no entry."""
    operations = list(dict.fromkeys(one.operation for one in results.awareness))
    kinds = list(dict.fromkeys(one.buffers for one in results.awareness))
    columns = sorted(
        {(one.buffers, one.operation) for one in results.awareness},
        key=lambda column: (kinds.index(column[0]), operations.index(column[1])),
    )
    rows: dict[str, dict[Column, Awareness]] = {}
    for one in results.awareness:
        row = rows.setdefault(Who(one.library, one.settings).label, {})
        row[one.buffers, one.operation] = one
    return Matrix(columns, list(rows.items()))
