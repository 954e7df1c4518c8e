# SPDX-License-Identifier: Apache-2.0
"""Output that pages quote below a command is what this command prints.

Only commands that print the same on every machine run here. A block of a page quotes one command:
its first line is `$ nearpeak ...`, and `...` stands for lines that are left out.
"""

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from nearpeak.machine import discover as discovery
from nearpeak.machine.sysfs import from_sysfs

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^```console\n\$ nearpeak (.*)\n((?:.*\n)*?)```$", re.MULTILINE)
PRINTED = Path(__file__).parent / "observations" / "sources" / "osu"  # by other tools
FILES = {"osu_latency.txt": "latency.txt", "osu_bw.txt": "bw.txt"}
RECORDED = "h200x2"  # the machine that `nearpeak machine` describes
HERE = re.compile(r"(report|publish) examples/|import |machine$")  # the same on every machine


class Quoted(NamedTuple):
    """A command, and the lines that a page quotes of its output."""

    page: str
    command: str
    lines: list[str]


def quoted() -> list[Quoted]:
    return [
        Quoted(page.stem, command, lines.splitlines())
        for page in PAGES
        for command, lines in BLOCK.findall(page.read_text("utf-8"))
        if HERE.match(command)
    ]


def plain(line: str) -> str:
    """The line with single spaces: how wide a terminal is does not matter."""
    return " ".join(line.split())


@pytest.mark.parametrize("block", quoted(), ids=lambda block: f"{block.page}: {block.command}")
def test_a_page_quotes_what_its_command_prints(
    block: Quoted,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from nearpeak.cli.main import main

    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, file in FILES.items():
        shutil.copy(PRINTED / file, tmp_path / name)
    words = shlex.split(block.command)
    if words[0] == "report":
        words += ["-o", "page"]
    machine = from_sysfs(ROOT / "tests" / "machines" / f"{RECORDED}.txt")
    monkeypatch.setattr(discovery, "discover", lambda: machine)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["nearpeak", *words])
    monkeypatch.setenv("COLUMNS", "110")
    with pytest.raises(SystemExit):
        main()
    said = capfd.readouterr()
    printed = {plain(line) for line in (said.out + said.err).splitlines()}
    lines = [line for line in map(plain, block.lines) if line not in ("", "...")]
    assert lines
    assert [line for line in lines if line not in printed] == []


def test_pages_quote_several_commands() -> None:
    assert len({block.command.split()[0] for block in quoted()}) > 3
