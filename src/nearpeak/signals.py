# SPDX-License-Identifier: Apache-2.0
"""Handles signals for a while."""

import contextlib
import signal
from collections.abc import Callable, Iterable, Iterator
from types import FrameType


@contextlib.contextmanager
def handled(
    numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Handles these signals, then restores their handlers. ValueError outside the main thread."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class Ended(KeyboardInterrupt):
    """The signal `number` came, with which a job or a terminal ends its processes."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Has SIGTERM, and SIGHUP unless it is ignored, raise Ended, as Ctrl-C raises
    KeyboardInterrupt. Only in the main thread."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise Ended(number)

    taken = [signal.SIGTERM, signal.SIGHUP]
    with handled([n for n in taken if signal.getsignal(n) is not signal.SIG_IGN], end):
        yield


def status_of(interrupt: KeyboardInterrupt) -> int:
    """The exit status of a command that it ended."""
    return 128 + (interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT)
