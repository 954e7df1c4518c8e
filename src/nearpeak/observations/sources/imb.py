# SPDX-License-Identifier: Apache-2.0
"""Output of the Intel MPI Benchmarks (IMB-MPI1, IMB-MPI1-GPU) in a file.

A file holds a table for each benchmark and number of ranks. IMB's src_c/IMB_output.c prints it.
Before IMB 3.2 no line ends the output; it says which size is the last one.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.numbers import count
from nearpeak.observations.imported import (
    Row,
    Table,
    cut_off,
    library,
    message,
    no_figures,
    observations,
    optional,
)
from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import (
    Printed,
    first_match,
    first_number,
    first_value,
    matches,
)
from nearpeak.observations.source import Title, Tool, titles_where
from nearpeak.observations.sources.collectives import collective
from nearpeak.observations.sources.reductions import type_axis
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import HOST
from nearpeak.terms.identity import Who
from nearpeak.terms.sizes import format_bytes

WHO = Who("imb")
TITLE = re.compile(
    r"(?:#\s*)?(?:Intel ?\(R\)|PALLAS) MPI Benchmark(?:s| Suite) (?P<version>\S.*?),?"
    r" (?P<part>[A-Z][\w-]*) part"
)
READ = "MPI-1"  # the part that is read
PARTS = {READ: "MPI1", "MPI-2": "EXT", "MPI-IO": "IO"}  # by their programs, which others have as is
# The command, as IMB prints it, or a shell; the names of others say as well which part it is.
COMMAND = re.compile(
    r"(?<!\S)(?P<program>\S*\b[IP]MB-(?P<part>[A-Z][A-Z\d]+)(?![A-Za-z\d])\S*) ?(?P<words>.*)"
)
GPU = "IMB-MPI1-GPU"  # in the name of the program, with any suffix
BEGIN = re.compile(r"# Benchmarking (?P<name>\S+)$")
DATATYPE = re.compile(r"# MPI_Datatype for reductions\s*:\s*MPI_(?P<type>\w+)")
RANKS = re.compile(r"# (?:\( )?#processes = (?P<ranks>\d+)(?: \))?$")
GROUPS = re.compile(r"# \( ?(?P<groups>\d+) groups? of (?P<ranks>\d+) processes")  # of -multi
LARGEST = re.compile(r"# Maximum message length in bytes: *(?P<size>\d+)")
LAST = "# All processes entering MPI_Finalize"
ROW_LIKE = re.compile(r"\d+\s")
FIGURE = re.compile(r"\d+(\.\d+)?$")
SIZE, COUNT = "#bytes", "#repetitions"
DEFECTS = "defects"  # of builds with -DCHECK: the largest difference beyond what IMB tolerates
# In the place of the repetitions of a size that a limit of IMB's kept from being measured.
LIMITS = ("time-out", "out-of-mem", "int-overflow")
MEMORY = re.compile(r"-mem_alloc_type (\S+)")
# In which memory buffers are, by -mem_alloc_type of IMB-MPI1-GPU; without it: "device".
MEMORIES = {"device": "D,D", "shared": "M,M", "host": "P,P", "cpu": HOST}


class Counterpart(NamedTuple):
    """The benchmark of ours that one of its tables is of."""

    benchmark: Benchmark
    columns: tuple[str, ...]  # the first that is there; with -multi they are of groups of ranks
    factor: float = 1.0  # from its column to our unit; its rates are in MB/s (1e6)
    window: int | None = None


KNOWN = {
    "PingPong": Counterpart(message("latency", "us"), ("t[usec]", "t_max[usec]"), window=1),
    "Uniband": Counterpart(message("bw", "GB/s", symmetric=False), ("Mbytes/sec",), 1e-3),
    "Biband": Counterpart(message("bibw", "GB/s"), ("Mbytes/sec",), 1e-3),
    **{
        name: Counterpart(collective(name.lower()), ("t_max[usec]",))
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
    groups: int = 1  # that ran at once
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    unmeasured: list[int] = field(default_factory=list)  # bytes, for a limit of IMB's

    @property
    def label(self) -> str:
        """Its name; with its ranks, where tables of its name are read."""
        return f"{self.name} of {count(self.ranks, 'rank')}" if self.name in KNOWN else self.name

    @property
    def counterpart(self) -> Counterpart | None:
        """None: nothing here measures the same."""
        return KNOWN.get(self.name)

    @property
    def column(self) -> str | None:
        """The column of its figures; None: it has none that is read."""
        columns = self.counterpart.columns if self.counterpart else ()
        return next((name for name in columns if name in self.columns), None)

    @property
    def unread(self) -> str:
        """The reason why it is not read; empty where it is."""
        if self.counterpart is None:
            return "nothing here measures the same"
        if self.ranks < 2:
            return "one rank sends no messages" if self.ranks else "it has no line '# #processes ='"
        if self.groups > 1:
            return f"{self.groups} groups of ranks ran at once"
        if self.counterpart.benchmark.family == "pt2pt" and self.ranks > 2:
            return "a pair of ranks is read alone"
        if self.column is None:
            return f"it has no column {' or '.join(self.counterpart.columns)}"
        return "" if self.sized else "it has no figures"

    @property
    def sized(self) -> list[list[str]]:
        """Its rows, without what has no figure: of nothing there is no rate, and no sum."""
        return [row for row in self.rows if int(row[0]) or self.name == "PingPong"]


def titles(printed: Printed) -> list[Title]:
    """Find the runs of all parts of the suite, also of those that are not read; of tables without a
    title by the one program that the file names."""

    runs = titles_where(printed.lines, TITLE.match, _program)
    if runs or not any(map(BEGIN.match, printed.lines)):
        return runs
    named = titles_where(printed.lines, COMMAND.search, _program)
    return named[:1] if len({title.program for title in named}) == 1 else []


def _program(named: re.Match[str]) -> str:
    """The program that a title, or a command, names."""
    return f"IMB-{PARTS.get(named['part'], named['part'])}"


def load(printed: Printed) -> Observations:
    """A launch for each table that is known here.

    Raises:
        UserError: it has no table that is, a row of one is not whole, or nobody could tell where
            its buffers were.
    """
    file, lines = printed.file, printed.lines
    title = first_match(TITLE.match, lines)
    program = titles(printed)[0].program
    if program != f"IMB-{PARTS[READ]}":
        raise UserError(
            f"{file} is of {program}, which is not read here; read are IMB-MPI1 and IMB-MPI1-GPU"
        )
    buffers = _buffers(file, lines)
    kind = first_value(DATATYPE.match, lines).lower()
    sections = _sections(file, lines)
    if not sections or (printed.crash and not any(section.rows for section in sections)):
        raise no_figures(printed)
    reasons = [(section, section.unread) for section in sections]
    read = [section for section, reason in reasons if not reason]
    passed = {section.label: reason for section, reason in reasons if reason}
    if not read:
        labelled = "; ".join(map(": ".join, passed.items()))
        raise UserError(f"{file} holds no table that is read here: {labelled}")
    name, times = Counter(section.label for section in read).most_common(1)[0]
    if times > 1:
        raise UserError(f"{file} holds several tables of {name}: give one of them")
    notes = _notes(sections, sorted(passed))
    tested = library(WHO, title["version"] if title else "", "Intel MPI Benchmarks", notes)
    tables = [_table(section, buffers, kind) for section in read]
    return observations(printed, tested, tables, "IMB", _missing(lines, sections[-1]))


def _missing(lines: list[str], last: Section) -> str:
    """Name the last line, if the output lacks it and does not reach its largest size either."""
    largest = first_number(LARGEST.match, lines)
    if LAST in lines or largest in [int(row[0]) for row in last.rows[-1:]]:
        return ""
    return f"the output ends without {LAST!r}"


def _buffers(file: Path, lines: list[str]) -> str:
    commands = matches(COMMAND.search, lines)
    by_imb = [match for match in commands if match.string.startswith("# ")]  # IMB's own line of it
    started = [*by_imb, *commands][:1]
    if not started or GPU not in started[0]["program"]:
        return HOST
    kind = first_value(MEMORY.search, [started[0]["words"]]) or "device"
    if kind not in MEMORIES:
        raise UserError(f"{file}: -mem_alloc_type {kind} is no memory that is known here")
    return MEMORIES[kind]


def _sections(file: Path, lines: list[str]) -> list[Section]:
    """All sections that were begun, also those without a table of sizes."""
    begins = [number for number, line in enumerate(lines) if BEGIN.match(line)]
    ends = [*begins[1:], len(lines)]
    return [_section(file, lines[:end], begin) for begin, end in zip(begins, ends, strict=False)]


def _section(file: Path, lines: list[str], begin: int) -> Section:
    """The section from the line that begins it to the last one."""
    own_lines = lines[begin:]
    groups = first_match(GROUPS.match, own_lines)
    section = Section(
        name=first_value(BEGIN.match, own_lines),
        ranks=first_number(RANKS.match, own_lines) or int(groups["ranks"] if groups else 0),
        groups=int(groups["groups"]) if groups else 1,
    )
    for number, line in enumerate(own_lines, begin + 1):
        cells = line.split()
        if not section.columns:
            section.columns = cells if cells[:1] == [SIZE] else []
        elif not ROW_LIKE.match(line):
            continue
        elif cells[1:] and cells[1].startswith(LIMITS):
            section.unmeasured.append(int(cells[0]))
        else:
            row = dict(zip(section.columns, cells, strict=False))
            figures = len(cells) == len(section.columns) and all(map(FIGURE.match, cells))
            if not (figures and row.get(COUNT, "0").isdecimal()):
                raise cut_off(file, number, line)
            section.rows.append(cells)
    return section


def _table(section: Section, buffers: str, kind: str) -> Table:
    """The table of a section that is read. `kind`: of the numbers of reductions."""
    counterpart, column = KNOWN[section.name], section.column
    rows = [dict(zip(section.columns, row, strict=True)) for row in section.sized]
    return Table(
        benchmark=counterpart.benchmark,
        buffers=buffers,
        ranks=section.ranks,
        window=counterpart.window,
        rows=[
            Row(
                int(row[SIZE]),
                float(row[str(column)]) * counterpart.factor,
                iterations=optional(int, row, COUNT),
                wrong=float(row.get(DEFECTS, 0)) > 0,
            )
            for row in rows
        ],
        mean=True,
        axes={"reuse": "fixed"}
        if counterpart.window == 1
        else type_axis(counterpart.benchmark, kind),
    )


def _notes(sections: list[Section], passed: list[str]) -> Iterator[str]:
    """Notes on the figures, and on gaps of the file; a sentence each."""
    yield (
        "Imported from Intel MPI Benchmarks: each figure is the mean of one launch's loop, of a"
        " collective operation that of the slowest rank."
    )
    yield (
        "The file does not say on which machine and with which library it ran, nor where the ranks"
        " were."
    )
    yield "How many messages were in flight is not known."
    if passed:
        yield f"Passed over, as nothing here measures the same: {', '.join(passed)}."
    stopped = [
        f"{section.label} at {', '.join(map(format_bytes, section.unmeasured))} bytes"
        for section in sections
        if section.unmeasured
    ]
    if stopped:
        yield f"Not measured, for IMB's own limits of time or memory: {'; '.join(stopped)}."


TOOL = Tool(
    "IMB-MPI1 or IMB-MPI1-GPU",
    titles,
    load,
    heading=BEGIN,
    title="#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part",
)
