# SPDX-License-Identifier: Apache-2.0
"""Output of ucx_perftest. The server prints the test and its size, the client the figures: a file
must have both, or batch files (-b) must name its tests by what they are.

UCX's src/tools/perf/perftest_run.c (of 1.22) prints it; the tests are in perftest.c. Old versions
name no window, and neither stages nor tests before their rows; the last of these rows is that of
the whole test.
"""

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.observations.imported import (
    Row,
    Table,
    cut_off,
    library,
    message,
    observations,
)
from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import Printed, matches
from nearpeak.observations.source import Title, Tool, titles_where
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Who
from nearpeak.terms.sizes import quoted

NAME = "ucx_perftest"
WHO = Who(NAME)
API = re.compile(r"\| API: ")
FIELD = re.compile(r"\| (?P<name>[A-Z][\w ]+):(?P<value>\s.*)\|$")
HEADING = re.compile(
    r"\|\s+((?P<kind>Stage|Test)\s+\|\s+)?# iterations \|"
    r" *((?P<rank>[\d.]+)%ile|typical) +\|"
)
CSV = re.compile(r"(\S+,)?iterations,[\d.]+_percentile_lat,")
BATCH = re.compile(r"\+(?P<name>[^-+|\s][^+|\s]*)\+-")  # in the rule above its figures
NUMBER = re.compile(r"\d[\d,]*(\.\d+)?")
LOGGED = "["  # how lines of UCX's log, and of single threads, begin
FINAL = "Final:"  # instead of a test's name, where its stages are printed too
FIGURES = 8  # of a row
MEDIAN_RANK = "50.0"
GBS = 1.048576e-3  # of its MB/s, which are of 2^20 bytes
MEMORIES = {
    "host": "H",
    "ze-host": "P",
    **dict.fromkeys(("cuda", "rocm", "ze-device"), "D"),
    **dict.fromkeys(("cuda-managed", "rocm-managed", "ze-managed"), "M"),
}
# The command of either end, where the file has it.
COMMAND = re.compile(rf"\b{NAME}\b(?P<words>.*? -t .*)")
WHOLE = re.compile(r"\d{1,18}")
OPTION = re.compile(r"(?<!\S)-(?P<name>[tsmb])\s*(?P<value>[^\s;&|]+)")
HOW_TO = (
    "run it with -l, or give the outputs of server and client in one file, or the client's below"
    " its command with -t, -s and -m, or name the tests of a batch file by what they are, as"
    " tag_lat_8"
)
TIME, RATE = message("latency", "us"), message("bw", "GB/s", symmetric=False)


class Kind(NamedTuple):
    """The benchmark of ours that one of its tests is of."""

    of_times: bool
    how: str

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark of times, or of rates."""
        return TIME if self.of_times else RATE

    @property
    def window(self) -> int | None:
        """The messages in flight, where they follow from the test."""
        return 1 if self.of_times else None


# By what -t takes; the protocol layer's (UCP) by the words of its heading too.
BY_NAME = {
    "tag_lat": Kind(True, "tag"),
    "tag_bw": Kind(False, "tag"),
    "stream_lat": Kind(True, "stream"),
    "stream_bw": Kind(False, "stream"),
    "ucp_am_lat": Kind(True, "am"),
    "ucp_am_bw": Kind(False, "am"),
    "ucp_put_lat": Kind(True, "put"),
    "ucp_put_bw": Kind(False, "put"),
}
PROTOCOLS = "protocol layer"
BY_WORDS = {
    (PROTOCOLS, "tag match latency"): BY_NAME["tag_lat"],
    (PROTOCOLS, "tag match bandwidth"): BY_NAME["tag_bw"],
    (PROTOCOLS, "stream latency"): BY_NAME["stream_lat"],
    (PROTOCOLS, "stream bandwidth"): BY_NAME["stream_bw"],
    (PROTOCOLS, "am latency"): BY_NAME["ucp_am_lat"],
    (PROTOCOLS, "am bandwidth / message rate"): BY_NAME["ucp_am_bw"],
    (PROTOCOLS, "put latency"): BY_NAME["ucp_put_lat"],
    (PROTOCOLS, "put bandwidth"): BY_NAME["ucp_put_bw"],
}
NAMED = re.compile(rf"(?:^|[/_])(?P<test>{'|'.join(BY_NAME)})(?=[/_]|$)")
SIZED = re.compile(r"(?:^|[/_])(?P<size>\d+)(?=[/_]|$)")


class Test(NamedTuple):
    """A test, with its size and buffers."""

    kind: Kind
    size_bytes: int
    buffers: str
    window: int | None


class Figures(NamedTuple):
    """The figures that the client printed for a test."""

    name: str  # of the test, in a batch file
    values: list[float]
    rank: str  # of the percentile among them


def titles(printed: Printed) -> list[Title]:
    """The runs of its servers, or of its clients where the file has no server's output."""
    server = titles_where(printed.lines, API.match, lambda _: NAME)
    return server or titles_where(
        printed.lines, lambda line: HEADING.match(line) or CSV.match(line), lambda _: NAME
    )


def load(printed: Printed) -> Observations:
    """A launch for each test, with all its sizes.

    Raises:
        UserError: it does not say what was measured, or has no figures of it; a test is not known,
            or a row is not whole.
    """
    file, lines = printed.file, printed.lines
    if any(map(CSV.match, lines)):
        raise UserError(f"{file} is a table of commas: run it without -v")
    tests, figures = list(_tests(file, _with_memory(lines))), list(_figures(file, lines))
    by_names = not tests and any(figure.name for figure in figures)
    if by_names:
        tests = [_named(file, figure.name) for figure in figures]
    by_commands = not tests
    if by_commands:
        tests = _of_commands(lines, len(figures))
    if not tests:
        raise UserError(f"{file} does not say which test and size it is of: {HOW_TO}")
    if not figures:
        raise UserError(f"{file} has no figures, which the client prints: {HOW_TO}")
    if len(tests) != len(figures):
        raise UserError(
            f"{file} is of {len(tests)} tests and has the figures of {len(figures)}: give what"
            " server and client print of the same tests, in the same order"
        )
    rows: dict[Test, list[Row]] = {}
    for test, figure in zip(tests, figures, strict=True):
        row = Row(test.size_bytes, _value(test, figure), iterations=int(figure.values[0]))
        rows.setdefault(test._replace(size_bytes=0), []).append(row)
    medians = all(figure.rank == MEDIAN_RANK for figure in figures)
    tables = [
        Table(
            benchmark=test.kind.benchmark,
            buffers=test.buffers,
            ranks=2,
            window=test.window,
            rows=of_test,
            mean=not test.kind.of_times or not medians,
            how=test.kind.how,
            axes={"reuse": "single"},
        )
        for test, of_test in rows.items()
    ]
    if any(map(_repeats_sizes, tables)):
        raise UserError(f"{file} has several figures of one test and size: give each run alone")
    notes = _notes(by_names=by_names, by_commands=by_commands, medians=medians)
    return observations(printed, library(WHO, "", "UCX", notes, mpi=False), tables, NAME)


def _repeats_sizes(table: Table) -> bool:
    return len({row.size_bytes for row in table.rows}) < len(table.rows)


def _tests(file: Path, lines: list[str]) -> Iterator[Test]:
    """The tests by the headings that the server prints, in order."""
    fields: dict[str, str] = {}
    for field in matches(FIELD.match, lines):
        if field["name"] in fields:
            yield _test(file, fields)
            fields = {}
        fields[field["name"]] = field["value"].strip()
    if fields:
        yield _test(file, fields)


def _test(file: Path, fields: dict[str, str]) -> Test:
    title, api = fields.get("Test", ""), fields.get("API", "")
    kind = BY_WORDS.get((api, title))
    if not api:
        raise UserError(
            f"{file} has a heading without '| API: ...', which ucx_perftest has: tables of other"
            " programs like it are not read"
        )
    if kind is None:
        raise UserError(f"{file} is of {title!r} ({api}); read are the tests {', '.join(BY_NAME)}")
    memories = [fields.get(f"{end} memory", "") for end in ("Send", "Recv")]
    if not any(memories):
        raise UserError(
            f"{file} does not say in which memory its buffers were, as older versions do not: add"
            " the lines '| Send memory: host |' and '| Recv memory: host |' below its 'Test'"
        )
    unknown = [memory for memory in memories if memory not in MEMORIES]
    size, window = fields.get("Message size", ""), fields.get("Window size", "")
    if unknown or not size.isdecimal():
        raise UserError(f"{file}: the heading of {title!r} is not whole: give the whole output")
    in_flight = kind.window or (int(window) if window.isdecimal() else None)
    return Test(kind, int(size), ",".join(map(MEMORIES.__getitem__, memories)), in_flight)


def _commands(lines: list[str]) -> list[dict[str, str]]:
    """The options of all commands that name a test, without those of batch files."""
    commands = [dict(OPTION.findall(match["words"])) for match in matches(COMMAND.search, lines)]
    return [options for options in commands if "t" in options and "b" not in options]


def _memories(options: dict[str, str]) -> list[str]:
    """The memories of sender and receiver: -m names one for both, or both."""
    send, _, receive = options.get("m", "host").partition(",")
    return [send, receive or send]


def _with_memory(lines: list[str]) -> list[str]:
    """The server's heading, with the memory that its command names where an old one has none."""
    named = {tuple(_memories(options)) for options in _commands(lines) if "m" in options}
    tests = [start for start, line in enumerate(lines, 1) if line.startswith("| Test: ")]
    if len(named) != 1 or any(line.startswith("| Send memory: ") for line in lines):
        return lines
    [(send, receive)] = named
    memory_lines = [f"| Send memory: {send} |", f"| Recv memory: {receive} |"]
    ends = [*tests, len(lines)]
    pieces = (lines[start:end] for start, end in itertools.pairwise(ends))
    return [
        *lines[: ends[0]],
        *itertools.chain.from_iterable([*memory_lines, *piece] for piece in pieces),
    ]


def _of_commands(lines: list[str], runs: int) -> list[Test]:
    """The tests that the commands name, in order; empty where they do not fit the figures."""
    commands = _commands(lines)
    if len(commands) == 2 * runs and commands[::2] == commands[1::2]:  # of the servers, too
        commands = commands[::2]
    tests = [test for test in map(_of_command, commands) if test]
    return tests if len(tests) == len(commands) == runs else []


def _of_command(options: dict[str, str]) -> Test | None:
    """The test of a command; None where it is not read, or a shell made its size."""
    kind, size = BY_NAME.get(options["t"]), options.get("s", "8")
    memories = [MEMORIES.get(memory) for memory in _memories(options)]
    if kind is None or not WHOLE.fullmatch(size) or None in memories:
        return None
    return Test(kind, int(size), ",".join(map(str, memories)), kind.window)


def _named(file: Path, name: str) -> Test:
    """The test that a batch file names: `tag_lat_8`, or `tag_lat/8` of two of them."""
    tests, sizes = NAMED.findall(name), SIZED.findall(name)
    if len(tests) != 1 or len(sizes) != 1:
        raise UserError(f"{file}: {quoted(name)} does not say which test and size it is: {HOW_TO}")
    kind = BY_NAME[tests[0]]
    return Test(kind, int(sizes[0]), "H,H", kind.window)


def _figures(file: Path, lines: list[str]) -> Iterator[Figures]:
    """The figures that the client prints at the end of each test."""
    name, heading = "", None
    last: Figures | None = None  # of a test of old versions
    for number, line in enumerate(lines, 1):
        if match := HEADING.match(line):
            if last is not None:
                yield last
            heading, name, last = match, "", None
        elif match := BATCH.match(line):
            name = match["name"].rstrip("-")
        elif heading is not None and (row := _row(line.split(), heading["kind"] == "Stage")):
            test_name, cells = row
            if len(cells) != FIGURES or not all(map(NUMBER.fullmatch, cells)):
                raise cut_off(file, number, line, " of one thread")
            values = [float(word.replace(",", "")) for word in cells]
            if not all(map(math.isfinite, values)):
                raise cut_off(file, number, line)
            figures = Figures(test_name or name, values, heading["rank"] or MEDIAN_RANK)
            if heading["kind"]:
                yield figures
            else:
                last = figures
    if last is not None:
        yield last


def _row(cells: list[str], stages: bool) -> tuple[str, list[str]] | None:
    """The name before a row of final figures and what follows it; None: it is none. `stages`:
    stages are printed before it."""
    if stages:
        return ("", cells[1:]) if cells[:1] == [FINAL] else None
    if not cells or cells[0].startswith(LOGGED) or not NUMBER.fullmatch(cells[-1]):
        return None
    named = len(cells) > FIGURES or not NUMBER.fullmatch(cells[0])
    return (cells[0], cells[1:]) if named else ("", cells)


def _value(test: Test, figures: Figures) -> float:
    """The value in our unit: the median where it is printed, else the mean of the whole test."""
    _, percentile, _, mean, _, rate, *_ = figures.values
    time_us = percentile if figures.rank == MEDIAN_RANK else mean
    return time_us if test.kind.of_times else rate * GBS


def _notes(*, by_names: bool, by_commands: bool, medians: bool) -> Iterator[str]:
    """Notes on the figures, and on gaps of the file; a sentence each."""
    times = "medians, where another percentile was asked for means," if not medians else "medians"
    yield (
        f"Imported from ucx_perftest: UCX without MPI, one run of each test; times are {times} of"
        " half the way there and back, rates the mean of the whole test, which uses one buffer and"
        " keeps its window full to the end."
    )
    yield (
        "Between which CPUs, GPUs or hosts, and through which transports, the file does not say."
    )
    yield "Payloads were not validated."
    if by_names:
        yield (
            "Tests and sizes are what the batch files call them; buffers are taken as in host"
            " memory, the default."
        )
    if by_commands:
        yield "Tests, sizes and memory are those of the commands, or the defaults."


TOOL = Tool(NAME, titles, load, several=True, heading=HEADING)
