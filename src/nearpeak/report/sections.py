# SPDX-License-Identifier: Apache-2.0
"""The tables of a report as data: named columns and typed values.

Terminal, page and LaTeX render the same tables; what a number looks like, numbers.py alone says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from nearpeak import numbers

Kind = Literal["number", "percent", "size", "text"]
Tone = Literal["", "good", "bad", "note"]
Span = tuple[float, float]


@dataclass(frozen=True)
class Value:
    """What stands in one field of a table."""

    value: float | str | None  # a percentage is a fraction: 0.5 is 50 %
    kind: Kind = "number"
    ci95: Span | None = None
    range: Span | None = None  # shown where there is no interval
    few: str = "launches"  # of which there are fewer than 6 then
    tone: Tone = ""
    remark: str = ""  # behind it: "worth a look"
    notes: tuple[str, ...] = ()  # below it, a line each

    @property
    def text(self) -> str:
        """Itself, without its interval."""
        if isinstance(self.value, str):
            return self.value
        if self.value is None or self.kind != "size":
            return (numbers.percent if self.kind == "percent" else numbers.number)(self.value)
        return numbers.size(int(self.value))

    @property
    def span(self) -> str:
        """Its interval, or its range; empty where it has neither."""
        scale = 100.0 if self.kind == "percent" else 1.0
        return numbers.spread(self.ci95, self.range, scale)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    key: str  # by which a row names its value
    title: str
    unit: str = ""  # below the title
    over: str = ""  # what it has in common with its neighbours, above their titles
    figure: bool = True  # to the right, as numbers are


@dataclass(frozen=True)
class Row:
    """A row of a table; a column that it does not name is empty in it."""

    head: str
    values: Mapping[str, Value]
    detail: str = ""  # behind the head, in small print
    ceiling: bool = False  # no library's


@dataclass(frozen=True)
class Rows:
    """Rows under one heading."""

    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Table:
    """A table with its caption."""

    title: str
    caption: str
    head: str  # of the first column
    columns: list[Column]
    groups: list[Rows] = field(default_factory=list)
    empty: str = ""  # what it says without rows

    @property
    def spans(self) -> list[tuple[str, int]]:
        """What stands over neighbouring columns, and over how many."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and column.over and found[-1][0] == column.over:
                found[-1] = (column.over, found[-1][1] + 1)
            else:
                found.append((column.over, 1))
        return found
