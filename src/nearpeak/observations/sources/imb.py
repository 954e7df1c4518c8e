# SPDX-License-Identifier: Apache-2.0
"""What the Intel MPI Benchmarks (IMB-MPI1, IMB-MPI1-GPU) print: their output in a file.

A file holds a table for each benchmark and number of ranks. What is printed stands in IMB's
src_c/IMB_output.c.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.numbers import count
from nearpeak.observations.imported import (
    Row,
    Table,
    beginning,
    check_one_run,
    collective,
    cut_off,
    library,
    message,
    observations,
)
from nearpeak.observations.observed import Observations
from nearpeak.observations.source import Source
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import HOST
from nearpeak.terms.identity import Who
from nearpeak.terms.sizes import format_bytes

WHO = Who("imb")
TITLE = re.compile(r"#\s+Intel\(R\) MPI Benchmarks (?P<version>\S.*?),? MPI-1 part")
STARTED = re.compile(r"# (?P<program>\S*IMB-MPI1\S*) ?(?P<words>.*)")
BEGIN = re.compile(r"# Benchmarking (?P<name>\S+)\s*$")
DATATYPE = re.compile(r"# MPI_Datatype for reductions\s*:\s*MPI_(?P<type>\w+)")
RANKS = re.compile(r"# #processes = (?P<ranks>\d+)\s*$")
ROW_LIKE = re.compile(r"\s+\d")
FIGURE = re.compile(r"\d+(\.\d+)?$")
SIZE, COUNT = "#bytes", "#repetitions"
DEFECTS = "defects"  # of builds with -DCHECK: the largest difference beyond what IMB tolerates
# In the place of the repetitions of a size that a limit of IMB's kept from being measured.
LIMITS = ("time-out", "out-of-mem", "int-overflow")
# In which memory buffers are, by -mem_alloc_type of IMB-MPI1-GPU; without it: "device".
MEMORIES = {"device": "D,D", "shared": "M,M", "host": "P,P", "cpu": HOST}


class Printed(NamedTuple):
    """What one of its tables is here."""

    benchmark: Benchmark
    column: str
    factor: float = 1.0  # from its column to our unit; its rates are in MB/s (1e6)
    window: int | None = None


KNOWN = {
    "PingPong": Printed(message("latency", "us"), "t[usec]", window=1),
    "Uniband": Printed(message("bw", "GB/s", symmetric=False), "Mbytes/sec", 1e-3),
    "Biband": Printed(message("bibw", "GB/s"), "Mbytes/sec", 1e-3),
    **{
        name: Printed(collective(name.lower()), "t_max[usec]")
        for name in (
            *("Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Bcast", "Gather"),
            *("Gatherv", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scatter"),
            *("Scatterv", "Scan"),
        )
    },
}


@dataclass
class Section:
    """One table of a file."""

    name: str  # IMB's
    ranks: int = 0
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    unmeasured: list[int] = field(default_factory=list)  # bytes, for a limit of IMB's

    @property
    def words(self) -> str:
        """Which it is; with its ranks, where others of its name are read."""
        return f"{self.name} of {count(self.ranks, 'rank')}" if self.name in KNOWN else self.name


def recognises(place: Path) -> bool:
    """Whether it is a file with IMB's title."""
    lines = beginning(place).decode("utf-8", errors="replace").splitlines()
    return any(map(TITLE.match, lines))


def load(file: Path) -> Observations:
    """A launch for each table that is known here.

    Raises:
        UserError: it has no table that is, or is of several runs, a row of one is not whole, or
            nobody could tell where its buffers were.
    """
    lines = file.read_text("utf-8", errors="replace").splitlines()
    titles = [found for line in lines if (found := TITLE.match(line))]
    check_one_run(file, len(titles), "the output of each")
    buffers = _buffers(file, lines)
    kind = next((found["type"].lower() for line in lines if (found := DATATYPE.match(line))), "")
    sections = _sections(file, lines)
    tables: list[Table] = []
    passed = set()
    read = set()
    for section in sections:
        table = _table(section, buffers, kind)
        if table is None:
            passed.add(section.words)
            continue
        if section.words in read:
            raise UserError(f"{file} holds several tables of {section.words}: give one of them")
        read.add(section.words)
        tables.append(table)
    if not tables:
        raise UserError(f"{file} holds no table that is read here: {', '.join(KNOWN)}")
    scope = " ".join(_unsaid(sections, sorted(passed)))
    told = library(WHO, titles[0]["version"], "Intel MPI Benchmarks", scope)
    return observations(file, told, tables, "IMB")


def _buffers(file: Path, lines: list[str]) -> str:
    started = next((found for line in lines if (found := STARTED.match(line))), None)
    if started is None or not started["program"].endswith("-GPU"):
        return HOST
    chosen = re.search(r"-mem_alloc_type (\S+)", started["words"])
    kind = chosen[1] if chosen else "device"
    if kind not in MEMORIES:
        raise UserError(f"{file}: -mem_alloc_type {kind} is no memory that is known here")
    return MEMORIES[kind]


def _sections(file: Path, lines: list[str]) -> list[Section]:
    """All that were begun, also those without a table of sizes."""
    found: list[Section] = []
    for number, line in enumerate(lines, 1):
        if begin := BEGIN.match(line):
            found.append(Section(begin["name"]))
        elif not found:
            continue
        elif ranks := RANKS.match(line):
            found[-1].ranks = int(ranks["ranks"])
        elif not found[-1].columns and line.split()[:1] == [SIZE]:
            found[-1].columns = line.split()
        elif found[-1].columns and ROW_LIKE.match(line):
            words = line.split()
            if len(words) > 1 and words[1].startswith(LIMITS):
                found[-1].unmeasured.append(int(words[0]))
                continue
            if len(words) != len(found[-1].columns) or not all(map(FIGURE.match, words)):
                raise cut_off(file, number, line)
            found[-1].rows.append(words)
    return found


def _table(section: Section, buffers: str, kind: str) -> Table | None:
    """None: of what is not measured here, or without figures. `kind`: of the numbers of
    reductions."""
    printed = KNOWN.get(section.name)
    if printed is None or printed.column not in section.columns:
        return None
    if section.ranks < 2 or (printed.benchmark.family == "pt2pt" and section.ranks > 2):
        return None
    at = section.columns.index(printed.column)
    repeated = section.columns.index(COUNT)
    checked = section.columns.index(DEFECTS) if DEFECTS in section.columns else None
    rows = [
        Row(
            int(row[0]),
            float(row[at]) * printed.factor,
            iterations=int(row[repeated]),
            wrong=checked is not None and float(row[checked]) > 0,
        )
        for row in section.rows
        if int(row[0]) or section.name == "PingPong"  # of nothing there is no rate, and no sum
    ]
    if not rows:
        return None
    axes = {"reuse": "fixed"} if printed.window == 1 else {}
    if printed.benchmark.family == "collective" and kind:
        axes["type"] = kind
    return Table(
        printed.benchmark, buffers, section.ranks, printed.window, rows, mean=True, axes=axes
    )


def _unsaid(sections: list[Section], passed: list[str]) -> Iterator[str]:
    """What the figures are, and what the file leaves open."""
    yield (
        "Imported from Intel MPI Benchmarks: each figure is the mean of one launch's loop, of a"
        " collective operation that of the slowest rank. The file does not say on which machine and"
        " with which library it ran, nor where the ranks were. How many messages were in flight is"
        " not known."
    )
    if passed:
        yield f"Passed over, as nothing here measures the same: {', '.join(passed)}."
    stopped = [
        f"{section.words} at {', '.join(map(format_bytes, section.unmeasured))} bytes"
        for section in sections
        if section.unmeasured
    ]
    if stopped:
        yield f"Not measured, for IMB's own limits of time or memory: {'; '.join(stopped)}."


SOURCE = Source("the output of IMB-MPI1 or IMB-MPI1-GPU", recognises, load)
