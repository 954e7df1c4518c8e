# SPDX-License-Identifier: Apache-2.0
"""What a process did, written down by hand; times in microseconds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.explain import events
from nearpeak.explain.events import ProcessTrace


class Made(NamedTuple):
    """One event."""

    kind: int
    name: str | int
    begin_us: float
    end_us: float
    bytes: float = 0
    thread: int = 0
    own: bool = False


def sample(begin_us: float, end_us: float, iterations: int = 1, together: int = 0) -> list[Made]:
    return [
        Made(events.MARK, events.BEGINS, begin_us, begin_us, together),
        Made(events.MARK, events.ENDS, end_us, end_us, iterations),
    ]


def turn(at_us: float) -> Made:
    return Made(events.MARK, events.TURN, at_us, at_us)


def call(name: str, begin_us: float, end_us: float, size: float = 0, thread: int = 0) -> Made:
    kind = events.DRIVER_CALL if name.startswith("cu") else events.HOST_CALL
    return Made(kind, name, begin_us, end_us, size, thread)


def at(name: str, at_us: float) -> Made:
    """A sample."""
    return Made(events.SAMPLE, name, at_us, at_us)


def copy(source: int, target: int, begin_us: float, end_us: float, size: float) -> Made:
    """Between kinds of memory as CUPTI numbers them."""
    return Made(events.COPY, 1 << 10 | source << 5 | target, begin_us, end_us, size)


def seen(
    rank: int, made: Sequence[Made], driver_call_ns: int = 0, host_call_ns: int = 0
) -> ProcessTrace:
    """The process of a rank."""
    names = [""] * 8  # those of marks stand for themselves
    for event in made:
        if isinstance(event.name, str) and event.name not in names:
            names.append(event.name)
    return ProcessTrace(
        rank=rank,
        kind=np.array([event.kind for event in made], np.uint8),
        name=np.array(
            [
                names.index(event.name) if isinstance(event.name, str) else event.name
                for event in made
            ],
            np.uint16,
        ),
        thread=np.array([event.thread for event in made], np.uint32),
        own=np.array([event.own for event in made], bool),
        bytes=np.array([event.bytes for event in made], float),
        begin=np.array([event.begin_us * 1e3 for event in made]),
        end=np.array([event.end_us * 1e3 for event in made]),
        names=names,
        start=0,
        lost=0,
        known_until=np.inf,
        device="",
        dropped=0,
        ended=True,
        driver_call_ns=driver_call_ns,
        host_call_ns=host_call_ns,
    )
