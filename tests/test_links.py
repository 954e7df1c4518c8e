# SPDX-License-Identifier: Apache-2.0
"""Links between pages lead to files and headings that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "examples/*/*.md", "packaging/*.md", "benchmarks/*.md")
    for page in ROOT.glob(pattern)
)
LINK = re.compile(r"\]\((?!\w+:)(?P<path>[^)#\s]*)(?:#(?P<part>[^)\s]+))?\)")


def parts(page: Path) -> set[str]:
    """What its headings are called in links."""
    found = re.findall(r"^#+ +(.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in LINK.finditer(page.read_text("utf-8")):
        target = page.parent / link["path"] if link["path"] else page
        if not target.exists() or (link["part"] and link["part"] not in parts(target)):
            wrong.append(link[0])
    assert wrong == []


def test_links_are_found() -> None:
    found = [link["path"] for page in PAGES for link in LINK.finditer(page.read_text("utf-8"))]
    assert len(found) > 100
