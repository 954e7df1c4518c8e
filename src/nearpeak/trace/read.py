# SPDX-License-Identifier: Apache-2.0
"""Reads the files of the ranks (preload/trace/table.hpp), and sums them up."""

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
# Like Header of table.hpp; the names of the operations follow it.
HEADER = struct.Struct("=8sII4Q3Qiiii64s")
NAME = struct.Struct("39sB")
SECTION = struct.Struct("=QQQQQ")
CELL = np.dtype(
    [("key", "u8"), ("count", "u8"), ("bytes", "u8"), ("ticks", "u8"), ("longest", "u8")]
)
MEMORIES = get_args(Memory)
UNKNOWN, NOBODY = -2, -1  # instead of a rank


class Unreadable(Exception):
    """The file is not one of a rank, or was not begun; the message says why."""


@dataclass
class RankTrace:
    """The file of one rank: itself, and its calls, each with the other rank in MPI_COMM_WORLD."""

    rank: Rank
    called: list[tuple[int, Entry]]


def read(file: Path) -> RankTrace:
    """Reads one file. Unreadable if there is nothing in it."""
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
    return RankTrace(described, called)


Key = tuple[int, int, int, int, int]  # operation, what made the request, size, memory, peer


def _sections(data: bytes, start: int) -> tuple[int, int, tuple[int, int], dict[Key, list[int]]]:
    """The number of threads, the ticks of their last call, the last instant in both ticks and
    nanoseconds, and the cells of all threads."""
    threads, last, instant = set(), 0, (0, 0)
    totals: dict[Key, list[int]] = {}
    while start + SECTION.size <= len(data):
        size, thread, ticks, *last_instant = SECTION.unpack_from(data, start)
        if size == 0 or start + size > len(data):
            break  # the rank ended while it was made
        threads.add(thread)
        last = max(last, ticks)
        instant = max(instant, (last_instant[0], last_instant[1]))
        count = (size - SECTION.size) // CELL.itemsize
        cells = np.frombuffer(data, CELL, count, start + SECTION.size)
        for key, calls, size_bytes, spent, longest in cells[cells["count"] > 0].tolist():
            sums = totals.setdefault(_parts(key), [0, 0, 0, 0])
            sums[0] += calls
            sums[1] += size_bytes
            sums[2] += spent
            sums[3] = max(sums[3], longest)
        start += size
    return len(threads), last, instant, totals


def _parts(key: int) -> Key:
    peer = (key & 0xFFFFFFFF) - 2
    return key >> 48, key >> 39 & 0x1FF, key >> 33 & 0x3F, key >> 32 & 1, peer


def smallest(size: int) -> int | None:
    """The smallest size of a class of messages: no size, 0 bytes, 1, 2 to 3, 4 to 7, ..."""
    return None if size == 0 else 0 if size == 1 else 1 << (int(size) - 2)


def merge(traces: Sequence[RankTrace]) -> list[Entry]:
    """The calls of all ranks, the longest first.

    The host of a rank is known from its own file only.
    """
    hosts: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for trace in traces:
        hosts[trace.rank.world, trace.rank.rank].add(trace.rank.host)
    groups: defaultdict[tuple[str, str, int, str, str], list[Entry]] = defaultdict(list)
    for trace in traces:
        for rank, entry in trace.called:
            size = -1 if entry.size_bytes is None else entry.size_bytes
            peer = _peer(trace.rank, rank, hosts.get((trace.rank.world, rank), set()))
            groups[entry.operation, entry.made_by, size, entry.memory, peer].append(
                msgspec.structs.replace(entry, peer=peer)
            )
    merged = [_sum(same) for _, same in sorted(groups.items())]
    return sorted(merged, key=lambda entry: -entry.seconds)


def _sum(same: Sequence[Entry]) -> Entry:
    """One entry for entries of the same calls."""
    return msgspec.structs.replace(
        same[0],
        calls=sum(entry.calls for entry in same),
        bytes=sum(entry.bytes for entry in same),
        seconds=sum(entry.seconds for entry in same),
        longest_seconds=max(entry.longest_seconds for entry in same),
    )


def _peer(caller: Rank, rank: int, hosts: set[str]) -> Peer:
    """The place of the other rank. `hosts`: the hosts of ranks of this number, several if one
    command had several runs."""
    if rank == NOBODY:
        return "none"
    if rank == caller.rank:
        return "self"
    if len(hosts) != 1:
        return "unknown"
    return "same host" if caller.host in hosts else "other host"


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="replace")
