# SPDX-License-Identifier: Apache-2.0
"""What nccl-tests (all_reduce_perf and its like) print, or write as JSON (-J): a file of one run.

What is printed stands in its src/util.cu, and which bytes a size is of in src/OPERATION.cu.
"""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearpeak.errors import UserError
from nearpeak.observations.imported import (
    Row,
    Table,
    beginning,
    check_one_run,
    collective,
    cut_off,
    library,
    observations,
)
from nearpeak.observations.observed import Observations
from nearpeak.observations.source import Source
from nearpeak.terms.identity import Who

WHO = Who("nccl-tests")
PROGRAM = re.compile(r"# Collective test starting: (?P<name>\S+)")
VERSION = re.compile(r"# nccl-tests version (?P<version>\S+) .*\bnccl-library=(?P<nccl>\d+)")
CONFIG = re.compile(r"# nThread \d+ nGpus \d+ minBytes ")
DEVICE = re.compile(r"#\s+Rank\s+\d+ (\s*Group\s+(?P<group>\d+) )?")
HEADING = re.compile(r"#\s+size\s+count\s+type\s+redop\s+root\s+(?P<figure>\S+)\s")
CPU_TIME = "cputime"  # in the heading where `-C 1` has taken the time of the calls alone
ADDED_UP = ("sum", "none")  # how numbers are combined, as ours are; none: they are not
ROW_LIKE = re.compile(r"\s+\d+\s+\d+\s+[a-z]\w+\s")
FIELDS = 9  # of a row up to the errors of what is not in place
FIGURE = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?$")
NOT_LOOKED_AT = "N/A"  # in the place of how many elements are wrong
TYPES = {"int32": "int", "int8": "char"}  # by their names there, ours that are others
JSON_MARK = b'"nccl_version"'


class Operation(NamedTuple):
    """Its name here, and whether its size is of all ranks' blocks, which ours are one of."""

    name: str
    of_all_blocks: bool = False


# By the program's name without its "_perf". sendrecv_perf is a ring of messages, of which nothing
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
    """Of one size, as in JSON."""

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
    """Of one process the first, as in JSON."""

    group: int = 0


class Config(msgspec.Struct):
    """What was run, as in JSON."""

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


class Run(NamedTuple):
    """What a file holds."""

    program: str
    version: str
    nccl: int  # its version, as one number; 0: not told
    ranks: int  # of one group
    measured: list[Measured]
    of_calls: bool  # the CPU's time is told, and not that of operations


def recognises(place: Path) -> bool:
    """Whether it is a file with the heading of these programs, or their JSON."""
    begin = beginning(place)
    lines = begin.decode("utf-8", errors="replace").splitlines()
    return any(map(CONFIG.match, lines)) or (begin.lstrip()[:1] == b"{" and JSON_MARK in begin)


def load(file: Path) -> Observations:
    """One launch of one operation, out of place.

    Raises:
        UserError: it has no figures, or the CPU's time alone, does not say of which operation or
            devices it is, is of one that is not known, or a row is not whole.
    """
    content = file.read_bytes()
    run = _decoded(file, content) if content.lstrip()[:1] == b"{" else _parsed(file, content)
    operation = KNOWN.get(run.program.removesuffix("_perf"))
    if operation is None:
        names = ", ".join(f"{name}_perf" for name in KNOWN)
        raise UserError(f"{file} is of {run.program}, which is not read here: give {names}")
    if run.of_calls:
        raise UserError(f"{file} has the CPU's time of calls (-C): run it without -C")
    if not run.measured or not run.ranks:
        what = "figures" if run.ranks else "line for each device"
        raise UserError(f"{file} holds no {what}: give the whole output of the program")
    others = sorted({each.combined for each in run.measured} - set(ADDED_UP))
    if others:
        raise UserError(f"{file} has {', '.join(others)}, where ours add numbers up: give -o sum")
    again = Counter((each.kind, each.size) for each in run.measured).most_common(1)
    if again[0][1] > 1:
        raise UserError(
            f"{file} has {again[0][0][1]} bytes {again[0][1]} times: give a run of one cycle (-N 1)"
            " and one root (-r), each in its own file"
        )
    parts = run.ranks if operation.of_all_blocks else 1
    tables = [
        Table(
            collective(operation.name),
            "D,D",
            run.ranks,
            None,
            [
                Row(each.size // parts, each.time_us, wrong=bool(each.wrong))
                for each in run.measured
                if each.kind == kind and each.size // parts > 0
            ],
            mean=True,
            axes={"type": TYPES.get(kind, kind)},
        )
        for kind in dict.fromkeys(each.kind for each in run.measured)
    ]
    told = library(WHO, run.version, _words(run), _scope(run))
    return observations(file, told, tables, "nccl-tests")


def _parsed(file: Path, content: bytes) -> Run:
    lines = content.decode("utf-8", errors="replace").splitlines()
    programs = [found["name"] for line in lines if (found := PROGRAM.match(line))]
    if not programs:
        raise UserError(
            f"{file} does not say of which operation it is, as those of older nccl-tests: add the "
            "line '# Collective test starting: all_reduce_perf', or its like, above the table"
        )
    check_one_run(file, len(programs))
    version = next((found for line in lines if (found := VERSION.match(line))), None)
    measured = []
    for number, line in enumerate(lines, 1):
        if ROW_LIKE.match(line):
            words = line.split()
            known = len(words) >= FIELDS and words[8] != NOT_LOOKED_AT
            if len(words) < FIELDS or not all(
                map(FIGURE.match, [words[5], *([words[8]] if known else [])])
            ):
                raise cut_off(file, number, line)
            wrong = float(words[8]) if known else None
            measured.append(Measured(words[2], words[3], int(words[0]), float(words[5]), wrong))
    groups = [found["group"] for line in lines if (found := DEVICE.match(line))]
    headings = [found["figure"] for line in lines if (found := HEADING.match(line))]
    return Run(
        program=programs[0],
        version=version["version"] if version else "",
        nccl=int(version["nccl"]) if version else 0,
        ranks=groups.count(groups[0]) if groups else 0,
        measured=measured,
        of_calls=CPU_TIME in headings,
    )


def _decoded(file: Path, content: bytes) -> Run:
    try:
        written = msgspec.json.decode(content, type=Written)
    except msgspec.MsgspecError as error:
        raise UserError(f"{file} is not the whole JSON of nccl-tests: {error}") from None
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
        ranks=groups.count(groups[0]) * config.nthreads * config.ngpus if groups else 0,
        measured=measured,
        of_calls=any(figures and figures.cpu_time is not None for _, figures in out_of_place),
    )


def _words(run: Run) -> str:
    """`NCCL 2.28.3 by nccl-tests`: as its number has it from 2.9 on."""
    major, minor, patch = run.nccl // 10000, run.nccl // 100 % 100, run.nccl % 100
    return f"NCCL {major}.{minor}.{patch} by nccl-tests" if major else "nccl-tests"


def _scope(run: Run) -> str:
    text = (
        "Imported from nccl-tests: each figure is the mean of operations that were enqueued one"
        " behind another, out of place (ours wait for each, but with --calls enqueued). The file"
        " does not say how the GPUs are joined."
    )
    if any(each.wrong is None for each in run.measured):
        text += " Payloads were not validated (-c 0)."
    return text


SOURCE = Source("the output of nccl-tests, or their JSON", recognises, load)
