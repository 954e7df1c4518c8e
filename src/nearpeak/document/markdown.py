# SPDX-License-Identifier: Apache-2.0
"""A document as Markdown, for a merge request or an issue: what the terminal has."""

import re
from collections.abc import Iterator
from functools import singledispatch

from nearpeak import markdown
from nearpeak.document.model import (
    Block,
    Code,
    Document,
    Finding,
    Findings,
    Heading,
    Items,
    Notice,
    Prose,
    Row,
    Table,
    Terms,
    Value,
    for_terminal,
)
from nearpeak.document.terminal import bar, items_of, remainder
from nearpeak.numbers import printable

_MARKUP = re.compile(r"([\\`*_\[\]<>#])")


def render(document: Document) -> str:
    """Returns the whole text."""
    lines = [f"## {_escaped(document.heading)}", ""]
    for section in for_terminal(document.sections):
        lines += [f"### {_escaped(section.title)}", ""] if section.title else []
        for block in section.blocks:
            lines += [*lines_of(block), ""]
    lines += [f"**{_escaped(document.conclusion)}**", ""] if document.conclusion else []
    return "\n".join(lines)


@singledispatch
def lines_of(block: Block) -> list[str]:
    """The lines of one block; TypeError for one that is for the page alone."""
    raise TypeError(f"{type(block).__name__} is for the page alone")


@lines_of.register
def _(block: Prose) -> list[str]:
    text = _escaped(block.text)
    return [f"**{text}**" if block.strong else text]


@lines_of.register
def _(block: Heading) -> list[str]:
    return [f"#### {_escaped(block.text)}"]


@lines_of.register
def _(block: Items) -> list[str]:
    title = [_escaped(block.title), ""] if block.title and block.lines else []
    rest = [line.plain.strip() for line in remainder(len(block.lines), block.most, block.elsewhere)]
    return [*title, *(f"- {_escaped(line)}" for line in [*block.lines[: block.most], *rest])]


@lines_of.register
def _(block: Terms) -> list[str]:
    return [f"- **{_escaped(name)}**: {_escaped(text)}" for name, text in block.entries]


@lines_of.register
def _(block: Code) -> list[str]:
    return [*([_escaped(block.title), ""] if block.title else []), f"    {printable(block.text)}"]


@lines_of.register
def _(block: Notice) -> list[str]:
    command = f" {_code(block.command)}" if block.command else ""
    items = [f"> {line}" for line in lines_of(items_of(block))]
    return [f"> {_escaped(block.text)}{command}", *([">", *items] if items else [])]


@lines_of.register
def _(block: Findings) -> list[str]:
    title = [_escaped(block.title), ""] if block.title else []
    numbered = enumerate(block.findings, 1)
    return [*title, *(line for number, one in numbered for line in _finding(number, one))]


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield f"{number}. **{_escaped(finding.labelled)}**"
    command = _code(finding.command) if finding.command else ""
    yield f"   {' '.join(filter(None, [_escaped(finding.remedy), command]))}"


@lines_of.register
def _(block: Table) -> list[str]:
    heads = [block.head, *(f"{column.title} {column.unit}".rstrip() for column in block.columns)]
    lines = []
    for group in block.groups:
        title = ", ".join(filter(None, [block.name, group.title]))
        lines += [f"**{_escaped(title)}**", ""] if title else []
        cells = [[_escaped(cell) for cell in _cells(block, row)] for row in group.rows]
        lines += [*markdown.table(list(map(_escaped, heads)), cells).splitlines(), ""]
    return [*lines, _escaped(block.caption)] if block.groups and block.caption else lines


def _cells(block: Table, row: Row) -> list[str]:
    return [row.head, *(_text(row.values.get(column.key)) for column in block.columns)]


def _text(value: Value | None) -> str:
    if value is None:
        return ""
    return f"{bar(value.bar)} {value.text}".rstrip() if value.bar else value.text


def _code(command: str) -> str:
    return f"`{printable(command).replace('`', '')}`"


def _escaped(text: str) -> str:
    """A text whose characters are no markup; code stays between its backticks, unless they are no
    pairs of single ones."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0 or "``" in text:
        return _MARKUP.sub(r"\\\1", printable(text))
    parts[::2] = [_MARKUP.sub(r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
