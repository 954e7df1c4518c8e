# SPDX-License-Identifier: Apache-2.0
"""Variants are checked against the program's own description."""

import os
from pathlib import Path
from types import ModuleType

import pytest

from nearpeak.errors import UserError
from nearpeak.study.describe import Description, describe, parse_variant


@pytest.fixture
def description(standins: ModuleType, tmp_path: Path) -> Description:
    program = standins.make_tools(tmp_path).native_program()
    return describe(program, dict(os.environ))


def test_a_variant_has_a_value_for_every_axis(description: Description) -> None:
    assert parse_variant(description, "latency").axes == {
        "calls": "blocking",
        "reuse": "fixed",
        "touch": "none",
        "staging": "none",
    }
    variant = parse_variant(description, "bw:calls=nonblocking, reuse=rotating")
    assert variant.benchmark == "bw"
    assert variant.axes == {
        "calls": "nonblocking",
        "reuse": "rotating",
        "touch": "none",
        "staging": "none",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latncy", "unknown benchmark 'latncy': choose one of allreduce, bibw"),
        ("bw:cals=blocking", "benchmark bw has no axis 'cals'; did you mean 'calls'?"),
        ("bw:calls=fast", "calls cannot be 'fast': choose one of blocking, nonblocking"),
        ("bw:calls", "write 'calls' as AXIS=VALUE"),
    ],
)
def test_what_there_is_not_is_bad_input(description: Description, text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        parse_variant(description, text)
    assert message in str(error.value)


def test_a_program_that_does_not_answer_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not describe itself"):
        describe(tmp_path / "missing", {})
