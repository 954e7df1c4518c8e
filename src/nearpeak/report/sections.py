# SPDX-License-Identifier: Apache-2.0
"""The parts of a report as data: tables with named columns and typed values, and notices.

Terminal, page and LaTeX render the same parts; only numbers.py formats numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nearpeak import numbers

Kind = Literal["number", "percent", "size", "count", "probability", "text", "command"]
Tone = Literal["", "good", "bad", "note"]
Span = tuple[float, float]

# Printed with each percentage that stands next to the two figures of its ratio.
PAIRED = (
    "Each percentage is the median of the ratios within single blocks, of those in which both had"
    " their CPUs as far apart, so it may differ from the ratio of the two figures."
)

BY_TRIALS = "by short trials"  # a remark on host-driven ceilings
# Printed instead of a percentage: a notice gives the reason.
NO_COMMON_BLOCK = "no common block"


@dataclass(frozen=True)
class Value:
    """The content of one field of a table."""

    # A percentage is a fraction (0.5 is 50 %); a size is in bytes; of a count, 0 is nothing.
    value: float | str | None
    kind: Kind = "number"
    ci95: Span | None = None
    range: Span | None = None  # shown where there is no interval
    few: str = "launches"  # the unit of which there are fewer than 6 then
    blocks: int | None = None  # of a fraction: the number of blocks that have it
    tone: Tone = ""
    detail: str = ""  # behind it, in small print
    remark: str = ""  # behind it, as a warning: "worth a look"
    notes: tuple[str, ...] = ()  # below it, a line each
    hover: str = ""  # the page shows it under the pointer
    columns: int = 1  # the number that it spans, from its own on; the others are empty

    @property
    def text(self) -> str:
        """The formatted value, without its interval."""
        if isinstance(self.value, str):
            return self.value
        if self.value is None:
            return numbers.NOTHING
        if self.kind == "size":
            return numbers.size(int(self.value))
        if self.kind == "count":
            return str(int(self.value)) if self.value else numbers.NOTHING
        if self.kind == "probability":
            return numbers.probability(self.value)
        return (numbers.percent if self.kind == "percent" else numbers.number)(self.value)

    @property
    def span(self) -> str:
        """The formatted interval, or the range; empty if it has neither."""
        scale = 100.0 if self.kind == "percent" else 1.0
        return numbers.spread(self.ci95, self.range, scale, self.blocks)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    key: str  # by which a row names its value
    title: str
    unit: str = ""  # below the title
    over: str = ""  # what it has in common with its neighbours, above their titles
    figure: bool = True  # to the right, as numbers are
    long: bool = False  # a text that needs several lines


@dataclass(frozen=True)
class Row:
    """A row of a table; a column that it does not name is empty in it."""

    head: str
    values: Mapping[str, Value]
    detail: str = ""  # behind the head, in small print
    ceiling: bool = False  # no library's
    opens: int | None = None  # the index of the details that the page shows on demand

    def fields(self, columns: Sequence[Column]) -> Iterator[tuple[Column, Value | None]]:
        """Each column with its value, without the columns that an earlier value spans."""
        covered = 0
        for column in columns:
            if covered:
                covered -= 1
                continue
            value = self.values.get(column.key)
            covered = value.columns - 1 if value else 0
            yield column, value


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
    empty: str = ""  # what the page says in its place where it has no rows
    folded: str = ""  # the page folds it under this summary
    compact: bool = False  # no wider than its columns need

    @property
    def spans(self) -> list[tuple[str, int]]:
        """The headings over neighbouring columns, with the number of columns of each."""
        headings: list[tuple[str, int]] = []
        for column in self.columns:
            if headings and column.over and headings[-1][0] == column.over:
                headings[-1] = (column.over, headings[-1][1] + 1)
            else:
                headings.append((column.over, 1))
        return headings


@dataclass(frozen=True)
class Notice:
    """A notice to the reader, with its details."""

    text: str
    items: tuple[str, ...] = ()  # the most important first: where there are many, some are folded
    tone: Tone = ""
    command: str = ""  # what to run, behind the text
    details: str = ""  # id of the part of the page that has the details
