# SPDX-License-Identifier: Apache-2.0
"""A document on the page and on the terminal: what one of them alone shows."""

import pytest
from markupsafe import Markup

from nearpeak.document.model import (
    Document,
    Drawing,
    Finding,
    Findings,
    Prose,
    Row,
    Rows,
    Section,
    Table,
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


@pytest.mark.parametrize("evidence", [["Not certain: in 3 blocks this may be chance."], ["Slow."]])
def test_the_page_says_once_why_a_finding_is_not_certain(evidence: list[str]) -> None:
    finding = Finding("slow", doubt="In 3 blocks this may be chance.", evidence=evidence)
    page = render(Document("title", "heading", [], [Section("Slow", [Findings([finding])])]))
    assert page.lower().count("in 3 blocks this may be chance.") == 1
    assert "Unconfirmed: slow" in page
