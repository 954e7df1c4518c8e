# SPDX-License-Identifier: Apache-2.0
"""Pages name commands and options that exist."""

import functools
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer._click.exceptions import BadOptionUsage, MissingParameter, UsageError

from nearpeak.cli.main import build_app

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
MADE = ROOT / "docs" / "reference" / "commands.md"  # of the commands themselves
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "packaging/**/*.md")
    for page in ROOT.glob(pattern)
    if page != MADE
)
# In files of CI systems commands are items of lists, or in quotes.
COMMAND = re.compile(
    r"^ {4}(?: *- | *sh '|\$ )?(?:\.venv/bin/)?"
    r"(nearpeak [a-z]+(?: [^'\n]*(?:'[^'\n]+'[^'\n]*?)*?)?)'?$",
    re.MULTILINE,
)
MENTION = re.compile(r"`(nearpeak [a-z]+(?: [^`]*)?)`")  # in a sentence or a table
UNFINISHED = (MissingParameter, BadOptionUsage, IndexError)
SHELL = ("|", "||", "&&", ">", ">>", "<")  # after which a line has something else


def code(page: Path) -> str:
    """The page with its fenced blocks indented by four blanks, as its other code is, and commands
    of several lines on one."""
    text = re.sub(
        r"^```\w*\n(.*?)^```$",
        lambda block: re.sub(r"^(?=.)", "    ", block[1], flags=re.MULTILINE),
        page.read_text("utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    return re.sub(r" *\\\n *", " ", text)


def commands(page: Path) -> list[str]:
    """Each line of code of a page that starts nearpeak."""
    return COMMAND.findall(code(page))


def mentions(page: Path) -> list[str]:
    """Each command in the text of a page: it may lack what a user adds."""
    text = re.sub(r"^ {4}.*$", "", code(page), flags=re.MULTILINE)
    return [" ".join(mention.split()) for mention in MENTION.findall(text)]


def words_of(line: str) -> list[str]:
    """The words of a command, up to a pipe or the like; without the program's name."""
    words = shlex.split(line, comments=True)
    ends = [at for at, word in enumerate(words) if word in SHELL]
    return words[1 : ends[0] if ends else None]


@functools.cache
def whole_command() -> Any:
    """The program with all of its commands."""
    return typer.main.get_command(build_app())


def fault(line: str, accepted: tuple[type[Exception], ...] = ()) -> str | None:
    """The reason why the program does not take a command; None: it does."""
    command: Any = whole_command()
    words = words_of(line)
    try:
        while hasattr(command, "commands"):  # of a group, the command that the next word names
            command = command.commands[words.pop(0)]
        command.make_context("page", words)
    except accepted:
        return None
    except (LookupError, UsageError) as error:
        return f"{line}: {error}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_options_that_exist(page: Path) -> None:
    faults = [fault(line) for line in commands(page)]
    faults += [fault(line, UNFINISHED) for line in mentions(page)]
    assert list(filter(None, faults)) == []


def test_a_wrong_option_is_a_fault() -> None:
    assert fault("nearpeak report study --beauty") is not None
    assert fault("nearpeak mpi sing") is not None
    assert fault("nearpeak report study --csv > table.csv") is None
    assert fault("nearpeak report --csv", UNFINISHED) is None
    assert fault("nearpeak report --beauty", UNFINISHED) is not None


def test_pages_that_people_read_first_have_commands() -> None:
    assert len(TUTORIALS) == 3
    start = (ROOT / "docs" / "start").glob("*.md")
    first = (*TUTORIALS, *start, ROOT / "README.md", ROOT / "docs" / "faq.md")
    without = [page.stem for page in first if not commands(page)]
    assert without == ["which-command"]  # a table


def test_the_page_on_ci_has_commands_of_each_kind() -> None:
    found = [line.split()[1] for line in commands(ROOT / "docs" / "how-to" / "ci.md")]
    assert set(found) == {"history", "report", "study"}
