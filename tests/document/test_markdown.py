# SPDX-License-Identifier: Apache-2.0
"""A document as Markdown: what the terminal has, and no markup but its own."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from markupsafe import Markup

from nearpeak.console import PlainConsole
from nearpeak.document.markdown import lines_of, render
from nearpeak.document.model import (
    Block,
    Code,
    Column,
    Document,
    Drawing,
    Drawings,
    Finding,
    Findings,
    Folded,
    Heading,
    Items,
    Notice,
    Prose,
    Row,
    Rows,
    Section,
    Table,
    Terms,
    Value,
)
from nearpeak.document.terminal import print_block, print_document

PAGE_ONLY: set[type] = {Drawing, Drawings, Folded}
BLOCKS: list[Block] = [
    Code("a word"),
    Drawing(Markup("<svg></svg>")),
    Drawings([]),
    Findings([Finding("a word")]),
    Folded("a word", []),
    Heading("a word"),
    Items(["a word"]),
    Notice("a word"),
    Prose("a word"),
    Table("", "", "", [Column("a", "A")], [Rows("", [Row("a word", {"a": Value(1)})])]),
    Terms([("a word", "its meaning")]),
]


def document(blocks: Sequence[Block]) -> Document:
    return Document("title", "heading", [], [Section("", blocks)])


def test_each_kind_of_block_has_an_example_here() -> None:
    assert sorted(map(type, BLOCKS), key=str) == sorted(get_args(Block), key=str)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_each_kind_of_block_can_be_written(
    block: Block, capsys: pytest.CaptureFixture[str]
) -> None:
    if type(block) in PAGE_ONLY:
        assert block.medium == "page"
        with pytest.raises(TypeError, match="is for the page alone"):
            lines_of(block)
        with pytest.raises(TypeError, match="is for the page alone"):
            print_block(block, PlainConsole())
        return
    assert "a word" in "\n".join(lines_of(block))
    print_block(block, PlainConsole())
    assert "a word" in capsys.readouterr().out


def test_terms_are_a_list() -> None:
    terms = Terms([("GB/s", "10 to the 9 bytes"), ("a_b", "`x_y`")], "")
    assert lines_of(terms) == ["- **GB/s**: 10 to the 9 bytes", r"- **a\_b**: `x_y`"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("run `a_b` on c_d", r"run `a_b` on c\_d"),
        ("a ` and *b*", r"a \` and \*b\*"),
        ("`a_b` and `c_d", r"\`a\_b\` and \`c\_d"),
        ("``a_b``", r"\`\`a\_b\`\`"),
    ],
)
def test_only_what_is_between_a_pair_of_backticks_is_code(text: str, written: str) -> None:
    assert lines_of(Prose(text)) == [written]


def test_a_long_list_says_how_many_are_missing() -> None:
    items = Items(["a", "b", "c"], most=1, elsewhere="see `x_y`")
    assert lines_of(items) == ["- a", "- and 2 more: see `x_y`"]
    assert lines_of(Items(["a", "b"], most=2)) == ["- a", "- b"]
    assert lines_of(Items([], "A title")) == []


def test_the_items_of_a_notice_are_in_its_quote() -> None:
    notice = Notice("Mind this.", ("one_a", "two " * 100), command="nearpeak x")
    first, blank, one, two = lines_of(notice)
    assert (first, blank, one) == ("> Mind this. `nearpeak x`", ">", r"> - one\_a")
    assert two.endswith(r"two \[...\]")
    many = lines_of(Notice("Mind this.", tuple("abcdefghij")))
    assert many[-2:] == ["> - h", "> - and 2 more: see the report"]
    assert lines_of(Notice("Mind this.")) == ["> Mind this."]


def test_what_the_terminal_does_not_show_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    findings = Findings(
        [
            Finding("of the page", medium="page"),
            Finding("behind it", medium="details"),
            Finding("in all"),
        ]
    )
    rows = [Row("row of the page", {}, medium="page"), Row("row in all", {"a": Value(1)})]
    table = Table("", "", "", [Column("a", "A")], [Rows("", rows)])
    hidden = Findings([Finding("hidden", medium="page")])
    bare = Table("", "A caption", "", [Column("a", "A")], [Rows("", rows[:1])])
    prose = Prose("prose of the page", medium="page")
    blocks: list[Block] = [findings, table, hidden, bare, prose]

    text = render(document(blocks))
    assert "1. **in all**" in text
    assert "row in all" in text
    print_document(document(blocks))
    for written in (text, capsys.readouterr().out):
        assert "1. " in written
        assert [
            words for words in ("page", "behind", "hidden", "caption") if words in written
        ] == []
    print_document(document(blocks), verbose=True)
    verbose = capsys.readouterr().out
    assert "1. behind it" in verbose
    assert "2. in all" in verbose
    assert "of the page" not in verbose


def test_a_section_of_which_nothing_is_shown_has_no_title() -> None:
    section = Section("Slow", [Findings([Finding("hidden", medium="page")])])
    assert "Slow" not in render(Document("title", "heading", [], [section]))


def test_the_page_follows_the_conclusion(capsys: pytest.CaptureFixture[str]) -> None:
    concluded = replace(document([]), conclusion="Nothing is slow.")
    print_document(concluded)
    assert capsys.readouterr().out.endswith("\nNothing is slow.\n")
    print_document(concluded, Path("page.html"))
    assert capsys.readouterr().out.endswith("\nNothing is slow; page.html\n")
