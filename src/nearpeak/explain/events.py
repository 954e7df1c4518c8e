# SPDX-License-Identifier: Apache-2.0
"""Reads the trace file of each process of a traced launch (preload/explain/events.hpp)."""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearpeak.arrays import Booleans, Floats

MAGIC = b"NPEXPL3\0"
NAMES, NAME_BYTES = 2048, 48
# As Header, without the names at its end.
HEADER = struct.Struct("=8sIi6Qii4Q256sIIQ")
EVENT = np.dtype(
    [
        ("begin", "u8"),
        ("end", "u8"),
        ("bytes", "u8"),
        ("thread", "u4"),
        ("name", "u2"),
        ("kind", "u1"),
        ("own", "u1"),
    ]
)
MARK, HOST_CALL, DRIVER_CALL, COPY, KERNEL, FILL, SAMPLE, COUNTER, OWN_CALL = range(1, 10)
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
    """Not a trace file of a process; the message gives the reason."""


@dataclass
class ProcessTrace:
    """The trace of one process, in nanoseconds of the host's monotonic clock."""

    rank: int
    kind: NDArray[np.uint8]
    name: NDArray[np.uint16]
    thread: NDArray[np.uint32]
    own: Booleans  # calls of the measuring program itself, and device work for them
    bytes: Floats
    begin: Floats  # after `start`
    end: Floats
    names: list[str]
    start: int  # the origin of all times
    lost: int  # events that did not fit
    known_until: float  # when the earliest of these began; infinite where none was lost
    device: str  # the reason that the driver was not traced
    dropped: int  # device records that did not fit into CUPTI's buffers
    ended: bool  # normally, so that the last device records arrived; or it used no device
    driver_call_ns: int  # overhead of tracing a call, outside its recorded span
    host_call_ns: int


def read(file: Path, start: int | None = None) -> ProcessTrace:
    """Reads one file; `start`: that of another process of the launch. Unreadable if invalid."""
    with file.open("rb") as opened:
        if file.stat().st_size < HEADER.size:
            raise Unreadable(f"{file.name} has no header")
        # Most of the file was never written: only written pages are loaded.
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(file.name, data, start)


def _read(name: str, data: mmap.mmap, start: int | None) -> ProcessTrace:
    if data[:8] != MAGIC:
        raise Unreadable(f"{name} is of another version of Nearpeak")
    (_, header_bytes, _, *rest) = HEADER.unpack_from(data)
    room, begun, lost_from = rest[0:2], rest[2:4], rest[4:6]
    rank, _, *clocks, device, driver_call_ns, host_call_ns, dropped = rest[6:]
    if len(data) < header_bytes + sum(room) * EVENT.itemsize:
        raise Unreadable(f"{name} was cut off")
    kept = [min(pair) for pair in zip(room, begun, strict=True)]
    events = np.concatenate(
        [
            np.frombuffer(data[offset : offset + count * EVENT.itemsize], EVENT)
            for count, offset in zip(
                kept, (header_bytes, header_bytes + room[0] * EVENT.itemsize), strict=True
            )
        ]
    )
    events = events[events["kind"] > 0]  # others are incomplete
    of_device = np.isin(events["kind"], (COPY, KERNEL, FILL))
    of_own = events["bytes"][events["kind"] == OWN_CALL]
    begin, end = events["begin"].astype(np.int64), events["end"].astype(np.int64)
    begin = np.where(of_device, _on_our_clock(begin, *clocks), begin)
    end = np.where(of_device, _on_our_clock(end, *clocks), end)
    if start is None:
        start = int(begin.min()) if len(events) else 0
    of_host, of_gpu = (np.array([instant], np.int64) for instant in lost_from)
    losses = [
        float(instant[0] - start)
        for lost, instant in zip(lost_from, (of_host, _on_our_clock(of_gpu, *clocks)), strict=True)
        if lost
    ]
    table = data[HEADER.size : HEADER.size + NAMES * NAME_BYTES]
    return ProcessTrace(
        rank=rank,
        kind=events["kind"],
        name=events["name"],
        thread=events["thread"],
        own=(events["own"] > 0) | (of_device & np.isin(events["thread"], of_own)),
        bytes=events["bytes"].astype(float),
        begin=(begin - start).astype(float),
        end=(end - start).astype(float),
        names=[
            _text(table[offset : offset + NAME_BYTES])
            for offset in range(0, len(table), NAME_BYTES)
        ],
        start=start,
        lost=sum(begun) - sum(kept),
        known_until=min(losses, default=np.inf),
        device=_text(device),
        dropped=dropped,
        ended=not clocks[1] or clocks[3] > 0,
        driver_call_ns=driver_call_ns,
        host_call_ns=host_call_ns,
    )


def _on_our_clock(
    times: NDArray[np.int64], first_device: int, first: int, last_device: int, last: int
) -> NDArray[np.int64]:
    """Converts device times to the host's clock, by one or two common instants."""
    if not first:
        return times
    pace = (last - first) / (last_device - first_device) if last_device > first_device else 1.0
    moved: NDArray[np.int64] = first + ((times - first_device) * pace).astype(np.int64)
    return moved


def copy_name(number: int) -> str:
    """The label of a copy's kind and memories: `copy, pageable to device`."""
    kind, source, target = number >> 10, number >> 5 & 31, number & 31
    if kind == 10:
        return "copy to another GPU"
    return f"copy, {_memory(source)} to {_memory(target)}"


def _memory(number: int) -> str:
    return MEMORIES[number] if number < len(MEMORIES) else "unknown"


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="replace")
