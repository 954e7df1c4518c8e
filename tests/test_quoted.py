# SPDX-License-Identifier: Apache-2.0
"""Output that a page quotes below `$ nearpeak ...` is what this command prints.

Output of a recording, and output that is the same on every machine, is made again. LAUNCHED lists
the other commands. `...` stands for lines that are left out, and after `; ` for the rest of a line.
"""

import functools
import io
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from typer.testing import CliRunner

from nearpeak.cli.main import build_app
from nearpeak.conform import present as conform
from nearpeak.conform.conformance import Conformance
from nearpeak.console import PlainConsole
from nearpeak.document.model import Document
from nearpeak.document.terminal import print_document
from nearpeak.explain import present as explain
from nearpeak.machine import discover as discovery
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.results.build import from_json
from nearpeak.trace import present as trace
from nearpeak.trace.measured import read_trace

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "packaging/**/*.md")
    for page in ROOT.glob(pattern)
)
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
# In a fence, or indented by four blanks; up to the next command, or the end of the code.
BLOCK = re.compile(
    r"^(?P<margin> *)\$ (?P<command>nearpeak (?:.*\\\n)*.*)\n"
    r"(?P<lines>(?:(?P=margin)(?!\$ |```).*\n|\n)*)",
    re.MULTILINE,
)
WIDTH = 120  # columns of the terminal
LEFT_OUT = "..."
LAUNCHED = (  # begins of commands whose output only a launch, or the machine, gives
    "bundle -o nearpeak.tar.xz",
    "compare baseline today",
    "compare before after",
    "history nightly",
    "machine --check",
    "mpi list",
    "mpi show",
    "nodes --mpi mpich --hosts",
    "run bw",
    "run jacobi2d",
    "study",
)
RECORDED = ("conform ", "explain ", "layer ", "trace ")  # by a launch
EVERYWHERE = (  # the output is the same
    "compare examples/",
    "import ",
    "machine",
    "nodes --mpi openmpi --nodes 16 --dry-run",
    "nodes --mpi openmpi-cuda --buffers D,D --gpus 0-7 --nodes 64 --dry-run",
    "publish examples/",
    "report examples/",
)
RECORDED_MACHINE = ROOT / "tests" / "machines" / "h200x2.txt"  # for `nearpeak machine`
STUDY = ROOT / "examples" / "h200x2-shipped" / "results.json"  # whose messages are explained
TRACE = ROOT / "examples" / "lammps" / "trace.json"
CONFORMANCE = ROOT / "examples" / "conform" / "h200x2-intel" / "conform.json"
LAYER = ROOT / "benchmarks" / "recorded" / "cloverleaf-h200.txt"
OSU = ROOT / "tests" / "observations" / "sources" / "osu"  # output of the OSU micro-benchmarks
NCCL = ROOT / "tests" / "appraisal" / "threads" / "nccl-tests-293.txt"  # of nccl-tests


class Quoted(NamedTuple):
    """A command of a page, and the lines that stand below it as its output."""

    page: str
    command: str
    lines: list[str]


def quoted(page: Path) -> list[Quoted]:
    """The commands of a page, each on one line without the program's name."""
    name, text = str(page.relative_to(ROOT)), page.read_text("utf-8")
    return [
        Quoted(
            name,
            re.sub(r" *\\\n *", " ", block["command"]).removeprefix("nearpeak "),
            [line.removeprefix(block["margin"]).rstrip() for line in block["lines"].splitlines()],
        )
        for block in BLOCK.finditer(text)
    ]


QUOTES = [quote for page in PAGES for quote in quoted(page)]
LISTED = [quote for quote in QUOTES if quote.command.startswith(LAUNCHED)]
REMADE = [
    quote
    for quote in QUOTES
    if quote not in LISTED and quote.command.startswith((*RECORDED, *EVERYWHERE))
]


def printed(documents: Iterable[Document], *, verbose: bool) -> str:
    """The documents as the terminal has them."""
    stream = io.StringIO()
    for document in documents:
        print_document(document, console=PlainConsole(file=stream, width=WIDTH), verbose=verbose)
    return stream.getvalue()


@functools.cache
def remade(command: str) -> str:
    """The output of a command: of a recording if it launches something, else of the command."""
    word, *words = shlex.split(command)
    verbose = "--verbose" in words
    if word == "explain":
        explanations = from_json(STUDY.read_bytes()).explanations
        return printed(map(explain.present, explanations), verbose=verbose)
    if word == "trace":
        tune = "nearpeak tune --mpi openmpi --trace trace.json"
        return printed([trace.present(read_trace(TRACE), tune)], verbose=verbose)
    if word == "conform":
        recorded = msgspec.json.decode(CONFORMANCE.read_bytes(), type=Conformance)
        return printed([conform.present(recorded)], verbose=verbose)
    if word == "layer":
        return LAYER.read_text("utf-8")
    if word == "nodes":  # the plan is the same with a library that the tests have
        words = ["openmpi" if each == "openmpi-cuda" else each for each in words]
    if word == "report" and "-o" not in words:
        words += ["-o", "page"]  # else it writes into the recording
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("examples").symlink_to(ROOT / "examples")
        for benchmark in ("latency", "bw"):
            shutil.copy(OSU / f"{benchmark}.txt", f"osu_{benchmark}.txt")
        shutil.copy(NCCL, "all_reduce.txt")
        machine = from_sysfs(RECORDED_MACHINE)
        patch.setattr(discovery, "discover", lambda: machine)
        env = {"COLUMNS": str(WIDTH)}
        return CliRunner().invoke(build_app(), [word, *words], env=env).output


def parts(lines: Sequence[str]) -> list[list[str]]:
    """The lines between those of LEFT_OUT, without blank lines at the ends."""
    text = "\n".join(lines)
    found = re.split(rf"^{re.escape(LEFT_OUT)}$", text, flags=re.MULTILINE)
    return [part.strip("\n").splitlines() for part in found if part.strip("\n")]


def same(line: str, output: str) -> bool:
    """Whether a quoted line is this line of output, or its beginning with LEFT_OUT behind it."""
    cut = line.endswith(f"; {LEFT_OUT}") and output.startswith(line.removesuffix(LEFT_OUT))
    return cut or line == output


def missing(lines: Sequence[str], output: str) -> list[str]:
    """The first part of the quoted lines that the output lacks; [] without one.

    The parts stand in the output in this order, each in one piece.
    """
    printed_lines = [line.rstrip() for line in output.splitlines()]
    after = 0
    for part in parts(lines):
        for at in range(after, len(printed_lines) - len(part) + 1):
            if all(map(same, part, printed_lines[at : at + len(part)])):
                after = at + len(part)
                break
        else:
            return [line for line in part if line not in printed_lines] or part
    return []


@pytest.mark.parametrize("quote", REMADE, ids=lambda quote: f"{quote.page}: {quote.command}")
def test_a_page_quotes_what_its_command_prints(quote: Quoted) -> None:
    assert parts(quote.lines)
    assert missing(quote.lines, remade(quote.command)) == []


def test_every_command_with_a_prompt_is_remade_or_listed() -> None:
    for page in PAGES:
        prompts = re.findall(r"\$ .*\bnearpeak ", page.read_text("utf-8"))
        assert len(quoted(page)) == len(prompts), page
    assert [quote for quote in QUOTES if quote not in (*LISTED, *REMADE)] == []


def test_each_begin_is_that_of_a_command() -> None:
    commands = [quote.command for quote in QUOTES]
    begins = {
        begin
        for begin in (*LAUNCHED, *RECORDED, *EVERYWHERE)
        for command in commands
        if command.startswith(begin)
    }
    assert begins == {*LAUNCHED, *RECORDED, *EVERYWHERE}


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_shows_the_output_of_its_commands(page: Path) -> None:
    quotes = quoted(page)
    assert [quote.command for quote in quotes if not parts(quote.lines)] == []
    assert len([quote for quote in quotes if quote in REMADE]) >= 2


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["one", "two; 2"], []),
        (["one", LEFT_OUT, "three"], []),
        ([LEFT_OUT, "two; ...", LEFT_OUT], []),
        (["one", "three"], ["one", "three"]),
        (["two; ...", LEFT_OUT, "one"], ["one"]),
        (["four"], ["four"]),
    ],
)
def test_only_dots_leave_something_out(lines: list[str], expected: list[str]) -> None:
    assert missing(lines, "one\ntwo; 2  \nthree\n") == expected
