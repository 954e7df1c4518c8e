# SPDX-License-Identifier: Apache-2.0
"""Output of perftest's programs (ib_write_bw and its like), printed or as JSON (--out_json).

A file is of one run. src/perftest_parameters.h and perftest_parameters.c (of 4.5 to 26.04) define
what is printed, and in which unit: print_report_bw, print_report_lat.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nearpeak.errors import UserError
from nearpeak.observations.imported import (
    PAIR,
    Row,
    Table,
    cut_off,
    decode_json,
    library,
    message,
    no_figures,
    observations,
    optional,
)
from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import Printed, first_number, first_value, matches
from nearpeak.observations.source import Title, Tool, titles_where
from nearpeak.terms.benchmarks import Benchmark, Metric
from nearpeak.terms.buffers import HOST
from nearpeak.terms.identity import Who

WHO = Who("perftest")
ANY_TITLE = re.compile(
    r"(?P<title>(?:Send|RDMA_\w+|Atomic \w+|Raw Ethernet)(?: Bidirectional| Post List)*"
    r" (?:BW|Latency|\w+ Lat) Test)"
)
TITLE = re.compile(  # in text, and in JSON with _ in place of blanks
    r"(?P<verb>Send|RDMA_Write|RDMA_Read)[ _](?P<both>Bidirectional[ _])?(Post[ _]List[ _])?"
    r"(?P<what>BW|Latency)[ _]Test"
)
JSON_MARK = '"test_info"'
HEADING = re.compile(r"#bytes\s+(#sl\s+)?#iterations\s")
COLUMN = re.compile(r"#\w+|tps average|(?<![\w.%])[\w.%]+(?: [\w.]+){0,4}\[[^\[\]]+\]")
ROW_LIKE = re.compile(r"\d+\s+\d+(\s|$)")
RULE = re.compile(r"-{20,}")  # below a whole table
LARGEST = 1 << 23  # bytes: the last size of -a
FIGURE = re.compile(r"-?\d+\.\d\d+")  # at least two decimals: with fewer it was cut off
WHOLE = re.compile(r"\d{1,18}")
SIZE, COUNT = "#bytes", "#iterations"
QPS = re.compile(r"\bNumber of qp(?:s|'s running)[\s:]*(?P<number>\d+)")
DEPTH = re.compile(r"\bTX depth\s*:\s*(?P<number>\d+)")
CONNECTION = re.compile(r"\bConnection type\s*:\s*(?P<kind>\w+)")
ADDRESS = re.compile(r"(?P<end>local|remote) address: .*\bQPN (?P<qpn>\w+) PSN (?P<psn>\w+)")
DEVICE = re.compile(r"\bDevice\s*:\s*(?P<name>\S+)")
GPU = re.compile(r"\binitializing CUDA|\ballocated GPU buffer|\bUse (ROCm|MUSA) memory\s*: ON")
GPU_BEGIN = re.compile(r"\binitializing CUDA|\bUse (ROCm|MUSA) memory\s*: ON")  # once of an end
GBS = {"MB/sec": 1.048576e-3, "MiB/sec": 1.048576e-3, "Gb/sec": 0.125}  # both are of 2^20 bytes
# Of several columns the first that is there: a median, or a mean where a run was timed as a whole.
MEDIAN, MEAN, LEAST = "t_typical[usec]", "t_avg[usec]", "t_min[usec]"
TIMES = ("t_typical[", "t_avg[")
RATE = "BW average"

SENT = message("latency", "us")  # of a ping-pong: half of the time there and back
FETCHED = Benchmark(
    "get_latency", [Metric("get_latency", "us", "lower")], PAIR, family="rma", one_sided="get"
)
ONE_WAY = message("bw", "GB/s", symmetric=False)
BOTH_WAYS = message("bibw", "GB/s")
WAYS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read"}


class Output(NamedTuple):
    """The content of a file."""

    title: str
    rows: list[Row]  # rates in GB/s
    mean: bool  # of times: they are means
    qps: int
    depth: int | None  # messages in flight of each queue pair; None: the file does not say
    connection: str
    device: str
    gpu: bool  # the buffers of the end that wrote it were in a GPU
    tables: int = 1  # how many there are
    both: bool = False  # server and client printed into the file
    missing: str = ""  # what the end of the output lacks


def titles(printed: Printed) -> list[Title]:
    """Find the runs of all programs of the suite, also of those that are not read; or its JSON."""
    if JSON_MARK in printed.document:
        return [Title(1, WHO.library)]

    runs = titles_where(printed.lines, ANY_TITLE.fullmatch, lambda title: title["title"])
    return runs[:1] if _both_ends(runs, printed.lines) else runs


def _both_ends(titles: Sequence[Title], lines: list[str]) -> bool:
    """One run, of which server and client printed into one file: the addresses of each are the
    other's."""
    pairs: dict[str, Counter[object]] = defaultdict(Counter)
    for address in matches(ADDRESS.match, lines):
        pairs[address["end"]].update([address.group("qpn", "psn")])
    same = len(titles) == 2 and titles[0].program == titles[1].program
    return same and bool(pairs) and pairs["local"] == pairs["remote"]


def load(printed: Printed) -> Observations:
    """One launch of one benchmark.

    Raises:
        UserError: it has no figures, is of a program that is not known or of several tables, or a
            row is not whole.
    """
    file = printed.file
    output = _decoded(printed) if JSON_MARK in printed.document else _parsed(printed)
    test = _test(file, output.title)
    if not output.rows:
        raise no_figures(printed)
    _check_once(file, output)
    read = test["verb"] == "RDMA_Read"
    if test["what"] == "BW":
        benchmark = BOTH_WAYS if test["both"] else ONE_WAY
        window = output.depth * output.qps if output.depth and not read else None
    else:
        benchmark, window = FETCHED if read else SENT, 1
    table = Table(
        benchmark=benchmark,
        buffers="D,D" if output.gpu else HOST,
        ranks=2,
        window=window,
        rows=output.rows,
        mean=output.mean or benchmark.main.unit == "GB/s",
        how=WAYS[test["verb"]] + (f"-q{output.qps}" if output.qps > 1 else ""),
        axes={"reuse": "fixed"},
    )
    tested = library(WHO, "", "perftest", _notes(output, table), mpi=False)
    return observations(printed, tested, [table], "perftest", output.missing)


def _check_once(file: Path, output: Output) -> None:
    """UserError where a size is there several times."""
    size, times = Counter(row.size_bytes for row in output.rows).most_common(1)[0]
    if times > 1 and output.both:
        raise UserError(
            f"{file} is of both ends of a run, whose figures of {size} bytes differ: give the"
            " output of the client alone"
        )
    if times > 1 and output.tables > 1:
        raise UserError(f"{file} holds several tables: run it without --report-both")
    if times > 1:
        raise UserError(
            f"{file} has {times} figures of {size} bytes, as runs that do not end print them: run"
            " it for one figure of each size, without --run_infinitely"
        )


def _test(file: Path, title: str) -> re.Match[str]:
    match = TITLE.fullmatch(title)
    if match is None:
        raise UserError(
            f"{file} is of {title!r}, which is not read here; read are ib_write_bw, ib_read_bw,"
            " ib_send_bw, ib_write_lat, ib_read_lat, ib_send_lat"
        )
    return match


def _parsed(printed: Printed) -> Output:
    file, lines = printed.file, printed.lines
    title = first_value(ANY_TITLE.fullmatch, lines)
    _test(file, title)
    starts = titles_where(lines, re.compile(re.escape(title)).fullmatch, lambda _: title)
    both = _both_ends(starts, lines)
    if both and len(matches(GPU_BEGIN.search, lines)) == 1:
        raise UserError(
            f"{file} is of both ends of a run, of which one alone had its buffers in a GPU: give"
            " the output of one end"
        )
    columns: list[str] = []
    printed_rows: dict[object, tuple[int, list[str], str]] = {}
    for number, line in enumerate(lines, 1):
        if HEADING.match(line):
            columns = COLUMN.findall(line)
        elif columns and ROW_LIKE.match(line):
            key = line if both else number  # server and client print the same
            printed_rows.setdefault(key, (number, columns, line))
    rows = [_row(file, *row) for row in printed_rows.values()]
    first = min((number for number, *_ in printed_rows.values()), default=len(lines))
    closed = any(map(RULE.match, lines[first:]))
    complete = closed or len(rows) < 2 or rows[-1].size_bytes == LARGEST
    return Output(
        title=title,
        tables=len(matches(HEADING.match, lines)),
        both=both,
        missing="" if complete else "the output ends without the line that closes its table",
        rows=rows,
        mean=MEDIAN not in columns,
        qps=first_number(QPS.search, lines) or 1,
        depth=first_number(DEPTH.search, lines) or None,
        connection=first_value(CONNECTION.search, lines),
        device=first_value(DEVICE.search, lines),
        gpu=any(map(GPU.search, lines)),
    )


def _row(file: Path, number: int, columns: list[str], line: str) -> Row:
    cells = line.split()
    values = dict(zip(columns, cells, strict=False))
    name = next((name for name in columns if name.startswith((RATE, *TIMES))), MEAN)
    factor = _factor(file, name)
    figures = [values.get(name, ""), values.get(LEAST, values.get(name, ""))]
    counts = [values.get(SIZE, ""), values.get(COUNT, "")]
    complete = all(map(FIGURE.fullmatch, figures)) and all(map(WHOLE.fullmatch, counts))
    if len(cells) != len(columns) or not complete:
        raise cut_off(file, number, line)
    if float(values[name]) < 0:
        raise _below_zero(f"{file}, line {number}: {name} is {values[name]}")
    return Row(
        size_bytes=int(values[SIZE]),
        value=float(values[name]) * factor,
        minimum=optional(float, values, LEAST),
        iterations=int(values[COUNT]),
    )


def _factor(file: Path, column: str) -> float:
    """From the unit of a column to ours."""
    unit = column[column.index("[") + 1 : -1]
    if column.startswith(RATE):
        if unit not in GBS:
            raise UserError(f"{file} has rates in {unit}; read are {', '.join(GBS)}")
        return GBS[unit]
    if unit != "usec":
        raise UserError(f"{file} has times in {unit}: run it without --output-cycles (-C)")
    return 1.0


def _below_zero(text: str) -> UserError:
    return UserError(
        f"{text}, and nothing is below 0: perftest counted wrongly; run it again, or for a shorter"
        " time"
    )


class Written(msgspec.Struct):
    """A whole run, as in JSON. With several sizes (-a) it has the last one alone."""

    test_info: dict[str, Any]
    results: dict[str, float]


def _decoded(printed: Printed) -> Output:
    file = printed.file
    remedy = "give what it prints, which older ones have alone"
    written = decode_json(printed, Written, "perftest", remedy)
    info, results = written.test_info, written.results
    for name in ("BW_average", "t_typical", "t_avg"):
        if results.get(name, 0.0) < 0:
            raise _below_zero(f"{file}: {name} is {results[name]:g}")
    try:
        row = _of_json(file, results)
    except KeyError as error:
        raise UserError(
            f"{file} has no {error} among its results: run it without --output"
        ) from None
    return Output(
        title=str(info.get("test", "an unknown program")),
        rows=[row],
        mean="t_typical" not in results,
        qps=int(info.get("Number_of_qps", 1)),
        depth=int(info.get("TX_depth", 0)) or None,
        connection=str(info.get("Connection_type", "")),
        device=str(info.get("Device", "")),
        gpu=bool({"cuda_device", "musa_device"} & info.keys())
        or "ON" in (info.get("Use_ROCm_memory"), info.get("Use_MUSA_memory")),
    )


def _of_json(file: Path, results: dict[str, float]) -> Row:
    """KeyError where a member is missing."""
    size, iterations = int(results["MsgSize"]), int(results["n_iterations"])
    if "BW_average" in results:
        return Row(size, _rate(file, results), iterations=iterations)
    value = results.get("t_typical", results.get("t_avg"))
    if value is None:
        raise KeyError("BW_average")
    return Row(size, value, results.get("t_min"), iterations)


def _rate(file: Path, results: dict[str, float]) -> float:
    """In GB/s. JSON does not say in which of two units it is; they differ by a factor of 119, so
    that the rate of the messages tells."""
    by_messages = results["MsgRate"] * results["MsgSize"] * 1e-3
    for factor in set(GBS.values()):
        rate = results["BW_average"] * factor
        if rate / 2 < by_messages < rate * 2:
            return rate
    raise UserError(f"{file} does not say in which unit its rate is: give what perftest prints")


def _notes(output: Output, table: Table) -> Iterator[str]:
    """Notes on the figures, and on gaps of the file; a sentence each."""
    name, kind = table.benchmark.name, "the mean" if table.mean else "the median"
    details = {SENT.name: ", half of each time there and back", FETCHED.name: ", of a whole read"}
    detail = details.get(name, ", which keeps its window full to the end")
    yield f"Imported from perftest: RDMA without MPI; each {name} is {kind} of one run{detail}."
    yield "Payloads were not validated."
    through = f" through {output.device}" if output.device else ""
    kind = f", connected as {output.connection}" if output.connection not in ("", "RC") else ""
    yield f"It ran{through}{kind}; between which hosts the file does not say."
    if output.gpu:
        yield "Buffers of the end that wrote it were in a GPU; the other's are taken to be, too."
    else:
        yield "Buffers of the end that wrote it were in host memory; the other's are taken so, too."


TOOL = Tool(
    "perftest's programs, or their JSON",
    titles,
    load,
    heading=HEADING,
    title="RDMA_Write BW Test",
)
