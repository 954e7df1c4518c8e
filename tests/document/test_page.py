# SPDX-License-Identifier: Apache-2.0
"""A document on the page and on the terminal: what one of them alone shows."""

from pathlib import Path

import pytest
from markupsafe import Markup

from answers import printed
from nearpeak.document import markdown
from nearpeak.document.model import (
    Code,
    Column,
    Document,
    Drawing,
    Finding,
    Findings,
    Items,
    Prose,
    Row,
    Rows,
    Section,
    Table,
    Value,
)
from nearpeak.document.page import render
from nearpeak.document.terminal import print_document

ROWS = [Row("in both", {}), Row("on the page", {}, medium="page")]
SECTIONS = [
    Section("Empty", []),
    Section(
        "Drawn", [Drawing(Markup(""), "Nothing is drawn"), Table("", "", "", [], [Rows("", ROWS)])]
    ),
    Section("Page", [Prose("of the page", medium="page")]),
]
DOCUMENT = Document("title", "heading", [], SECTIONS, footer=Markup("<a href='x'>y</a>"))


def test_the_page() -> None:
    page = render(DOCUMENT)
    assert [title for title in ("Empty", "Drawn", "Page") if f">{title}</h2>" in page] == [
        "Drawn",
        "Page",
    ]
    assert "Nothing is drawn" not in page
    assert "on the page" in page
    assert "<a href='x'>y</a>" in page


def test_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_document(DOCUMENT)
    assert capsys.readouterr().out.split() == ["Drawn"]


def test_the_page_says_once_why_a_finding_is_unconfirmed() -> None:
    finding = Finding("slow", doubt="In 3 blocks this may be chance.", evidence=["Slow."])
    page = render(Document("title", "heading", [], [Section("Slow", [Findings([finding])])]))
    assert page.count("In 3 blocks this may be chance.") == 1
    assert "Unconfirmed: slow" in page


def test_the_page_has_the_further_command_of_a_finding() -> None:
    for medium in ("details", "page"):
        finding = Finding("slow", "Use it.", further=Code("nearpeak tune", "Or try:", medium))
        page = render(Document("title", "heading", [], [Section("Slow", [Findings([finding])])]))
        assert "Use it. Or try: <code>nearpeak tune</code>" in page


DETAILED = Document(
    "title",
    "heading",
    [],
    [
        Section("", [Prose("the answer"), Items([f"line {number}" for number in range(9)])]),
        Section("Rest", [Table("", "", "", [Column("a", "a")], [Rows("", [])])], medium="details"),
        Section("Details", [Prose("what it rests on")], medium="details"),
        Section("Both", [Prose("a detail", medium="details")]),
    ],
)


def test_details_are_on_the_page_and_with_verbose_on_the_terminal() -> None:
    assert printed(DETAILED).split("\n") == [
        "",
        "the answer",
        *(f"  line {number}" for number in range(8)),
        "  and 1 more: see the report",
        "",
    ]
    whole = printed(DETAILED, verbose=True)
    order = ["what it rests on", "the answer", "line 8", "a detail"]
    assert sorted(order, key=whole.index) == order
    assert "see the report" not in whole
    page = render(DETAILED)
    assert all(text in page for text in order)
    assert '<h2 id="section-1" class="unseen">The answer</h2>' in page
    assert "what it rests on" not in markdown.render(DETAILED)


def test_a_blank_line_follows_findings_and_precedes_the_page() -> None:
    blocks = [Findings([Finding("It is slow", "Tune it:", "nearpeak tune")]), Prose("Of 2, 1.")]
    text = printed(Document("", "", [], [Section("", blocks)]), Path("page.html"))
    assert text.endswith("\n1. It is slow\n   Tune it: nearpeak tune\n\nOf 2, 1.\n\npage.html\n")


def test_fields_of_a_table_that_stacks_have_their_headings() -> None:
    column = Column("a", "Time", "µs", over="latency")
    rows = [Rows("", [Row("row", {"a": Value(1.0)})])]
    for stacks in (True, False):
        table = Table("", "", "", [column], rows, stacks=stacks)
        page = render(Document("t", "h", [], [Section("", [table])]))
        assert ('data-label="latency Time µs"' in page) == stacks
        assert ('<table class="two-rows stacks">' in page) == stacks
