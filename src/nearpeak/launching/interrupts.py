# SPDX-License-Identifier: Apache-2.0
"""Ends a launch and its study early: signals, and the end of the job."""

import contextlib
import math
import signal
import time
from collections.abc import Iterator
from types import FrameType

from nearpeak.machine import allocation
from nearpeak.signals import handled

JOB_SECONDS = 30.0  # between two checks whether the job goes on
SIGNAL_SECONDS = 5.0  # from the end of a job's launch to the signal that ends the study
JOB_ENDED = "the job was ended"


class Interrupt:
    """Set by a signal while a study runs: the launch is ended, then the study.

    SIGHUP comes from a terminal that went away; under nohup it is ignored, and stays so.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.job_ended = False  # by the last check
        self._checked_at = -math.inf

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.signal = number

    def has_come(self) -> bool:
        """True if a launch that failed was ended together with the study: Ctrl-C, and the end of a
        job, reach both, and maybe the launch first."""
        if self.signal is None and allocation.is_ending():
            self.job_ended = True
            deadline = time.monotonic() + SIGNAL_SECONDS
            while self.signal is None and time.monotonic() < deadline:
                time.sleep(0.05)
        return self.signal is not None or self.job_ended

    def job_is_over(self) -> bool:
        """True if the job has ended without us. A command of salloc may get no signal, and its
        processes on its own node continue next to those of other jobs."""
        if (now := time.monotonic()) >= self._checked_at + JOB_SECONDS:
            self._checked_at = now
            self.job_ended = allocation.is_ending()
        return self.job_ended

    def reason(self) -> str:
        """Returns the reason of the interrupt, for people. The job's manager may name it for the
        end of a job."""
        return why_ended(self.signal)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Handles the signals, and restores their handlers."""
        taken = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            taken.append(signal.SIGHUP)
        with handled(taken, self):
            yield


def why_ended(number: int | None) -> str:
    """Returns the reason of a signal, for people. None: there was no signal, and the job has
    ended."""
    reason = None if number == signal.SIGINT else allocation.why_ending()
    if reason is not None:
        return reason
    return JOB_ENDED if number is None else f"ended by {signal.Signals(number).name}"
