# SPDX-License-Identifier: Apache-2.0
"""One launch outside of a study: how it failed."""

from types import SimpleNamespace
from typing import Any

import pytest

from nearpeak.launching.single_launch import LaunchFailed, launched
from nearpeak.libraries.library import CommandLine


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "the launch did not end within 0.3 s"),
        (
            "A component was not found",
            "the launch did not end within 0.3 s; the last that it said: A component was not found",
        ),
    ],
)
def test_what_did_not_end_is_told_with_what_it_said(said: str, why: str) -> None:
    chosen: Any = SimpleNamespace(ends=(), library=SimpleNamespace(version_text="x"))
    line = CommandLine(env={}, argv=["sh", "-c", f"echo '{said}'; exec sleep 30"])
    with pytest.raises(LaunchFailed) as failed:
        launched(chosen, lambda _: line, native=False, limit_seconds=0.3, grace_seconds=0.5)
    assert str(failed.value) == why
