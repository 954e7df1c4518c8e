# SPDX-License-Identifier: Apache-2.0
"""Output of nvbandwidth 0.2 to 0.10, as text or as JSON (-j): copies without MPI.

Its output.cpp, json_output.cpp and inline_common.h (of 0.8) print it; testcases_ce.cpp and
testcases_sm.cpp define what a testcase copies from where. Rates are in GB/s (1e9). The direction of
a matrix between GPUs is taken from the copies: the headings of 0.6 to 0.8 have the arrows of read
and write tests the other way round.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from nearpeak.errors import UserError
from nearpeak.observations.imported import (
    HOST_END,
    Row,
    Table,
    cut_off,
    decode_json,
    library,
    message,
    no_figures,
    observations,
)
from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import Printed, first_number, first_value, matches
from nearpeak.observations.source import Title, Tool, titles_where
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Who
from nearpeak.terms.sizes import quoted

WHO = Who("nvbandwidth")
HEADING = re.compile(r"memcpy (?:CE|SM) .*bandwidth \(GB/s\)")  # of a matrix
TITLE = re.compile(r"nvbandwidth Version: (?P<version>\S+)")
JSON_MARK = re.compile(r'"nvbandwidth"\s*:\s*\{')
# Of each version that is read, what it copies at once where -b does not say otherwise. 0.3 calls
# itself 0.2; 0.1 prints 0.00 where there is no access.
DEFAULT_MIB = {
    **dict.fromkeys(("v0.2", "v0.4", "v0.5", "v0.6"), 64),
    **dict.fromkeys(("v0.7", "v0.8", "v0.9", "v0.10.0"), 512),
}
BEYOND_CACHES_MIB = 256  # the cache of no GPU has half of that
BUFFER_SIZE = re.compile(r"bufferSize: (?P<mib>\d+)\s*$")
SMALLER = "You have chosen a buffer size that is smaller than the default"
RUNNING = re.compile(r"Running (?P<name>\w+)\.\s*$")
ENDED = re.compile(r"(Error|ERROR)\b")  # of a testcase, in place of its matrix
DEVICE = re.compile(
    r"(Device )?(?P<number>\d{1,9}): .*\((?P<domain>[0-9a-f]{8}):(?P<bus>[0-9a-f]{2}:[0-9a-f]{2})\)"
)
HEADER = re.compile(r"\s*0(\s+\d+)*\s*$")  # over the columns: the numbers of the GPUs
SUM = re.compile(r"(SUM|&&&& PERF) (?P<key>\w+) \S+")
NONE = "N/A"  # no direct access, or the GPU itself
PRINTED = re.compile(r"\d+\.\d\d$|N/A$")  # in text: with fewer decimals it was cut off
WRITTEN = re.compile(r"\d+(\.\d+)?(e\+\d+)?$|N/A$")  # in JSON


class Kind(NamedTuple):
    """The benchmark of ours that a matrix is of."""

    benchmark: Benchmark
    buffers: str
    how: str
    turned: bool = False  # between GPUs: data goes from the column to the row


class Matrix(NamedTuple):
    """The matrix that one testcase printed."""

    key: str
    rows: list[list[str]]


class Output(NamedTuple):
    """The content of a file."""

    version: str
    mib: int | None  # the size of a copy, where it was written into the file
    smaller: bool  # than the default
    matrices: list[Matrix]
    passed: list[str]  # testcases that did not come to a matrix
    devices: dict[int, str]  # PCI addresses by number; empty: not printed


class Testcase(msgspec.Struct):
    """A testcase, as in JSON: of several matrices, the rows of one behind the other."""

    name: str
    status: str = ""
    bandwidth_matrix: list[list[str | float]] = []


class Root(msgspec.Struct):
    """The run, as in JSON."""

    version: str
    testcases: list[Testcase] = []
    warning: str = ""
    devices: list[str] = msgspec.field(default=[], name="GPU Device list")  # from 0.8 on
    buffer_size: int | None = msgspec.field(default=None, name="bufferSize")  # never by itself


class Written(msgspec.Struct):
    """A whole run, as in JSON."""

    nvbandwidth: Root


RATE = message("bw", "GB/s", symmetric=False)
BOTH_WAYS = message("bibw", "GB/s")
# Host memory is pinned. A read copies from the GPU of the column into that of the row; a write the
# other way. Other testcases load a GPU or the host with several copies of which one is printed, or
# chase a pointer.
KNOWN = {
    "host_to_device_memcpy_ce": Kind(RATE, "P,D", "ce"),
    "device_to_host_memcpy_ce": Kind(RATE, "D,P", "ce"),
    "device_to_device_memcpy_read_ce": Kind(RATE, "D,D", "read-ce", turned=True),
    "device_to_device_memcpy_write_ce": Kind(RATE, "D,D", "write-ce"),
    "device_to_device_bidirectional_memcpy_read_ce_total": Kind(BOTH_WAYS, "D,D", "read-ce"),
    "device_to_device_bidirectional_memcpy_write_ce_total": Kind(BOTH_WAYS, "D,D", "write-ce"),
    "host_to_device_memcpy_sm": Kind(RATE, "P,D", "sm"),
    "device_to_host_memcpy_sm": Kind(RATE, "D,P", "sm"),
    "device_to_device_memcpy_read_sm": Kind(RATE, "D,D", "read-sm", turned=True),
    "device_to_device_memcpy_write_sm": Kind(RATE, "D,D", "write-sm"),
    "device_to_device_bidirectional_memcpy_read_sm_total": Kind(BOTH_WAYS, "D,D", "read-sm"),
    "device_to_device_bidirectional_memcpy_write_sm_total": Kind(BOTH_WAYS, "D,D", "write-sm"),
}
PARTS = re.compile(r"_(read|write)[12]$")  # of a matrix whose total is printed too


def titles(printed: Printed) -> list[Title]:
    """Find the runs, or the JSON of one."""
    if JSON_MARK.search(printed.document):
        return [Title(1, WHO.library)]
    return titles_where(printed.lines, TITLE.match, lambda _: WHO.library)


def load(printed: Printed) -> Observations:
    """A launch for each cell of the matrices that are known here.

    Raises:
        UserError: its version or the size of its copies is not known, it has no matrix that is
            read, or one is not whole.
    """
    file = printed.file
    output = _decoded(printed) if JSON_MARK.search(printed.document) else _parsed(printed)
    if output.version not in DEFAULT_MIB:
        versions = ", ".join(DEFAULT_MIB)
        raise UserError(f"{file} is of nvbandwidth {quoted(output.version)}; read are {versions}")
    if output.smaller and output.mib is None:
        raise UserError(
            f"{file} is of smaller copies than usual, and does not say of which size: run it"
            " without -b, or add the line 'bufferSize: N' (in JSON the member) with its N in MiB"
        )
    mib = output.mib or DEFAULT_MIB[output.version]
    tables = [table for matrix in output.matrices for table in _tables(output, matrix, mib)]
    if not tables:
        raise _nothing_read(printed, output)
    tested = library(WHO, output.version, "nvbandwidth", _notes(output, mib), mpi=False)
    return observations(printed, tested, tables, "nvbandwidth")


def _nothing_read(printed: Printed, output: Output) -> UserError:
    testcases = list(dict.fromkeys([*output.passed, *(matrix.key for matrix in output.matrices)]))
    if not testcases:
        return no_figures(printed)
    return UserError(
        f"{printed.file} holds no testcase with figures that are read here, but"
        f" {', '.join(testcases)}: give one of {', '.join(KNOWN)}"
    )


def _parsed(printed: Printed) -> Output:
    file, lines = printed.file, printed.lines
    matrices: list[Matrix] = []
    passed: list[str] = []
    running = ""  # without a matrix yet
    headed = False  # by the line before it, where the testcase is not named
    columns: int | None = None
    rows: list[list[str]] = []
    for number, line in enumerate(lines, 1):
        if match := RUNNING.match(line):
            if running:
                raise _cut_short(printed, running)
            running, columns = match["name"], None
        elif running and columns is None and ENDED.match(line):
            passed.append(running)
            running = ""
        elif (running or headed) and HEADER.match(line):
            columns, rows = len(line.split()), []
        elif columns is not None and (match := SUM.match(line)):
            matrices.append(Matrix(match["key"], rows))
            columns = None
            if not PARTS.search(match["key"]):
                running = ""
        elif columns is not None and line.split()[:1] == [str(len(rows))]:
            cells = line.split()[1:]
            if len(cells) != columns or not all(map(PRINTED.match, cells)):
                raise cut_off(file, number, line)
            rows.append(cells)
        headed = HEADING.match(line) is not None
    if running or columns is not None:
        raise _cut_short(printed, running or "the last matrix")
    return Output(
        version=first_value(TITLE.match, lines),
        mib=first_number(BUFFER_SIZE.match, lines),
        smaller=any(SMALLER in line for line in lines),
        matrices=matrices,
        passed=passed,
        devices=_devices(lines),
    )


def _devices(lines: Iterable[str]) -> dict[int, str]:
    return {
        int(match["number"]): f"{int(match['domain'], 16):04x}:{match['bus']}.0"
        for match in matches(DEVICE.match, lines)
    }


def _cut_short(printed: Printed, part: str) -> UserError:
    text = f"{printed.file}: {part} did not come to its end"
    if printed.crash:
        return UserError(f"{text}, as {printed.crash}: run it again")
    return UserError(f"{text}: give the whole output of the program")


def _decoded(printed: Printed) -> Output:
    file = printed.file
    root = decode_json(printed, Written, "nvbandwidth").nvbandwidth
    matrices, passed = [], []
    for testcase in root.testcases:
        rows = [list(map(str, row)) for row in testcase.bandwidth_matrix]
        columns = len(rows[0]) if rows else 0
        if not all(len(row) == columns and all(map(WRITTEN.match, row)) for row in rows):
            raise UserError(f"{file}: the matrix of {testcase.name} is none: give the whole output")
        if rows and f"{testcase.name}_total" in KNOWN:  # both directions, and then their sum
            matrices.append(Matrix(f"{testcase.name}_total", rows[-columns:]))
        elif rows:
            matrices.append(Matrix(testcase.name, rows))
        elif testcase.status not in ("", "Waived"):
            passed.append(testcase.name)
    return Output(
        version=root.version,
        mib=root.buffer_size,
        smaller=SMALLER in root.warning,
        matrices=matrices,
        passed=passed,
        devices=_devices(root.devices),
    )


def _tables(output: Output, matrix: Matrix, mib: int) -> Iterator[Table]:
    """A table for each figure of a matrix."""
    kind = KNOWN.get(matrix.key)
    if kind is None:
        return
    with_host = "P" in kind.buffers
    measured = sum(value != NONE for values in matrix.rows for value in values)
    for row, values in enumerate(matrix.rows):
        for column, value in enumerate(values):
            if value == NONE or not float(value):
                continue
            ends = [None if with_host else row, column][:: -1 if kind.turned else 1]
            yield Table(
                benchmark=kind.benchmark,
                buffers=kind.buffers,
                ranks=2,
                window=None,
                rows=[Row(mib << 20, float(value))],
                mean=False,
                how=kind.how,
                pair=tuple(map(_name if with_host else str, ends)),
                gpus=tuple(
                    None if end is None else output.devices.get(end, str(end)) for end in ends
                ),
                one_of_several=measured > 1,
                axes={} if mib >= BEYOND_CACHES_MIB else {"reuse": "single"},
            )


def _name(gpu: int | None) -> str:
    return HOST_END if gpu is None else f"gpu{gpu}"


def _notes(output: Output, mib: int) -> Iterator[str]:
    """Notes on the figures, and on gaps of the file; a sentence each."""
    yield (
        "Imported from nvbandwidth: each figure is the median of a few copies by the copy engine"
        " (ce) or by a kernel (sm), enqueued one behind another, always from one buffer to one"
        " other, without MPI; -m makes it a mean, which the output does not tell."
    )
    if output.mib is None:
        yield f"It does not say how much it copied at once: {mib} MiB are taken, its default."
    passed = [
        *output.passed,
        *(matrix.key for matrix in output.matrices if matrix.key not in KNOWN),
    ]
    if others := dict.fromkeys(name for name in passed if not PARTS.search(name)):
        yield f"Passed over, as nothing here measures the same: {', '.join(others)}."


TOOL = Tool(
    "nvbandwidth, or its JSON", titles, load, heading=HEADING, title="nvbandwidth Version: v0.8"
)
