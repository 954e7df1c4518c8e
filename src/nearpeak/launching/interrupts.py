# SPDX-License-Identifier: Apache-2.0
"""What ends a launch, and what it is part of, before its time: signals, and the end of the job."""

import contextlib
import math
import signal
import time
from collections.abc import Iterator
from types import FrameType

from nearpeak.machine import allocation
from nearpeak.signals import handled

JOB_SECONDS = 30.0  # for which a job that goes on is taken to do so
SIGNAL_SECONDS = 5.0  # from the end of a job's launch to the signal that ends the study
JOB_ENDED = "the job was ended"


class Interrupt:
    """Set by a signal while a study runs: the launch is ended, then the study.

    SIGHUP comes from a terminal that went away; under nohup it is ignored, and stays so.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.job_ended = False  # as it was found last
        self._asked = -math.inf

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.signal = number

    def has_come(self) -> bool:
        """Whether a launch that failed did so with all else: Ctrl-C, and the end of a job, reach
        both, and the launch maybe first."""
        if self.signal is None and allocation.is_ending():
            self.job_ended = True
            deadline = time.monotonic() + SIGNAL_SECONDS
            while self.signal is None and time.monotonic() < deadline:
                time.sleep(0.05)
        return self.signal is not None or self.job_ended

    def job_is_over(self) -> bool:
        """Whether the job has ended without us: a command of salloc's may get no signal, and what
        it starts on its own node goes on, beside what other jobs run there."""
        if (now := time.monotonic()) >= self._asked + JOB_SECONDS:
            self._asked = now
            self.job_ended = allocation.is_ending()
        return self.job_ended

    def reason(self) -> str:
        """What has come, for people: of the end of a job why it is, where its manager says so."""
        return why_ended(self.signal)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Takes the signals, and gives them back."""
        taken = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            taken.append(signal.SIGHUP)
        with handled(taken, self):
            yield


def why_ended(number: int | None) -> str:
    """What a signal came for, for people; None: there was none, and the job has ended."""
    told = None if number == signal.SIGINT else allocation.why_ending()
    if told is not None:
        return told
    return JOB_ENDED if number is None else f"ended by {signal.Signals(number).name}"
