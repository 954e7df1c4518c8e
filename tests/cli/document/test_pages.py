# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/reference are made of the code, and nothing is missing in them."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from nearpeak.cli.document import PAGES, commands
from nearpeak.cli.main import build_app
from nearpeak.libraries.families import all_families
from nearpeak.libraries.tunables import all_components
from nearpeak.terms.exit_statuses import PROGRAMS, STATUSES
from nearpeak.terms.logs import BAD_INPUT, FAILED, WRONG_DATA

FOLDER = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_of_today(name: str) -> None:
    made = f"python -m nearpeak.cli.document {name} > docs/reference/{name}.md"
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == PAGES[name](), made


def test_a_page_that_there_is_not_is_refused() -> None:
    command = [sys.executable, "-m", "nearpeak.cli.document", "else"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("usage: python -m nearpeak.cli.document commands|")


def leaves() -> dict[str, str]:
    """The help of each command that is no group of commands."""
    tree = commands.tree(typer.main.get_command(build_app()), "nearpeak")
    return {
        name.removeprefix("nearpeak "): command.help
        for name, command in tree
        if not hasattr(command, "commands")
    }


def test_every_command_has_its_exit_statuses() -> None:
    assert set(STATUSES) == set(leaves())
    assert [int(status) for status in PROGRAMS][1:] == [FAILED, BAD_INPUT, WRONG_DATA]


def test_every_meaning_in_the_help_is_of_the_data() -> None:
    for name, text in leaves().items():
        if "Exit status" in text:
            shown = " ".join(text.split())
            meanings = [" ".join(meaning.split()) for meaning in STATUSES[name].values()]
            assert [meaning for meaning in meanings if meaning not in shown] == [], name
        else:
            assert STATUSES[name].keys() <= {"0", "1", "2"}, name


def test_every_command_has_examples() -> None:
    page = (FOLDER / "commands.md").read_text(encoding="utf-8")
    for name in leaves():
        part = page.partition(f"\n## nearpeak {name}\n")[2].partition("\n## ")[0]
        assert f"\n```sh\nnearpeak {name} " in part or f"nearpeak {name}\n" in part, name


def test_examples_in_a_line_and_in_paragraphs() -> None:
    assert commands.examples(" nearpeak a | nearpeak b\n--c ") == ["nearpeak a", "nearpeak b --c"]
    assert commands.examples("\n\n  x | nearpeak a\n\n  nearpeak b\n") == [
        "x | nearpeak a",
        "nearpeak b",
    ]


def test_every_component_of_a_family_has_its_tunables() -> None:
    used = {name for family in all_families().values() for name in family.components}
    assert set(all_components()) == used
