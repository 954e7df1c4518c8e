# SPDX-License-Identifier: Apache-2.0
"""Output of nccl-tests (all_reduce_perf and its like), printed or as JSON (-J): a file of one run.

Its src/util.cu prints it; src/OPERATION.cu defines which bytes a size counts.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearpeak.errors import UserError
from nearpeak.observations.imported import (
    MOST_RANKS,
    Row,
    Table,
    cut_off,
    decode_json,
    library,
    no_figures,
    observations,
)
from nearpeak.observations.launched import started
from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import Printed, first_match, first_value, matches
from nearpeak.observations.source import Title, Tool
from nearpeak.observations.sources.collectives import collective
from nearpeak.observations.sources.reductions import REDUCTIONS, type_axis
from nearpeak.terms.identity import Who
from nearpeak.terms.sizes import quoted

WHO = Who("nccl-tests")
STARTING = re.compile(r"(?:# ?)?Collective test starting: (?P<name>\S+)")
VERSION = re.compile(r"# nccl-tests version (?P<version>\S+) .*\bnccl-library=(?P<nccl>\d+)")
CONFIG = re.compile(r"(?:# ?)?nThread:? \d+ nGpus:? \d+ minBytes:? ")  # AMD's have colons
DEVICE = re.compile(r"(?:#\s*)?Rank\s+(?P<rank>\d+) (\s*Group\s+(?P<group>\d+) )?")
BEGINS = (STARTING, CONFIG, re.compile(r"# Using devices"))  # each is there once in a run, or not
TIME, CPU_TIME = "time", "cputime"  # the latter where `-C 1` has taken only the time of the calls
SIZE, COUNT, KIND, ADDED, ROOT, WRONG = "size", "count", "type", "redop", "root", "#wrong"
ALGORITHM, BUS = "algbw", "busbw"
HEADING = re.compile(r"(?:#\s*)?size\s+count\s+type\s")
# The heading of the tests of NCCL 1, whose times are in ms.
NCCL_1 = ["bytes", "N", KIND]
TIMESTAMP = "timestamp"  # of -S: the last column, and of two words
# In old versions the largest difference, of which each type has its own limit: which row was wrong
# they do not say, but in the end how many elements were.
ERROR = "error"
END = re.compile(r"(?:#\s*)?Out of bounds values\s*:\s*(?P<wrong>\d+)")
NOT_COMBINED = "none"  # of operations that only move bytes
ADDED_UP = ("sum", NOT_COMBINED)  # how numbers are combined, as ours are
ROW_LIKE = re.compile(r"\d+\s+\d+\s+[a-z]\w+(\s|$)")
FIGURE = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?$")
NOT_LOOKED_AT = "N/A"  # in the place of how many elements are wrong
TYPES = {"int32": "int", "int8": "char"}  # by their names there, ours that are others
JSON_MARK = '"nccl_version"'


class Operation(NamedTuple):
    """Its name here, and whether its size is of all ranks' blocks, which ours are one of."""

    name: str
    of_all_blocks: bool = False


# By the program's name up to its "_perf". sendrecv_perf is a ring of messages, of which nothing
# here is like.
KNOWN = {
    "all_reduce": Operation("allreduce"),
    "all_gather": Operation("allgather", of_all_blocks=True),
    "alltoall": Operation("alltoall", of_all_blocks=True),
    "broadcast": Operation("bcast"),
    "gather": Operation("gather", of_all_blocks=True),
    "reduce": Operation("reduce"),
    "reduce_scatter": Operation("reduce_scatter_block", of_all_blocks=True),
    "scatter": Operation("scatter", of_all_blocks=True),
}


class Figures(msgspec.Struct):
    """The figures of one size, as in JSON."""

    time: float | None = None  # us
    cpu_time: float | None = None  # in its place with `-C 1`
    nwrong: float | None = None  # null: not looked at


class Result(msgspec.Struct):
    """One size, as in JSON."""

    size: int
    type: str
    redop: str
    out_of_place: Figures | None = None


class Device(msgspec.Struct):
    """The first device of a process, as in JSON."""

    group: int = 0


class Config(msgspec.Struct):
    """The configuration of a run, as in JSON."""

    nthreads: int
    ngpus: int  # of a thread
    devices: list[Device]


class Written(msgspec.Struct):
    """A whole run, as in JSON."""

    args: list[str]
    config: Config
    results: list[Result]
    nccl_version: int = 0


class Measured(NamedTuple):
    """A figure of what is not in place."""

    kind: str  # of the numbers
    combined: str
    size: int  # bytes
    time_us: float
    wrong: float | None  # elements; None: not looked at
    root: str = ""  # "": not printed
    elements: int = 0  # of a block; 0: not printed
    bandwidths: tuple[float, float] = (0.0, 0.0)  # of the algorithm and the bus; 0: not printed
    in_place: bool = False  # what is in place was validated


class Run(NamedTuple):
    """The content of a file."""

    program: str
    version: str
    nccl: int  # its version, as one number; 0: not printed
    ranks: int  # of one group
    measured: list[Measured]
    of_calls: bool  # the CPU's time is printed, and not that of operations
    missing: str = ""  # what the end of the output lacks


PROGRAM = re.compile(rf"(?P<operation>{'|'.join(KNOWN)})_perf")
# Of a script that starts one of them, as that of Google's.
CHOSEN = re.compile(rf"\S*nccl\S*\s(?:.*\s)?-t (?P<operation>{'|'.join(KNOWN)})(?!\w)")
TYPE_BYTES = {"int8": 1, "uint8": 1, "half": 2, "bfloat16": 2, "float": 4, "int32": 4, "double": 8}
ROUNDED = 0.005  # half of the last place of a bandwidth
NAMES = ", ".join(f"{name}_perf" for name in KNOWN)


def titles(printed: Printed) -> list[Title]:
    """Find the runs, each by the first of its headings; or the JSON of one."""
    if JSON_MARK in printed.document:
        return [Title(1, WHO.library)]
    runs: list[Title] = []
    if not any(pattern.match(line) for line in printed.lines for pattern in BEGINS):
        return _bare_titles(printed)
    seen: set[re.Pattern[str]] = set(BEGINS)  # of this run
    for number, line in enumerate(printed.lines, 1):
        begin = next((pattern for pattern in BEGINS if pattern.match(line)), None)
        if begin is None:
            continue
        if begin in seen:
            seen = set()
            runs.append(Title(number, WHO.library))
        seen.add(begin)
        if name := STARTING.match(line):
            runs[-1] = runs[-1]._replace(program=name["name"])
    return runs


def _bare_titles(printed: Printed) -> list[Title]:
    """The tables with rows of figures that stand without the lines before them."""
    lines = printed.lines
    headings = [number for number, line in enumerate(lines) if _is_heading(line)]
    ends = [*headings[1:], len(lines)]
    return [
        Title(begin + 1, WHO.library)
        for begin, end in zip(headings, ends, strict=False)
        if any(map(ROW_LIKE.match, lines[begin:end]))
    ]


def load(printed: Printed) -> Observations:
    """One launch of one operation, out of place.

    Raises:
        UserError: it has no figures, or the CPU's time alone, does not say of which operation or
            devices it is, is of one that is not known or of one rank, or a row is not whole.
    """
    file = printed.file
    run = _decoded(printed) if JSON_MARK in printed.document else _parsed(printed)
    named = PROGRAM.search(run.program)
    if named is None:
        raise UserError(f"{file} is of {run.program}, which is not read here: give {NAMES}")
    operation = KNOWN[named["operation"]]
    if run.of_calls:
        raise UserError(f"{file} has the CPU's time of calls (-C): run it without -C")
    if not run.measured:
        raise no_figures(printed)
    if not run.ranks:
        raise UserError(
            f"{file} has no line '#  Rank  0 ...' for each device, and so does not say how many"
            " ranks there were: give the whole output of the program"
        )
    if run.ranks == 1:
        raise UserError(
            f"{file} is of one rank, which communicates with no other: give a run of two GPUs or"
            " more (-g 2, or several processes)"
        )
    others = sorted({figure.combined for figure in run.measured} - set(ADDED_UP))
    if others:
        raise UserError(f"{file} has {', '.join(others)}, where ours add numbers up: give -o sum")
    added = operation.name in REDUCTIONS
    if any((figure.combined != NOT_COMBINED) != added for figure in run.measured):
        raise UserError(
            f"{file} is said to be of {run.program}, but its numbers are"
            f" {'not ' if added else ''}added up: name the right program above the table"
        )
    tables = _tables(file, run, operation)
    tested = library(WHO, run.version, _version_text(run), _notes(run))
    return observations(printed, tested, tables, "nccl-tests", run.missing)


def _tables(file: Path, run: Run, operation: Operation) -> list[Table]:
    """One for each type of numbers that are added up. Sizes are of one block; those of less than an
    element for each rank, which nccl-tests rounds down to nothing, are left out."""
    parts = run.ranks if operation.of_all_blocks else 1
    benchmark = collective(operation.name)
    tables: dict[str, list[Measured]] = defaultdict(list)
    for figure in run.measured:
        if figure.size >= parts:
            tables[figure.kind].append(figure)
    if not tables:
        raise UserError(f"{file} has figures of 0 bytes alone: give larger sizes (-b, -e)")
    if len(tables) > 1 and benchmark.name not in REDUCTIONS:
        raise UserError(
            f"{file} has figures of {', '.join(tables)}, and {run.program} only moves bytes: give a"
            " run of one type (-d)"
        )
    for measured in tables.values():
        _check_once(file, measured)
    return [
        Table(
            benchmark=benchmark,
            buffers="D,D",
            ranks=run.ranks,
            window=None,
            rows=_rows(measured, parts),
            mean=True,
            axes=type_axis(benchmark, TYPES.get(kind, kind)),
        )
        for kind, measured in tables.items()
    ]


def _rows(measured: list[Measured], parts: int) -> list[Row]:
    return [
        Row(figure.size // parts, figure.time_us, wrong=bool(figure.wrong)) for figure in measured
    ]


def _check_once(file: Path, measured: list[Measured]) -> None:
    """UserError where a size is there several times: no launch of its own measured it."""
    size, times = Counter(figure.size for figure in measured).most_common(1)[0]
    if times > 1:
        roots = sorted({figure.root for figure in measured if figure.size == size})
        several = f"roots {', '.join(roots)}" if len(roots) > 1 else "cycles"
        remedy = "one root (-r)" if len(roots) > 1 else "one cycle (-N 1)"
        raise UserError(
            f"{file} has {size} bytes {times} times, of several {several}: give a run of {remedy}"
        )


def _parsed(printed: Printed) -> Run:
    file, lines = printed.file, printed.lines
    columns: list[str] = []
    measured = []
    for number, line in enumerate(lines, 1):
        if heading := _columns(file, number, line):
            columns = heading
        elif ROW_LIKE.match(line):
            if not columns:
                raise UserError(
                    f"{file}, line {number}: no heading above {quoted(line)} names its columns:"
                    " give the whole output of the program"
                )
            measured.append(_measured(file, number, line, columns))
    ends = [int(match["wrong"]) for match in matches(END.match, lines)]
    if any(ends) and WRONG not in columns:
        measured = [figure._replace(wrong=float(sum(ends))) for figure in measured]
    version = first_match(VERSION.match, lines)
    program, ranks = _program(lines) or _program_of(measured), _listed_ranks(lines)
    if not program:
        raise _no_program(file)
    return Run(
        program=program,
        version=version["version"] if version else "",
        nccl=int(version["nccl"]) if version else 0,
        ranks=ranks or started(lines).ranks or _ranks_of(measured),
        measured=measured,
        of_calls=CPU_TIME in columns,
        missing="" if ends else "the output ends without '# Out of bounds values'",
    )


def _listed_ranks(lines: list[str]) -> int:
    """The ranks of the first group, also where not all are listed; 0: none is."""
    listed = matches(DEVICE.match, lines)
    of_group = [int(match["rank"]) for match in listed if match["group"] == listed[0]["group"]]
    several = len({match["group"] for match in listed}) > 1
    return len(of_group) if several else max([len(of_group) - 1, *of_group], default=-1) + 1


def _program(lines: list[str]) -> str:
    """The name that it prints; else the one that a command names; empty: none is."""
    if name := first_value(STARTING.match, lines):
        return name
    text = "\n".join(lines)
    named = {match[0] for match in PROGRAM.finditer(text)} or {
        f"{match['operation']}_perf" for match in CHOSEN.finditer(text)
    }
    return named.pop() if len(named) == 1 else ""


def _no_program(file: Path) -> UserError:
    return UserError(
        f"{file} does not say of which operation it is, as those of older nccl-tests: add the line"
        " '# Collective test starting: all_reduce_perf', or its like, above the table"
    )


def _program_of(measured: Sequence[Measured]) -> str:
    """The program by the figures, where they are of no other: only the bus bandwidth of allreduce
    is above that of the algorithm, and alltoall does nothing in place. Empty: of one of several."""
    last = measured[-1] if measured else None
    if last is None:
        return ""
    algorithm, bus = last.bandwidths
    if last.combined == "sum":
        return "all_reduce_perf" if bus > 1.2 * algorithm > 0 else ""
    gathers = _blocks_of(last) > 1 and last.root == "-1" and last.in_place
    return "all_gather_perf" if gathers else ""


def _blocks_of(figure: Measured) -> int:
    """The blocks in its size; 0: not known."""
    block_bytes = figure.elements * TYPE_BYTES.get(figure.kind, 0)
    return figure.size // block_bytes if block_bytes and not figure.size % block_bytes else 0


def _ranks_of(measured: Sequence[Measured]) -> int:
    """The ranks by the largest size: the blocks in it, or the ratio of the bandwidths of allreduce,
    2 (n - 1) / n, if it is that of one number only; 0: they do not show them."""
    last = measured[-1] if measured else None
    if last is None:
        return 0
    if (blocks := _blocks_of(last)) > 1:
        return blocks
    algorithm, bus = last.bandwidths
    if last.combined != "sum" or bus <= algorithm:
        return 0
    fewest = _of_ratio(bus - ROUNDED, algorithm + ROUNDED)
    most = _of_ratio(bus + ROUNDED, algorithm - ROUNDED)
    numbers = range(math.ceil(fewest), math.floor(most) + 1) if most < MOST_RANKS else ()
    return numbers[0] if len(numbers) == 1 else 0


def _of_ratio(bus: float, algorithm: float) -> float:
    """The ranks whose allreduce has these bandwidths."""
    rest = 2 - bus / algorithm if algorithm > 0 else 0.0
    return 2 / rest if rest > 0 else math.inf


def _columns(file: Path, number: int, line: str) -> list[str]:
    """The names of the columns; empty: it is no heading."""
    names = line.lstrip("# ").split()
    if names[:3] == NCCL_1:
        raise UserError(
            f"{file}, line {number}: {quoted(line)} heads a table of NCCL 1's own tests, in another"
            " unit: give the output of nccl-tests"
        )
    return names if _is_heading(line) else []


def _is_heading(line: str) -> bool:
    names = line.lstrip("# ").split()
    return names[:1] == [SIZE] and KIND in names and bool({TIME, CPU_TIME} & set(names))


def _measured(file: Path, number: int, line: str, columns: list[str]) -> Measured:
    """The figure that is not in place: the first of two columns of one name."""
    cells = line.split()
    if len(cells) == len(columns) - 1 and ADDED in columns:
        index = columns.index(ADDED)
        if FIGURE.match(cells[index]):  # old ones leave it blank where they only move bytes
            cells.insert(index, NOT_COMBINED)
    if len(cells) < len(columns) or (len(cells) > len(columns) and columns[-1] != TIMESTAMP):
        raise cut_off(file, number, line)
    row = dict(reversed(list(zip(columns, cells, strict=False))))
    time = row.get(TIME) or row[CPU_TIME]
    checked = row.get(WRONG, row.get(ERROR, NOT_LOOKED_AT))
    is_checked = FIGURE.match(checked)
    if not FIGURE.match(time) or not (is_checked or checked == NOT_LOOKED_AT):
        raise cut_off(file, number, line)
    return Measured(
        kind=row[KIND],
        combined=row.get(ADDED, NOT_COMBINED),
        size=int(row[SIZE]),
        time_us=float(time),
        wrong=float(row.get(WRONG, 0)) if is_checked else None,
        root=row.get(ROOT, ""),
        elements=int(row[COUNT]) if row.get(COUNT, "").isdecimal() else 0,
        bandwidths=(_printed(row, ALGORITHM), _printed(row, BUS)),
        in_place=FIGURE.match(dict(zip(columns, cells, strict=False)).get(WRONG, "")) is not None,
    )


def _printed(row: Mapping[str, str], column: str) -> float:
    value = row.get(column, "")
    return float(value) if FIGURE.match(value) else 0.0


def _decoded(printed: Printed) -> Run:
    written = decode_json(printed, Written, "nccl-tests")
    out_of_place = [(result, result.out_of_place) for result in written.results]
    measured = [
        Measured(result.type, result.redop, result.size, figures.time, figures.nwrong)
        for result, figures in out_of_place
        if figures and figures.time is not None
    ]
    config = written.config
    groups = [device.group for device in config.devices]
    return Run(
        program=Path(written.args[0]).name if written.args else "an unknown program",
        version="",
        nccl=written.nccl_version,
        ranks=sum(group == groups[0] for group in groups) * config.nthreads * config.ngpus,
        measured=measured,
        of_calls=any(figures and figures.cpu_time is not None for _, figures in out_of_place),
    )


def _version_text(run: Run) -> str:
    """`NCCL 2.28.3 by nccl-tests`: as its number has it from 2.9 on."""
    major, minor, patch = run.nccl // 10000, run.nccl // 100 % 100, run.nccl % 100
    return f"NCCL {major}.{minor}.{patch} by nccl-tests" if major else "nccl-tests"


def _notes(run: Run) -> Iterator[str]:
    """Notes on the figures, and on gaps of the file; a sentence each."""
    yield (
        "Imported from nccl-tests: each figure is the mean of operations that were enqueued one"
        " behind another, out of place (ours wait for each, but with --calls enqueued)."
    )
    yield "The file does not say how the GPUs are joined."
    if any(figure.wrong is None for figure in run.measured):
        yield "Payloads were not validated (-c 0)."


TOOL = Tool(
    "nccl-tests, or their JSON",
    titles,
    load,
    heading=HEADING,
    title="# Collective test starting: all_reduce_perf",
)
