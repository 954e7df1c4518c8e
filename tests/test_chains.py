# SPDX-License-Identifier: Apache-2.0
"""The pictures of the lives of a record and of a message are of today's functions."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import definitions

chains: Any = sys.modules["chains"]  # loaded by tests/conftest.py
HERE = Path(__file__).parent


@pytest.mark.parametrize("name", ["record", "message"])
def test_the_picture_is_of_today(name: str) -> None:
    command = [sys.executable, str(HERE / "chains.py"), name]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    picture = f"docs/images/life-of-a-{name}.svg"
    remedy = f"python tests/chains.py {name} > {picture}"
    assert (HERE.parent / picture).read_text("utf-8") == drawn, remedy


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("report/page.py", "renders"),
        ("report/pages.py", "render"),
        ("record/record.cpp", "RecordWriter::sample"),
        ("layer/send.cpp", "advance"),  # called there, and defined elsewhere
        ("launching/growing.py", "read"),  # of a class
    ],
)
def test_a_step_that_is_not_there_is_an_error(file: str, function: str) -> None:
    with pytest.raises(chains.UnknownStepError):
        chains.check(chains.Step(file, function, ""))


def test_the_other_routes_of_a_message_begin_where_the_page_says() -> None:
    page = HERE.parent / "docs" / "contributing" / "life-of-a-message.md"
    places = re.findall(r"`(\w+)` in `([\w./]+)`", page.read_text("utf-8"))
    assert len(places) >= 5
    for name, file in places:
        assert name in definitions.in_file(HERE.parent / file), (name, file)
