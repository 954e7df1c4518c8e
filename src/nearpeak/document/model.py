# SPDX-License-Identifier: Apache-2.0
"""One model of what is shown: sections of prose, tables, drawings and notices.

Each kind of run makes a `Document`, and the writers of this folder put it on the terminal or on a
page. Only numbers.py formats numbers. Text between backticks is code; nothing else is markup.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal

from markupsafe import Markup

from nearpeak import numbers

Kind = Literal["number", "percent", "size", "count", "probability", "text", "command"]
Tone = Literal["", "good", "bad", "note", "muted"]
# What shows a block. "": the page and the terminal; "details": the page, and the terminal with
# --verbose; "page": the page alone.
Medium = Literal["", "details", "page"]
Span = tuple[float, float]
UNCONFIRMED = "Unconfirmed"  # in front of what launches or messages are too few to show


@dataclass(frozen=True)
class Bar:
    """A share as a bar, with a mark at another share."""

    share: float  # from 0 on; what is above 1 is drawn as 1
    mark: float | None = None
    confirmed: bool = True  # else it is drawn pale


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
    bar: Bar | None = None  # drawn before the text
    mark: str = ""  # class of a coloured mark that the page has before it
    drawing: Markup | None = None  # the page has it in place of the text

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

    @property
    def label(self) -> str:
        """Its headings in one line: `latency 8 B µs`."""
        return " ".join(filter(None, [self.over, self.title, self.unit]))


@dataclass(frozen=True)
class Row:
    """A row of a table; a column that it does not name is empty in it."""

    head: str
    values: Mapping[str, Value]
    detail: str = ""  # behind the head, in small print
    hover: str = ""  # the page shows it under the pointer
    strong: bool = False
    ceiling: bool = False  # no library's
    opens: int | None = None  # the index of the details that the page shows on demand
    medium: Medium = ""

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
    compact: bool = False  # no wider than its columns need; its groups share one heading
    stacks: bool = False  # in a narrow window a row is a list, so that nothing is behind the edge
    heads: bool = False  # the terminal has the heading of the first column, too
    name: str = ""  # the terminal has it before the title of each group
    medium: Medium = ""

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
    medium: Medium = ""


@dataclass(frozen=True)
class Finding:
    """Something to act on, in two lines; the evidence is folded below."""

    text: str  # what is the matter, and what it costs
    action: str = ""  # what to do, in words
    command: str = ""  # what to run
    doubt: str = ""  # why it is not confirmed
    reason: str = ""  # the same in a word or two: `4 launches`
    further: "Code | None" = None  # another command, which a terminal may have no room for
    origin: str = ""  # of the loss, in a word: software, settings, placement or hardware
    evidence: Sequence[str] = ()
    sources: Sequence[tuple[str, str]] = ()  # a text, and its address
    medium: Medium = ""

    @property
    def labelled(self) -> str:
        """The text, with its doubt in front."""
        if not self.doubt:
            return self.text
        return f"{UNCONFIRMED}{numbers.in_brackets(self.reason)}: {self.text}"

    @property
    def remedy(self) -> str:
        """The origin of the loss, and what to do about it: `Settings: move the threshold.`"""
        if not (self.origin and self.action):
            return self.action
        return f"{self.origin.capitalize()}: {continued(self.action)}"

    @property
    def with_further(self) -> "Finding":
        """The same with its other command as its own, if it has none."""
        if self.command or not self.further:
            return self
        action = f"{self.action} {self.further.title}".lstrip()
        return replace(self, action=action, command=self.further.text, further=None)


def continued(text: str) -> str:
    """The text within a sentence: its first letter is small, but for names such as MPI."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


@dataclass(frozen=True)
class Findings:
    """Numbered findings, the costliest first."""

    findings: Sequence[Finding]
    title: str = ""  # above them: their order
    medium: Medium = ""


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str
    tone: Tone = ""
    strong: bool = False
    medium: Medium = ""


@dataclass(frozen=True)
class Heading:
    """A heading below that of a section."""

    text: str
    medium: Medium = ""


@dataclass(frozen=True)
class Items:
    """A list of lines under a title, of which the terminal shows the first ones."""

    lines: Sequence[str]
    title: str = ""
    most: int = 8  # lines on the terminal without --verbose
    elsewhere: str = "see the report"  # where the terminal says that the others are
    medium: Medium = ""


@dataclass(frozen=True)
class Terms:
    """Definitions: names, each with its text."""

    entries: Sequence[tuple[str, str]]
    medium: Medium = "page"


@dataclass(frozen=True)
class Code:
    """Lines as they are: a command, or the output of another program."""

    text: str
    title: str = ""  # before it
    medium: Medium = ""


@dataclass(frozen=True)
class Drawing:
    """A picture of the page, with its caption and the coloured marks that the caption explains."""

    markup: Markup  # its maker has escaped all text in it; left out if empty
    title: str = ""
    caption: str = ""
    legend: Sequence[tuple[str, str]] = ()  # class of a mark, and its meaning
    medium: Medium = "page"


@dataclass(frozen=True)
class Drawings:
    """Pictures side by side."""

    drawings: Sequence[Drawing]
    medium: Medium = "page"


@dataclass(frozen=True)
class Folded:
    """Blocks that the page folds under a summary."""

    summary: str
    blocks: Sequence["Block"]
    medium: Medium = "page"


Block = (
    Code | Drawing | Drawings | Findings | Folded | Heading | Items | Notice | Prose | Table | Terms
)


@dataclass(frozen=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: Sequence[Block]
    id: str = ""  # by which a link finds it on the page
    medium: Medium = ""


def for_terminal(sections: Iterable[Section], *, verbose: bool = False) -> Iterator[Section]:
    """Yields the sections with what the terminal shows of them; with `verbose` all details too, in
    sections before the others."""
    hidden: Set[Medium] = {"page"} if verbose else {"page", "details"}
    for section in sorted(sections, key=lambda section: section.medium != "details"):
        shown = [block for block in section.blocks if block.medium not in hidden]
        cut = [_cut(block, hidden, whole=verbose) for block in shown]
        blocks = [block for block in cut if not isinstance(block, Findings) or block.findings]
        if blocks and section.medium not in hidden:
            yield replace(section, blocks=blocks)


def _cut(block: Block, hidden: Set[Medium], *, whole: bool) -> Block:
    """A table without its hidden rows, findings without the hidden ones; with `whole` a list at
    full length."""
    if isinstance(block, Items) and whole:
        return replace(block, most=len(block.lines))
    if isinstance(block, Findings):
        return replace(block, findings=[one for one in block.findings if one.medium not in hidden])
    if not isinstance(block, Table):
        return block
    kept = [
        replace(group, rows=[row for row in group.rows if row.medium not in hidden])
        for group in block.groups
    ]
    return replace(block, groups=[group for group in kept if group.rows])


@dataclass(frozen=True)
class Document:
    """One run as it is shown."""

    title: str  # of the window
    heading: str  # the question that it answers
    byline: Sequence[str]  # machine, date, versions
    sections: Sequence[Section]
    conclusion: str = ""  # the terminal's last line, before the page
    footer: str = ""  # Markup if it has a link
    bad: bool = False  # the conclusion is bad news
    style: str = ""  # further rules of the page's style sheet
