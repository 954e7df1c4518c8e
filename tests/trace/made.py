# SPDX-License-Identifier: Apache-2.0
"""Traces, and studies beside them, that are made up."""

from types import SimpleNamespace
from typing import Any

from nearpeak.trace.trace import SCHEMA, Entry, Rank, Trace


def entry(operation: str = "MPI_Send", size: int | None = 8, **more: Any) -> Entry:
    values = {
        **{"memory": "host", "peer": "same host", "calls": 10, "bytes": 100, "seconds": 1e-4},
        **more,
    }
    return Entry(operation=operation, size_bytes=size, longest_seconds=2e-5, **values)


def ran(rank: int = 0, **more: Any) -> Rank:
    values = {
        **{"host": "here", "process": 1 + rank, "run_seconds": 1e-3, "mpi_seconds": 2e-4},
        **{"threads": 1, "finalized": True, "world": 1, "launched": 0, "calls": 10, "bytes": 100},
        **{"waiting_seconds": 1e-4, **more},
    }
    return Rank(rank=rank, **values)


def trace(*entries: Entry, **more: Any) -> Trace:
    values = {
        **{"exit_status": 0, "expected": 1, "missing": [], "wall_seconds": 1e-3},
        **{"ranks": [ran()], **more},
    }
    return Trace(
        schema=SCHEMA,
        nearpeak="0",
        command=["app"],
        library="mpich 5",
        entries=list(entries),
        **values,
    )


def results(*points: tuple[str, int, float], benchmark: str = "message") -> Any:
    """A study with these ceilings: path, size and microseconds, or of "rate" GB/s."""
    made = [
        SimpleNamespace(
            unit="us" if benchmark == "message" else "GB/s",
            kind="measured",
            fact=False,
            value=value,
            by_library=value,
            place=SimpleNamespace(path=path, hosts=1, transport="memory", ends=("host", "host")),
            case=SimpleNamespace(benchmark=benchmark, buffers="H,H", x=size),
        )
        for path, size, value in points
    ]
    known = [
        SimpleNamespace(name="message", one_message=True, one_way=False),
        SimpleNamespace(name="rate", one_message=False, one_way=True),
    ]
    return SimpleNamespace(study="s", benchmarks=known, ceilings=made)
