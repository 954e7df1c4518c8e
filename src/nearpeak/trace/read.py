# SPDX-License-Identifier: Apache-2.0
"""Reads the files that ranks leave (bench/trace/table.hpp), and sums them up."""

import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from nearpeak.trace.model import Entry, Memory, Peer, Rank

MAGIC = b"NPTRACE\0"
# As Header, after it the names of the operations.
HEADER = struct.Struct("=8sII4I2Q2QQQQiiii64s")
NAME_BYTES = 32
CELL = np.dtype([("count", "u8"), ("bytes", "u8"), ("ticks", "u8"), ("longest", "u8")])
MEMORIES = get_args(Memory)
PEERS = get_args(Peer)


class Unreadable(Exception):
    """It is no file of a rank, or one that was not begun; the message says why."""


@dataclass
class Left:
    """What one rank left: of itself, and what it called."""

    rank: Rank
    ranks: int  # that there were
    entries: list[Entry]


def read(file: Path) -> Left:
    """One file. Unreadable where there is nothing in it."""
    data = file.read_bytes()
    if len(data) < HEADER.size or data[:8] != MAGIC:
        raise Unreadable(f"{file.name} has no header")
    (_, header_bytes, table_bytes, operations, sizes, memories, peers, *rest) = HEADER.unpack_from(
        data
    )
    ticks_0, ns_0, ticks_1, ns_1, begun, finalized, lost, rank, ranks, process, threads, host = rest
    if (memories, peers) != (len(MEMORIES), len(PEERS)) or ticks_1 <= ticks_0:
        raise Unreadable(f"{file.name} is of another version of Nearpeak")
    second = (ticks_1 - ticks_0) / (ns_1 - ns_0) * 1e9  # in ticks
    names = [
        _text(data[start : start + NAME_BYTES])
        for start in range(HEADER.size, HEADER.size + operations * NAME_BYTES, NAME_BYTES)
    ]
    cells = np.zeros((operations, sizes, memories, peers), CELL)
    last = begun
    for thread in range(threads):
        start = header_bytes + thread * table_bytes
        if start + 8 + cells.nbytes > len(data):
            raise Unreadable(f"{file.name} ends before its end")
        last = max(last, int.from_bytes(data[start : start + 8], "little"))
        table = np.frombuffer(data, CELL, cells.size, start + 8).reshape(cells.shape)
        for field in ("count", "bytes", "ticks"):
            cells[field] += table[field]
        cells["longest"] = np.maximum(cells["longest"], table["longest"])
    entries = [
        Entry(
            operation=names[operation],
            size_bytes=smallest(size),
            memory=MEMORIES[memory],
            peer=PEERS[peer],
            calls=int(cell["count"]),
            bytes=int(cell["bytes"]),
            seconds=float(cell["ticks"]) / second,
            longest_seconds=float(cell["longest"]) / second,
        )
        for operation, size, memory, peer in np.argwhere(cells["count"])
        for cell in [cells[operation, size, memory, peer]]
    ]
    described = Rank(
        rank=rank,
        host=_text(host),
        process=process,
        run_seconds=((finalized or last) - begun) / second,
        mpi_seconds=sum(entry.seconds for entry in entries),
        threads=threads,
        finalized=finalized > 0,
        lost=lost,
    )
    return Left(described, ranks, entries)


def smallest(size: int) -> int | None:
    """Of a class of messages: none, 0 bytes, 1, 2 to 3, 4 to 7, ..."""
    return None if size == 0 else 0 if size == 1 else 1 << (int(size) - 2)


def merge(left: Iterable[Left]) -> list[Entry]:
    """The calls of all ranks, what took longest first."""
    found: defaultdict[tuple[str, int, str, str], list[Entry]] = defaultdict(list)
    for one in left:
        for entry in one.entries:
            size = -1 if entry.size_bytes is None else entry.size_bytes
            found[entry.operation, size, entry.memory, entry.peer].append(entry)
    merged = [
        Entry(
            operation=same[0].operation,
            size_bytes=same[0].size_bytes,
            memory=same[0].memory,
            peer=same[0].peer,
            calls=sum(one.calls for one in same),
            bytes=sum(one.bytes for one in same),
            seconds=sum(one.seconds for one in same),
            longest_seconds=max(one.longest_seconds for one in same),
        )
        for _, same in sorted(found.items())
    ]
    return sorted(merged, key=lambda one: -one.seconds)


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="replace")
