# SPDX-License-Identifier: Apache-2.0
"""Links between pages lead to files and headings that there are, and tutorials and the page on CI
name commands that there are."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from nearpeak.cli.main import build_app

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "examples/*/*.md", "packaging/*.md", "benchmarks/*.md")
    for page in ROOT.glob(pattern)
)
LINK = re.compile(r"\]\((?!\w+:)(?P<path>[^)#\s]*)(?:#(?P<part>[^)\s]+))?\)")
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
# In files of CI systems commands are items of lists, or in quotes.
COMMAND = re.compile(r"^ {4}(?: *- | *sh ')?(nearpeak [^'\n]*?)(?: \|\| true)?'?$", re.MULTILINE)


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


def commands() -> Iterator[tuple[str, str]]:
    """Of each tutorial, and of the page on CI, every line that starts nearpeak."""
    for page in (*TUTORIALS, ROOT / "docs" / "how-to" / "ci.md"):
        for line in COMMAND.findall(page.read_text("utf-8")):
            yield page.stem, line


@pytest.mark.parametrize(("page", "line"), list(commands()))
def test_tutorials_name_options_that_there_are(page: str, line: str) -> None:
    command = typer.main.get_command(build_app())
    words = shlex.split(line)[1:]
    while hasattr(command, "commands"):  # of a group, the command that the next word names
        command = command.commands[words.pop(0)]
    command.make_context(page, words)  # an error for an option that there is not


def test_there_are_three_tutorials_with_commands() -> None:
    assert len({page for page, _ in commands()} - {"ci"}) == len(TUTORIALS) == 3


def test_the_page_on_ci_has_commands_of_each_kind() -> None:
    found = [line.split()[1] for page, line in commands() if page == "ci"]
    assert sorted(found) == ["report", "report", "study", "study", "study", "study"]
