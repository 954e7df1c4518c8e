# SPDX-License-Identifier: Apache-2.0
"""Reads the files that ranks leave (bench/trace/table.hpp), and sums them up."""

import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np

from nearpeak.trace.trace import Entry, Memory, Peer, Rank

MAGIC = b"NPTRAC2\0"
# As Header, after it the names of the operations.
HEADER = struct.Struct("=8sII4Q3Qiiii64s")
NAME = struct.Struct("39sB")
SECTION = struct.Struct("=QQQQQ")
CELL = np.dtype(
    [("key", "u8"), ("count", "u8"), ("bytes", "u8"), ("ticks", "u8"), ("longest", "u8")]
)
MEMORIES = get_args(Memory)
UNKNOWN, NOBODY = -2, -1  # instead of a rank


class Unreadable(Exception):
    """It is no file of a rank, or one that was not begun; the message says why."""


@dataclass
class Left:
    """What one rank left: of itself, and what it called, with whom: ranks in MPI_COMM_WORLD."""

    rank: Rank
    called: list[tuple[int, Entry]]


def read(file: Path) -> Left:
    """One file. Unreadable where there is nothing in it."""
    data = file.read_bytes()
    if len(data) < HEADER.size or data[:8] != MAGIC:
        raise Unreadable(f"{file.name} has no header, or is of another version of Nearpeak")
    (_, header_bytes, operations, ticks_0, ns_0, ticks_1, ns_1, *rest) = HEADER.unpack_from(data)
    begun, finalized, lost, rank, ranks, launched, process, host = rest
    if len(data) < header_bytes or ticks_1 <= ticks_0:
        raise Unreadable(f"{file.name} was not begun")
    threads, last, instant, cells = _sections(data, header_bytes)
    ticks_1, ns_1 = max((ticks_1, ns_1), instant)
    second = (ticks_1 - ticks_0) / (ns_1 - ns_0) * 1e9  # in ticks
    names = [
        (_text(text), bool(begins))
        for text, begins in NAME.iter_unpack(
            data[HEADER.size : HEADER.size + operations * NAME.size]
        )
    ]
    called = [
        (
            peer,
            Entry(
                operation=names[operation][0],
                made_by=names[maker][0],
                begins=names[operation][1],
                size_bytes=smallest(size),
                memory=MEMORIES[memory],
                peer="unknown",
                calls=calls,
                bytes=size_bytes,
                seconds=ticks / second,
                longest_seconds=longest / second,
            ),
        )
        for (operation, maker, size, memory, peer), (calls, size_bytes, ticks, longest) in sorted(
            cells.items()
        )
    ]
    entries = [entry for _, entry in called]
    described = Rank(
        rank=rank,
        host=_text(host),
        process=process,
        run_seconds=((finalized or max(last, begun)) - begun) / second,
        mpi_seconds=sum(entry.seconds for entry in entries),
        threads=threads,
        finalized=finalized > 0,
        world=ranks,
        launched=launched,
        calls=sum(entry.calls for entry in entries),
        bytes=sum(entry.bytes for entry in entries),
        waiting_seconds=sum(entry.seconds for entry in entries if entry.waits),
        lost=lost,
    )
    return Left(described, called)


Key = tuple[int, int, int, int, int]  # operation, what made the request, size, memory, peer


def _sections(data: bytes, start: int) -> tuple[int, int, tuple[int, int], dict[Key, list[int]]]:
    """How many threads there were, the ticks of their last call, the last instant that is known in
    ticks and nanoseconds, and the cells of all."""
    threads, last, instant = set(), 0, (0, 0)
    found: dict[Key, list[int]] = {}
    while start + SECTION.size <= len(data):
        size, thread, ticks, *known = SECTION.unpack_from(data, start)
        if size == 0 or start + size > len(data):
            break  # the rank ended while it was made
        threads.add(thread)
        last = max(last, ticks)
        instant = max(instant, (known[0], known[1]))
        count = (size - SECTION.size) // CELL.itemsize
        cells = np.frombuffer(data, CELL, count, start + SECTION.size)
        for key, calls, size_bytes, spent, longest in cells[cells["count"] > 0].tolist():
            sums = found.setdefault(_parts(key), [0, 0, 0, 0])
            sums[0] += calls
            sums[1] += size_bytes
            sums[2] += spent
            sums[3] = max(sums[3], longest)
        start += size
    return len(threads), last, instant, found


def _parts(key: int) -> Key:
    peer = (key & 0xFFFFFFFF) - 2
    return key >> 48, key >> 39 & 0x1FF, key >> 33 & 0x3F, key >> 32 & 1, peer


def smallest(size: int) -> int | None:
    """Of a class of messages: none, 0 bytes, 1, 2 to 3, 4 to 7, ..."""
    return None if size == 0 else 0 if size == 1 else 1 << (int(size) - 2)


def merge(left: Sequence[Left]) -> list[Entry]:
    """The calls of all ranks, what took longest first.

    Where a rank is, its own file says: that of one which left none is unknown.
    """
    hosts: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for part in left:
        hosts[part.rank.world, part.rank.rank].add(part.rank.host)
    found: defaultdict[tuple[str, str, int, str, str], list[Entry]] = defaultdict(list)
    for part in left:
        for rank, entry in part.called:
            size = -1 if entry.size_bytes is None else entry.size_bytes
            peer = _peer(part.rank, rank, hosts.get((part.rank.world, rank), set()))
            found[entry.operation, entry.made_by, size, entry.memory, peer].append(
                msgspec.structs.replace(entry, peer=peer)
            )
    merged = [
        msgspec.structs.replace(
            same[0],
            calls=sum(entry.calls for entry in same),
            bytes=sum(entry.bytes for entry in same),
            seconds=sum(entry.seconds for entry in same),
            longest_seconds=max(entry.longest_seconds for entry in same),
        )
        for _, same in sorted(found.items())
    ]
    return sorted(merged, key=lambda entry: -entry.seconds)


def _peer(own: Rank, rank: int, hosts: set[str]) -> Peer:
    """`hosts`: where ranks of this number are. Of several runs in one command there may be some."""
    if rank == NOBODY:
        return "none"
    if rank == own.rank:
        return "self"
    if len(hosts) != 1:
        return "unknown"
    return "same host" if own.host in hosts else "other host"


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="replace")
