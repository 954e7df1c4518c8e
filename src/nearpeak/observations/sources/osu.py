# SPDX-License-Identifier: Apache-2.0
"""Output of the OSU micro-benchmarks in a file.

A file is one launch. It says nothing of the machine, the library and where the ranks ran. OMB's
c/util/osu_util.c (print_header) and c/util/osu_util_mpi.c (print_preamble, print_only_header,
print_header_one_sided) print it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from nearpeak.errors import UserError
from nearpeak.observations.imported import (
    BETTER,
    PAIR,
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
from nearpeak.observations.printed import Printed, first_match, first_number, matches
from nearpeak.observations.source import Title, Tool, titles_where
from nearpeak.observations.sources.collectives import collective
from nearpeak.observations.sources.reductions import type_axis
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.terms.buffers import HOST
from nearpeak.terms.identity import Who
from nearpeak.terms.sizes import parse_bytes, quoted

WHO = Who("osu")
# Also of programs for another library than MPI, or in another language.
ANY_TITLE = re.compile(
    r"(?:# ?)?(?P<title>(?:OSU|OMB) (?P<of>.+) Test)"
    r"(?: v(?P<version>\S+)| \(Version (?P<old>\S+)\))?"
)
OF_MPI = re.compile(r"MPI(?P<accelerator>-\w+(?: MANAGED)?)? (?P<test>.+)")
ONE_SIDED = re.compile(r"MPI_(?P<call>Put|Get)(?P<accelerator>-\w+)? (?P<test>.+)")
BUFFERS = re.compile(
    r"# (?:Send Buffer|Rank 0 Memory) on \w+ \((?P<send>[HDM])[HD]?\)"
    r" and (?:Receive Buffer|Rank 1 Memory) on \w+ \((?P<receive>[HDM])[HD]?\)$"
)
BUFFERS_BEGIN = ("# Send Buffer", "# Rank 0 Memory")
# Of one-sided programs the axes `win` and `sync`, by what they print.
WIN = "# Window creation: "
WINS = {
    "MPI_Win_allocate": "allocated",
    "MPI_Win_create": "created",
    "MPI_Win_create_dynamic": "dynamic",
}
SYNC = "# Synchronization: "
SYNCS = {
    "MPI_Win_flush": "flush",
    "MPI_Win_flush_local": "flush_local",
    "MPI_Win_lock/unlock": "lock",
    "MPI_Win_lock_all/unlock_all": "lock_all",
    "MPI_Win_fence": "fence",
    "MPI_Win_post/start/complete/wait": "pscw",
}
HALVED = (
    "fence",
    "pscw",
)  # latencies: both ranks call alternately, and half of the time is printed
KIND = "H|D|M[HD]?"  # of a buffer, in the command
IN_COMMAND = rf"\b.*?\s(?P<send>{KIND})\s+(?P<receive>{KIND})(?=$|[\s;&|>)\"'])"
MANAGED = "MANAGED"  # in the title, of collective operations
WINDOW = re.compile(r"# .*\bwindow size: *(?P<window>\d+)\b", re.IGNORECASE)
SIZE = re.compile(r"# ?Size\s")
HEADING = re.compile(
    r"# ?Size\s+((Avg )?Latency ?\((?P<time>us)\)|(Bi-)?Bandwidth ?\(MB/s\)|MB/s)(?P<more>.*)"
)
DATATYPE = re.compile(r"# Datatype: MPI_(?P<type>\w+)\.")
UNSAID = "float"  # of reductions in versions that do not say it: MPI_FLOAT (OMB 5.3's source)
PAIRS = re.compile(r"# \[ pairs: (?P<pairs>\d+) \]")
MINIMUM, MAXIMUM, ITERATIONS = "Min Latency(us)", "Max Latency(us)", "Iterations"
VALIDATION, MESSAGES = "Validation", "Messages/s"
TAIL = r"P\d+ Tail (?:Lat\(us\)|BW\(MB/s\))"
NAMED = (MINIMUM, MAXIMUM, ITERATIONS, VALIDATION, MESSAGES)
COLUMN = re.compile("|".join([*map(re.escape, NAMED), TAIL, r"\S+(?: \S+)*"]))
# What looks like a row, or its beginning; and a whole one.
ROW_LIKE = re.compile(r"\d+[KMG]?($|\s+-?(\d|nan\b|inf\b))", re.IGNORECASE)
PLACES = {2: "two", 6: "six"}  # OMB's FLOAT_PRECISION; rates of OMB 2: with fewer it was cut off
SIX_PLACES = re.compile(r"\S+\s+\d+\.\d{6}\b")
SHAPES = {ITERATIONS: r"\d+", VALIDATION: "Pass|Fail"}  # of what is no figure
WRONG = re.compile(r"DATA VALIDATION ERROR: .* on message size (?P<size>\d+)\.?$")


class Counterpart(NamedTuple):
    """The output of one of the programs, and the benchmark of ours that it is of."""

    benchmark: Benchmark
    factor: float = 1.0  # from its column to our unit
    window: int | None = None  # messages in flight; None: the output need not say
    pairs: bool = False  # any number of them


class Output(NamedTuple):
    """The output of one run of a program."""

    counterpart: Counterpart
    version: str
    buffers: str | None  # None: it does not say
    ranks: int | None  # None: it does not say
    window: int | None
    datatype: str  # as ours are called
    validated: bool  # payloads were checked
    axes: dict[str, str]  # of a one-sided program those of its window
    slowest: bool  # there is a column of the slowest rank, or iteration
    rows: list[Row]


def _of_pairs(name: str, metric: Metric, factor: float, window: int | None) -> Counterpart:
    """One of ours of any number of pairs at once."""
    symmetric = metric.better == "lower"
    ranks = RankRule("even", 2)
    benchmark = Benchmark(
        name, [metric], ranks, family="pt2pt", symmetric=symmetric, ceiling="measured"
    )
    return Counterpart(benchmark, factor, window, pairs=True)


# By the title of the program's output. Its rates are in MB/s (1e6). Not Reduce_scatter_block: its
# sizes are of all ranks' blocks, ours of one, and how many ranks there were is not printed.
BIBW = Counterpart(message("bibw", "GB/s"), 1e-3)
KNOWN = {
    "Latency": Counterpart(message("latency", "us"), window=1),
    "Bandwidth": Counterpart(message("bw", "GB/s", symmetric=False), 1e-3),
    "Bi-Directional Bandwidth": BIBW,
    "Bidirectional Bandwidth": BIBW,  # OMB 2
    "Multi Latency": _of_pairs("multi_lat", Metric("multi_lat", "us", "lower"), 1.0, 1),
    # Of two metrics the rate: the messages follow from it.
    "Multiple Bandwidth / Message Rate": _of_pairs(
        "mbw_mr", Metric("mbw", "GB/s", "higher"), 1e-3, None
    ),
    **{
        f"{title} Latency": Counterpart(collective(name))
        for title, name in (
            ("Allgather", "allgather"),
            ("Allgatherv", "allgatherv"),
            ("Allreduce", "allreduce"),
            ("All-to-All Personalized Exchange", "alltoall"),
            ("All-to-Allv Personalized Exchange", "alltoallv"),
            ("All-to-Allw Personalized Exchange", "alltoallw"),
            ("Broadcast", "bcast"),
            ("Gather", "gather"),
            ("Gatherv", "gatherv"),
            ("Reduce", "reduce"),
            ("Reduce_scatter", "reduce_scatter"),
            ("Scatter", "scatter"),
            ("Scatterv", "scatterv"),
        )
    },
}


def _one_sided(name: str, unit: str, call: Literal["put", "get"]) -> Counterpart:
    """One of ours that moves data without the other rank."""
    metrics, both = [Metric(name, unit, BETTER[unit])], name == "put_bibw"
    benchmark = Benchmark(name, metrics, PAIR, family="rma", symmetric=both, one_sided=call)
    factor, window = {"us": (1.0, 1), "GB/s": (1e-3, None)}[unit]
    return Counterpart(benchmark, factor, window)


# By the call and the test, whose letters are of other cases in some versions.
OF_WINDOWS = {
    ("Put", "latency"): _one_sided("put_latency", "us", "put"),
    ("Get", "latency"): _one_sided("get_latency", "us", "get"),
    ("Put", "bandwidth"): _one_sided("put_bw", "GB/s", "put"),
    ("Get", "bandwidth"): _one_sided("get_bw", "GB/s", "get"),
    ("Put", "bi-directional bandwidth"): _one_sided("put_bibw", "GB/s", "put"),
}
NAMES = ", ".join(
    dict.fromkeys(
        f"osu_{printed.benchmark.name}" for printed in (*KNOWN.values(), *OF_WINDOWS.values())
    )
)


def titles(printed: Printed) -> list[Title]:
    """Find the runs of all programs of the suite, also of those that are not read."""

    def program(title: re.Match[str]) -> str:
        counterpart = _counterpart(title)
        return f"osu_{counterpart.benchmark.name}" if counterpart else title["title"]

    return titles_where(printed.lines, ANY_TITLE.fullmatch, program)


def load(printed: Printed) -> Observations:
    """One launch of one benchmark.

    Raises:
        UserError: it has no figures, is of a program that is not known, or a row of its table is
            not whole; or nobody could tell where its buffers were.
    """
    output = _parse(printed)
    benchmark, factor = output.counterpart.benchmark, output.counterpart.factor
    table = Table(
        benchmark=benchmark,
        buffers=output.buffers or HOST,
        ranks=output.ranks,
        window=output.window,
        rows=[row._replace(value=row.value * factor) for row in output.rows],
        mean=True,
        axes=_axes(output),
    )
    tested = library(WHO, output.version, "OSU micro-benchmarks", _notes(output))
    return observations(printed, tested, [table], "OMB")


def _counterpart(title: re.Match[str]) -> Counterpart | None:
    """None: of another library than MPI, or of a program that is not read."""
    if of_windows := ONE_SIDED.fullmatch(title["of"]):
        return OF_WINDOWS.get((of_windows["call"], of_windows["test"].lower()))
    of_mpi = OF_MPI.fullmatch(title["of"])
    return KNOWN.get(of_mpi["test"]) if of_mpi else None


def _parse(printed: Printed) -> Output:
    file, lines = printed.file, printed.lines
    title = matches(ANY_TITLE.fullmatch, lines)[0]
    counterpart = _counterpart(title)
    if counterpart is None:
        raise UserError(
            f"{file} is of {title['title']!r}, which is not read here; read are {NAMES}"
        )
    rows, columns = _table(file, lines, counterpart.benchmark)
    if not rows:
        raise no_figures(printed)
    datatypes = [match[1].lower() for match in matches(DATATYPE.match, lines)]
    _check_one_table(file, rows, datatypes)
    wrong_sizes = {int(match["size"]) for match in matches(WRONG.match, lines)}
    if wrong_sizes and not any(row.wrong for row in rows):  # the column, or the row, is lost
        rows = [row for row in rows if row.size_bytes not in wrong_sizes]
        rows += [Row(size, 0.0, None, None, wrong=True) for size in sorted(wrong_sizes)]
    return Output(
        counterpart=counterpart,
        version=title["version"] or title["old"] or "",
        buffers=_buffers(file, lines, title, counterpart.benchmark),
        ranks=_ranks(lines, counterpart),
        window=counterpart.window or first_number(WINDOW.match, lines),
        datatype=[*datatypes, UNSAID][0],
        validated=VALIDATION in columns or bool(wrong_sizes),
        axes=_window_axes(file, lines, counterpart) if counterpart.benchmark.one_sided else {},
        slowest=MAXIMUM in columns,
        rows=rows,
    )


def _ranks(lines: list[str], counterpart: Counterpart) -> int | None:
    """The number of ranks; None: not known."""
    if counterpart.pairs:
        return 2 * (first_number(PAIRS.match, lines) or 0) or None
    return None if counterpart.benchmark.family == "collective" else 2


def _check_one_table(file: Path, rows: list[Row], datatypes: list[str]) -> None:
    if len(datatypes) > 1:
        raise UserError(
            f"{file} holds several tables, of {', '.join(datatypes)}: give a file with one of them"
        )
    size, times = Counter(row.size_bytes for row in rows).most_common(1)[0]
    if times > 1:
        raise UserError(
            f"{file} has {times} rows of {size} bytes below one title: give a file with one table"
        )


def _table(file: Path, lines: list[str], benchmark: Benchmark) -> tuple[list[Row], list[str]]:
    """Its rows, and the columns behind the value. Lines of others around it are passed over."""
    columns: list[str] = []
    heading = ""  # the nearest above: osu_mbw_mr 5.6.1 has another program's above its own
    rows: list[Row] = []
    places = 2
    for number, line in enumerate(lines, 1):
        if SIZE.match(line):
            heading = line
        elif heading and ROW_LIKE.match(line):
            if rows and line.isdigit() and int(line) <= rows[-1].size_bytes and number < len(lines):
                continue  # sizes ascend: a shell's number of another thing
            columns = _columns(file, heading, benchmark.main.unit == "us")
            places = 6 if not rows and SIX_PLACES.match(line) else places
            row = _row(line, columns, benchmark, places)
            if row is None:
                shape = f", whose figures have {PLACES[places]} decimals"
                raise cut_off(file, number, line, shape)
            rows.append(row)
    if heading and not rows:
        columns = _columns(file, heading, benchmark.main.unit == "us")
    return rows, columns


def _columns(file: Path, line: str, of_times: bool) -> list[str]:
    heading = HEADING.match(line)
    columns = COLUMN.findall(heading["more"]) if heading else []
    unknown = [name for name in columns if name not in NAMED and not re.fullmatch(TAIL, name)]
    if heading is None or unknown or (heading["time"] is not None) != of_times:
        raise UserError(
            f"{file}: {quoted(unknown[0] if unknown else line)} is no column that is read here:"
            " give the output of a run without the option that adds it"
        )
    return columns


def _row(line: str, columns: list[str], benchmark: Benchmark, places: int) -> Row | None:
    """None: it is not whole. Of a collective operation the columns of the least and the most are of
    ranks, and the most is what our figures are of."""
    figure = rf"\d+\.\d{{{places}}}"
    shapes = [r"\d+[KMGkmg]?", figure, *(SHAPES.get(name, figure) for name in columns)]
    if not re.fullmatch(r"\s+".join(f"(?:{shape})" for shape in shapes) + r"\s*", line):
        return None
    size, value, *others = line.split()
    values = dict(zip(columns, others, strict=True))
    together = benchmark.family == "collective"
    of_iterations = benchmark.main.unit == "us" and not together
    return Row(
        size_bytes=parse_bytes(size),
        value=float(values.get(MAXIMUM, value) if together else value),
        minimum=optional(float, values, MINIMUM) if of_iterations else None,
        iterations=optional(int, values, ITERATIONS),
        wrong=values.get(VALIDATION) == "Fail",
    )


def _axes(output: Output) -> dict[str, str]:
    """The axes of ours that are known: all messages of a window have one buffer (-b single)."""
    benchmark = output.counterpart.benchmark
    if benchmark.one_sided:  # each message of a window has its own part of it
        return {"reuse": "fixed", **output.axes}
    if benchmark.family == "pt2pt":
        return {"reuse": "fixed" if output.counterpart.window == 1 else "single"}
    return type_axis(benchmark, output.datatype)


def _window_axes(file: Path, lines: list[str], counterpart: Counterpart) -> dict[str, str]:
    """The axes of its window: how it was made and synchronised; UserError if that makes it another
    benchmark."""
    win, sync = _after(WIN, lines), _after(SYNC, lines)
    if win not in WINS or sync not in SYNCS:
        raise UserError(
            f"{file} does not say how its window was made and synchronised: give the whole output,"
            f" with the lines {WIN!r} and {SYNC!r}"
        )
    if counterpart.window == 1 and SYNCS[sync] in HALVED:
        raise UserError(
            f"{file} is of {sync}, with which both ranks call in turn: give a run with -s flush"
        )
    return {"win": WINS[win], "sync": SYNCS[sync]}


def _after(begin: str, lines: list[str]) -> str:
    """The rest of the first line that begins so; empty: none does."""
    return next((line.removeprefix(begin) for line in lines if line.startswith(begin)), "")


def _buffers(
    file: Path, lines: list[str], title: re.Match[str], benchmark: Benchmark
) -> str | None:
    """The buffers of both ranks; None where the output does not say, and its title names no
    accelerator.

    From OMB 7.4 on, programs with a title of an accelerator do not say. Collective operations have
    all their buffers in its memory (osu_util_mpi.c, allocate_memory_coll); between pairs the last
    words of the command name it.
    """
    named_lines = [line for line in lines if line.startswith(BUFFERS_BEGIN)]
    if match := first_match(BUFFERS.match, named_lines[:1]):
        return f"{match['send']},{match['receive']}"
    if not named_lines:
        of_mpi = OF_MPI.fullmatch(title["of"]) or ONE_SIDED.fullmatch(title["of"])
        accelerator = of_mpi and of_mpi["accelerator"]
        if not accelerator:
            return None
        if benchmark.family == "collective":
            return "M,M" if MANAGED in accelerator else "D,D"
        calls = matches(re.compile(f"osu_{benchmark.name}{IN_COMMAND}").search, lines)
        named = {(call["send"][0], call["receive"][0]) for call in calls}
        if len(named) == 1:
            return ",".join(named.pop())
    raise UserError(
        f"{file} does not say in which memory its buffers were: add the line that tells it"
        " above the table, as '# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)'"
    )


def _notes(output: Output) -> Iterator[str]:
    """Notes on the figures, and on gaps of the file; a sentence each."""
    yield "Imported from OSU micro-benchmarks: each figure is the mean of one launch's loop."
    yield (
        "The file does not say on which machine and with which library it ran, nor where the ranks"
        " were."
    )
    if output.buffers is None:
        yield "It names no buffers: they are taken as in host memory (H,H), OMB's default."
    else:
        yield f"Buffers are {output.buffers}, as it says."
    if output.ranks is None:
        yield "It does not say how many ranks there were."
    if output.counterpart.benchmark.family == "collective":
        if output.slowest:
            yield "Figures are those of the slowest rank, as ours are."
        else:
            yield (
                "Figures are means of the ranks' times (ours are of the slowest rank: OMB's -f has"
                " a column of it)."
            )
    elif output.counterpart.window is None:
        if not output.axes:
            yield "All messages of a window have one buffer, unless -b multiple was given."
        if output.window is None:
            yield "How many messages were in flight is not known (64 unless -W was given)."
    if not output.validated:
        yield "Payloads were not validated (-c)."


TOOL = Tool(
    "OMB (osu_latency, osu_bw, osu_bibw or osu_COLLECTIVE)",
    titles,
    load,
    heading=HEADING,
    title="# OSU MPI Latency Test v7.4",
)
