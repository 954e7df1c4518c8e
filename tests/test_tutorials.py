# SPDX-License-Identifier: Apache-2.0
"""Pages name commands and options that exist, and tutorials quote what the commands print.

Output of a recording is made again. Output that only a launch gives is not: see LAUNCHED.
"""

import functools
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main
from typer._click.exceptions import BadOptionUsage, MissingParameter, UsageError
from typer.testing import CliRunner

from nearpeak.cli.main import build_app
from nearpeak.console import PlainConsole
from nearpeak.document.model import Document
from nearpeak.document.terminal import print_document
from nearpeak.explain.present import present as present_explanation
from nearpeak.results.build import from_json
from nearpeak.trace.measured import read_trace
from nearpeak.trace.present import present as present_trace

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
QUOTING = [*TUTORIALS, *sorted((ROOT / "docs" / "start").glob("*.md"))]
MADE = ROOT / "docs" / "reference" / "commands.md"  # of the commands themselves
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "packaging/*.md")
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
WIDTH = 120  # columns of the terminal
LEFT_OUT = "..."
# Their output is that of a machine and of the moment: nothing recorded makes it again.
LAUNCHED = tuple(
    f"nearpeak {word} "
    for word in ("machine", "mpi", "study", "run", "conform", "nodes", "tune", "layer")
)
LOCAL = ("nearpeak compare before after", "nearpeak report study")  # folders that no recording is
EXPLAINED = ROOT / "examples" / "h200x2-shipped"
TRACED = ROOT / "examples" / "lammps" / "trace.json"


class Quoted(NamedTuple):
    """A command of a page, and the lines that stand below it as its output."""

    page: Path
    command: str
    lines: list[str]

    @property
    def recorded(self) -> bool:
        """Whether the output can be made again without a launch."""
        return not self.command.startswith((*LAUNCHED, *LOCAL))


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


def quoted() -> Iterator[Quoted]:
    """Yields each command with output of the pages that quote output."""
    for page in QUOTING:
        for block in re.findall(r"(?:^ {4}.*\n(?:\n(?= {4}))*)+", code(page), re.MULTILINE):
            lines = [line.removeprefix("    ").rstrip() for line in block.splitlines()]
            starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
            for at, end in zip(starts, [*starts, len(lines)][1:], strict=False):
                if lines[at].startswith("$ nearpeak "):
                    yield Quoted(page, lines[at].removeprefix("$ "), lines[at + 1 : end])


def label(quote: Quoted) -> str:
    """The page and the command, as the name of a test."""
    return f"{quote.page.stem}: {quote.command}"


def words_of(line: str) -> list[str]:
    """The words of a command, up to a pipe or the like; without the program's name."""
    words = shlex.split(line, comments=True)
    ends = [at for at, word in enumerate(words) if word in SHELL]
    return words[1 : ends[0] if ends else None]


@functools.cache
def whole_command() -> Any:
    """The program with all of its commands."""
    return typer.main.get_command(build_app())


def printed(document: Document, *, verbose: bool) -> str:
    """The document as the terminal has it."""
    stream = io.StringIO()
    print_document(document, console=PlainConsole(file=stream, width=WIDTH), verbose=verbose)
    return stream.getvalue()


@functools.cache
def remade(command: str) -> str:
    """The output of a command that reads recordings, or whose output is in one."""
    words = words_of(command)
    verbose = "--verbose" in words
    if words[0] == "explain":
        results = from_json((EXPLAINED / "results.json").read_bytes())
        documents = map(present_explanation, results.explanations)
        return "".join(printed(document, verbose=verbose) for document in documents)
    if words[0] == "trace":
        tune = "nearpeak tune --mpi openmpi --trace trace.json"
        return printed(present_trace(read_trace(TRACED), tune), verbose=verbose)
    if words[0] == "report" and "-o" not in words:
        words += ["-o", "page"]  # else it writes into the recording
    return CliRunner().invoke(build_app(), words, env={"COLUMNS": str(WIDTH)}).output


def missing(lines: Sequence[str], output: str) -> list[str]:
    """The first part of the quoted lines that the output lacks; [] without one.

    The parts between lines of LEFT_OUT stand in the output in this order, each in one piece.
    """
    printed_lines = [line.rstrip() for line in output.splitlines()]
    after = 0
    for part in parts(lines):
        places = range(after, len(printed_lines) - len(part) + 1)
        at = next((at for at in places if printed_lines[at : at + len(part)] == part), None)
        if at is None:
            return [line for line in part if line not in printed_lines] or part
        after = at + len(part)
    return []


def parts(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yields the lines between those of LEFT_OUT, without blank lines at the ends."""
    text = "\n".join(lines)
    for part in re.split(rf"^{re.escape(LEFT_OUT)}$", text, flags=re.MULTILINE):
        if part.strip("\n"):
            yield part.strip("\n").splitlines()


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


@pytest.mark.parametrize("quote", [quote for quote in quoted() if quote.recorded], ids=label)
def test_quoted_output_is_what_the_command_prints(
    quote: Quoted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "trace.json").symlink_to(TRACED)
    monkeypatch.chdir(tmp_path)
    assert missing(quote.lines, remade(quote.command)) == []


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_shows_the_output_of_its_commands(page: Path) -> None:
    quotes = [quote for quote in quoted() if quote.page == page]
    assert [quote.command for quote in quotes if not quote.lines] == []
    assert len([quote for quote in quotes if quote.recorded]) >= 2


def test_pages_that_people_read_first_have_commands() -> None:
    assert len(TUTORIALS) == 3
    first = (*QUOTING, ROOT / "README.md", ROOT / "docs" / "faq.md")
    without = [page.stem for page in first if not commands(page)]
    assert without == ["which-command"]  # a table


def test_the_page_on_ci_has_commands_of_each_kind() -> None:
    found = [line.split()[1] for line in commands(ROOT / "docs" / "how-to" / "ci.md")]
    assert set(found) == {"report", "study"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["one", "two"], []),
        (["one", LEFT_OUT, "three"], []),
        ([LEFT_OUT, "two", LEFT_OUT], []),
        (["one", "three"], ["one", "three"]),
        (["two", LEFT_OUT, "one"], ["one"]),
        (["four"], ["four"]),
    ],
)
def test_only_dots_leave_lines_out(lines: list[str], expected: list[str]) -> None:
    assert missing(lines, "one\ntwo  \nthree\n") == expected
