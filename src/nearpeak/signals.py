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
