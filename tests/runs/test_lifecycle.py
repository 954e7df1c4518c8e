# SPDX-License-Identifier: Apache-2.0
"""How a run ends: by a signal, whose reason is recorded, or with the exit status of its results."""

import signal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nearpeak.journal import RunJournal
from nearpeak.machine import allocation
from nearpeak.runs import lifecycle


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, None])
def test_a_signal_ends_a_run_and_its_reason_is_recorded(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals | None
) -> None:
    monkeypatch.setattr(allocation, "why_ending", lambda: None)
    reasons: list[str] = []
    lines: list[str] = []
    journal = cast(RunJournal[Any, Any], SimpleNamespace(interrupt=reasons.append))
    # A shell starts what it runs in the background with the signal ignored: these tests, maybe.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with lifecycle.interruptible(journal, lines.append) as interruption:
            if number is not None:
                signal.raise_signal(number)
    finally:
        signal.signal(signal.SIGINT, before)
    assert interruption.signal == number
    assert reasons == ([] if number is None else [f"ended by {number.name}"])
    assert lines == [f"interrupted: {reason}" for reason in reasons]


def test_the_exit_status_says_how_a_run_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert lifecycle.cut_short(signal.SIGTERM, "nearpeak tune --resume -o t") == 143
    assert lifecycle.conclude(bad=True, why="1 slow node") == 1
    assert lifecycle.conclude(bad=True) == 1
    assert lifecycle.conclude(bad=False, why="not said") == 0
    assert capsys.readouterr().out.splitlines() == [
        "nearpeak: interrupted; complete it with: nearpeak tune --resume -o t",
        "Exit status 1: 1 slow node",
    ]
