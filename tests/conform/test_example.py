# SPDX-License-Identifier: Apache-2.0
"""The recorded conformance run: what is shown of it is what its records say."""

import re
from pathlib import Path

from nearpeak.conform import journal
from nearpeak.conform.build import build, to_json
from nearpeak.report.conformed.page import render

EXAMPLE = Path(__file__).parents[2] / "examples" / "h200x2-conform"


def test_it_is_made_again_from_its_records() -> None:
    found = build(journal.read(EXAMPLE))
    assert to_json(found) == (EXAMPLE / "conform.json").read_text()
    assert render(found) == (EXAMPLE / "conform.html").read_text()


def test_every_file_that_a_command_names_is_there() -> None:
    named = set(re.findall(r"/cases/([^\s'\"]+)", (EXAMPLE / "conform.json").read_text()))
    assert named == {file.name for file in (EXAMPLE / "cases").iterdir()}
