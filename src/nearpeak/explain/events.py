# SPDX-License-Identifier: Apache-2.0
"""Reads what each process left of a launch under the microscope (bench/explain/events.hpp)."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearpeak.arrays import Floats

MAGIC = b"NPEXPL1\0"
NAMES, NAME_BYTES = 2048, 48
EVENTS = 1 << 22
# As Header, without the names at its end.
HEADER = struct.Struct("=8sIiQii4Q64s256sII")
EVENT = np.dtype(
    [
        ("begin", "u8"),
        ("end", "u8"),
        ("bytes", "u8"),
        ("correlation", "u4"),
        ("name", "u2"),
        ("kind", "u1"),
        ("thread", "u1"),
    ]
)
MARK, HOST_CALL, DRIVER_CALL, COPY, KERNEL, FILL, SAMPLE, COUNTER = range(1, 9)
BEGINS, ENDS, TURN = 1, 2, 3  # marks
MEMORIES = (
    "unknown",
    "pageable",
    "pinned",
    "device",
    "array",
    "managed",
    "device",
    "managed",
)  # CUPTI_ACTIVITY_MEMORY_KIND_*


class Unreadable(Exception):
    """It is no file of a process; the message says why."""


@dataclass
class Seen:
    """What one process did, in nanoseconds of the host's monotonic clock."""

    rank: int
    host: str
    kind: NDArray[np.uint8]
    name: NDArray[np.uint16]
    thread: NDArray[np.uint8]
    bytes: Floats
    begin: Floats  # after `start`
    end: Floats
    names: list[str]
    start: int  # the instant that all times are after
    lost: int
    device: str  # why the driver was not seen
    driver_call_ns: int  # what it took to see a call, outside of what is kept of it
    host_call_ns: int


def read(file: Path, start: int | None = None) -> Seen:
    """One file; `start`: as of another process of the launch. Unreadable where it is none."""
    data = file.read_bytes()
    if len(data) < HEADER.size or data[:8] != MAGIC:
        raise Unreadable(f"{file.name} has no header, or is of another version of Nearpeak")
    (_, header_bytes, _, begun, rank, _, *rest) = HEADER.unpack_from(data)
    first_device, first, last_device, last, host, device, driver_call_ns, host_call_ns = rest
    kept = min(begun, EVENTS)
    if len(data) < header_bytes + kept * EVENT.itemsize:
        raise Unreadable(f"{file.name} was cut off")
    events = np.frombuffer(data, EVENT, kept, header_bytes)
    events = events[events["kind"] > 0]  # others were not written to their end
    begin, end = (
        _on_our_clock(events, which, first_device, first, last_device, last)
        for which in ("begin", "end")
    )
    if start is None:
        start = int(begin.min()) if len(events) else 0
    table = data[HEADER.size : HEADER.size + NAMES * NAME_BYTES]
    return Seen(
        rank=rank,
        host=_text(host),
        kind=events["kind"],
        name=events["name"],
        thread=events["thread"],
        bytes=events["bytes"].astype(float),
        begin=(begin - start).astype(float),
        end=(end - start).astype(float),
        names=[_text(table[at : at + NAME_BYTES]) for at in range(0, len(table), NAME_BYTES)],
        start=start,
        lost=begun - kept,
        device=_text(device),
        driver_call_ns=driver_call_ns,
        host_call_ns=host_call_ns,
    )


def _on_our_clock(
    events: Any, which: str, first_device: int, first: int, last_device: int, last: int
) -> NDArray[np.int64]:
    """Times of the device's records on the host's clock, by one or two instants of both."""
    times: NDArray[np.int64] = events[which].astype(np.int64)
    if not first:
        return times
    of_device = np.isin(events["kind"], (COPY, KERNEL, FILL))
    pace = (last - first) / (last_device - first_device) if last_device > first_device else 1.0
    moved = first + ((times - first_device) * pace).astype(np.int64)
    result: NDArray[np.int64] = np.where(of_device, moved, times)
    return result


def copy_name(number: int) -> str:
    """`copy, pageable to device`, of a copy's kind and memories."""
    kind, source, target = number >> 10, number >> 5 & 31, number & 31
    if kind == 10:
        return "copy to another GPU"
    return f"copy, {_memory(source)} to {_memory(target)}"


def _memory(number: int) -> str:
    return MEMORIES[number] if number < len(MEMORIES) else "unknown"


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="replace")
