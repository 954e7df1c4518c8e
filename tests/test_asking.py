# SPDX-License-Identifier: Apache-2.0
"""Answers of other programs, and none."""

import sys

import pytest

from nearpeak.asking import answer_of

PYTHON = (sys.executable, "-c")


def test_the_answer_is_what_a_program_prints() -> None:
    assert answer_of([*PYTHON, "print(7)"], 60.0) == "7\n"
    command = [*PYTHON, "import os; print(os.environ['WORD'])"]
    assert answer_of(command, 60.0, {"WORD": "set"}) == "set\n"


@pytest.mark.parametrize(
    ("command", "limit_seconds"),
    [
        (["/nowhere/program"], 60.0),
        ([*PYTHON, "print(7); raise SystemExit(1)"], 60.0),
        ([*PYTHON, "import time; time.sleep(600)"], 0.1),
    ],
)
def test_a_program_that_is_missing_fails_or_hangs_has_no_answer(
    command: list[str], limit_seconds: float
) -> None:
    assert answer_of(command, limit_seconds) == ""


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert answer_of([*PYTHON, r"import os; os.write(1, b'a\xff')"], 60.0) == "a\ufffd"
