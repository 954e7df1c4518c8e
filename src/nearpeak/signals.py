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


_held = False
_came: int | None = None  # while it was held


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Has SIGINT, SIGTERM and SIGHUP raise Ended, but for those that are ignored. Only in the main
    thread."""

    def end(number: int, _frame: FrameType | None) -> None:
        global _came
        if not _held:
            raise Ended(number)
        _came = number

    taken = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    with handled([n for n in taken if signal.getsignal(n) is not signal.SIG_IGN], end):
        yield


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Has Ended raised only after this context, so that what is done in it is done whole. Only in
    the main thread, and not within itself.

    To block signals would not do: any thread may take one, and Python handles it in the main one.
    """
    global _held, _came
    _came = None
    _held = True
    try:
        yield
    finally:
        _held = False
        if _came is not None:
            raise Ended(_came)


def status_of(interrupt: KeyboardInterrupt) -> int:
    """The exit status of a command that it ended."""
    return 128 + (interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT)
