# SPDX-License-Identifier: Apache-2.0
"""What ends launches before their time; that it does so is tested in test_run.py."""

import signal

import pytest

from nearpeak.launching.interrupts import Interrupt
from nearpeak.machine import allocation


@pytest.mark.parametrize(
    ("number", "why", "reason"),
    [
        (signal.SIGTERM, "the job was cancelled", "the job was cancelled"),
        (signal.SIGTERM, None, "ended by SIGTERM"),
        (None, "the job was cancelled", "the job was cancelled"),
        (None, None, "the job was ended"),
        (signal.SIGINT, "the job was cancelled", "ended by SIGINT"),  # no job sends that
    ],
)
def test_of_a_job_it_is_told_why_it_ends(
    monkeypatch: pytest.MonkeyPatch, number: int | None, why: str | None, reason: str
) -> None:
    monkeypatch.setattr(allocation, "why_ending", lambda: why)
    interrupt = Interrupt()
    if number is not None:
        interrupt(number, None)
    assert interrupt.reason() == reason
