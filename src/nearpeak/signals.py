# SPDX-License-Identifier: Apache-2.0
"""Signals that are taken for a while."""

import contextlib
import signal
from collections.abc import Callable, Iterable, Iterator
from types import FrameType


@contextlib.contextmanager
def handled(
    numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Takes these signals, and gives them back. Of the main thread alone: ValueError elsewhere."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class Ended(KeyboardInterrupt):
    """The signal `number`, with which a job or a terminal ends what runs in it, came."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """SIGTERM and SIGHUP, if that is not ignored, raise Ended, as Ctrl-C raises KeyboardInterrupt.
    Of the main thread alone."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise Ended(number)

    taken = [signal.SIGTERM, signal.SIGHUP]
    with handled([n for n in taken if signal.getsignal(n) is not signal.SIG_IGN], end):
        yield


def status_of(interrupt: KeyboardInterrupt) -> int:
    """The exit status of what it ended."""
    return 128 + (interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT)
