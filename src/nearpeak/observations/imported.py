# SPDX-License-Identifier: Apache-2.0
"""Tables of figures that another program printed, as observations: each table is one launch.

Such a program says little of the machine, of the library and of where its ranks ran.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import unknown
from nearpeak.observations.observed import (
    Block,
    Gap,
    Launch,
    Library,
    Observation,
    Observations,
    Session,
    Summary,
)
from nearpeak.observations.printed import Printed
from nearpeak.terms.benchmarks import Benchmark, Better, Metric, RankRule, by_name
from nearpeak.terms.buffers import MEMORY
from nearpeak.terms.identity import Curve, Place, Who
from nearpeak.terms.outcomes import Ending
from nearpeak.terms.path import DataPath, Endpoint
from nearpeak.terms.sizes import quoted

T = TypeVar("T")
N = TypeVar("N", int, float)
PAIR = RankRule("exactly", 2)
MOST = (1 << 63) - 1  # bytes, repetitions
MOST_RANKS = 1 << 20  # of all tables of a file: more than any machine has cores in one job
MOST_TABLES = 1 << 14
BETTER: dict[str, Better] = {"us": "lower", "GB/s": "higher"}
_CORRECT = "give what the program printed, unchanged"
SOME_RANKS = "imported, some ranks"  # the path of files that do not say how many
# By the number of ranks: the name of the path, and its ranks in words.
_PATHS = {None: (SOME_RANKS, "ranks, nobody knows how many,"), 2: ("imported", "two ranks,")}
HOST_END = "host"  # the name of an end in the host's memory, wherever in it


class Row(NamedTuple):
    """A line of a table, in the unit of its metric."""

    size_bytes: int
    value: float  # of no meaning where the payload was wrong
    minimum: float | None = None  # over iterations; None: not printed, like the next one
    iterations: int | None = None
    wrong: bool = False  # its payload failed a validation


class Table(NamedTuple):
    """A table that a program printed for one benchmark."""

    benchmark: Benchmark  # of one metric
    buffers: str  # "H,D"
    ranks: int | None  # None: not printed
    window: int | None  # messages in flight; None: not known
    rows: list[Row]
    mean: bool  # its values are means of their launches, and not medians
    how: str = ""  # of programs that move data in several ways: which one; they are its settings
    pair: tuple[str, ...] = ()  # the names of both ends, where the program prints them,
    gpus: tuple[str | None, ...] = ()  # and of the GPU at each its PCI address, or its number
    one_of_several: bool = False  # pairs that the program measured in one matrix
    axes: Mapping[str, str] = {}  # of our axes those that are known of it

    @property
    def settings(self) -> str:
        """The name of the settings that it was measured with."""
        return self.how or Settings().name


def no_figures(printed: Printed) -> UserError:
    """The error for a program that printed its title, and no figure that can be read."""
    if printed.crash:
        return UserError(f"{printed.file} holds no figures, as {printed.crash}: run it again")
    return UserError(f"{printed.file} holds no figures: give the whole output of the program")


def decode_json(
    printed: Printed, kind: type[T], tool: str, remedy: str = "give all of what it wrote"
) -> T:
    """Decode the JSON that `tool` wrote; UserError if it is not whole, or not of its form."""
    try:
        return msgspec.json.decode(printed.document, type=kind)
    except UNDECODABLE as error:
        raise UserError(
            f"{printed.file} is not the whole JSON of {tool} ({error}): {remedy}"
        ) from None


def cut_off(file: Path, number: int, line: str, shape: str = "") -> UserError:
    """The error for an incomplete line of a table. `shape`: that of a complete one."""
    return UserError(
        f"{file}, line {number}: {quoted(line)} is not a whole row of the table{shape}: give the"
        " whole output of the program"
    )


def optional(number: Callable[[str], N], row: Mapping[str, str], column: str) -> N | None:
    """The number in a column that not every table has; None without the column."""
    return number(row[column]) if column in row else None


def message(name: str, unit: str, *, symmetric: bool = True) -> Benchmark:
    """One of ours between two ranks, of times in us or of rates in GB/s. Not `symmetric`: it sends
    one way."""
    return Benchmark(
        name=name,
        metrics=[Metric(name, unit, BETTER[unit])],
        ranks=PAIR,
        family="pt2pt",
        symmetric=symmetric,
        ceiling="measured",
    )


def library(
    who: Who, version: str, tool: str, notes: Iterable[str], *, mpi: bool = True
) -> Library:
    """The tested library, which no output names. `notes`: sentences on the figures, and on gaps of
    the output; `mpi`: whether it is an MPI library."""
    return Library(
        who=who,
        family="",
        version=version,
        version_text=f"{tool} {version}".rstrip(),
        env={},
        given=Settings(),
        native=False,
        mpi=mpi,
        notes=tuple(notes),
        imported=True,
    )


def observations(
    printed: Printed, by: Library, tables: Sequence[Table], checked_by: str, missing: str = ""
) -> Observations:
    """All tables of a file. `checked_by`: whose validation failed, where one did; `missing`: what
    the end of the output lacks, in words, where it lacks something."""
    _check_counts(printed, tables)
    ways = dict.fromkeys(table.settings for table in tables)
    imported = Observations(
        name=printed.name,
        started=printed.started,
        nearpeak="",
        complete=True,
        machine=unknown(),
        paths=[],
        libraries=[
            replace(by, who=Who(by.who.library, way), given=Settings(name=way)) for way in ways
        ],
        benchmarks=list(by_name(table.benchmark for table in tables).values()),
        curves=[],
        sessions=[
            Session(
                number=0,
                started=printed.started,
                nearpeak="",
                forced=False,
                fingerprint={},
                source=printed.name,
            )
        ],
    )
    for number, table in enumerate(tables):
        who = Who(by.who.library, table.settings)
        crash = (printed.crash or missing) if table is tables[-1] else ""  # those before it ended
        _add(imported, number, table, who, crash, f"{checked_by}'s validation failed")
    imported.curves = list(dict.fromkeys(launch.curves[0] for launch in imported.launches))
    settle_pairs([imported])
    return imported


def _check_counts(printed: Printed, tables: Sequence[Table]) -> None:
    """UserError for counts that no run has: they would take memory without end."""
    ranks = sum(table.ranks or 0 for table in tables)
    if ranks > MOST_RANKS:
        raise UserError(f"{printed.file} is of {ranks} ranks, more than {MOST_RANKS}: {_CORRECT}")
    if len(tables) > MOST_TABLES:
        raise UserError(
            f"{printed.file} has {len(tables)} tables, more than {MOST_TABLES}: {_CORRECT}"
        )
    for row in itertools.chain(*(table.rows for table in tables)):
        if not (0 <= row.size_bytes <= MOST and 0 <= (row.iterations or 0) <= MOST):
            raise UserError(f"{printed.file} has a count beyond 0 to 2^63 - 1: {_CORRECT}")
        if not (row.wrong or math.isfinite(row.value)):
            raise UserError(f"{printed.file} has a figure {row.value}: {_CORRECT}")


def settle_pairs(parts: Sequence[Observations]) -> None:
    """Keep each path once in each part, and move its launches to it.

    Ends that are one of several pairs in one table are so in all tables: the one cell of a machine
    with one GPU has the name of a cell of larger machines.
    """
    pairs = {_kind(path.place): path.pair for part in parts for path in part.paths if path.pair}

    def settled(place: Place) -> Place:
        return msgspec.structs.replace(place, pair=pairs.get(_kind(place), ()))

    for part in parts:
        paths: dict[Place, DataPath] = {}
        for path in part.paths:
            place = settled(path.place)
            paths.setdefault(place, msgspec.structs.replace(path, pair=place.pair))
        part.paths = list(paths.values())
        for launch in part.launches:
            launch.place = settled(launch.place)


def _kind(place: Place) -> Place:
    """The place without its pair of several."""
    return msgspec.structs.replace(place, pair=())


def _add(
    imported: Observations, number: int, table: Table, who: Who, crash: str, failed: str
) -> None:
    benchmark = table.benchmark
    path = _path(table)
    curve = Curve(
        benchmark=benchmark.name,
        metric=benchmark.main.name,
        buffers=table.buffers,
        axes=dict(table.axes),
    )
    wrong = [row.size_bytes for row in table.rows if row.wrong]
    status: Ending = "wrong data" if wrong else "crashed" if crash else "ok"
    message = f"{benchmark.name} {wrong[0]} bytes: {failed}" if wrong else crash
    launch = Launch(
        number=number,
        block=Block(0, 0),
        who=who,
        place=path.place,
        curves=(curve,),
        status=status,
        message=message,
        cause=message,
    )
    imported.paths.append(path)
    imported.launches.append(launch)
    imported.observed += [
        Observation(
            launch=launch,
            case=curve.at(row.size_bytes),
            unit=benchmark.main.unit,
            better=benchmark.main.better,
            summary=Summary(row.value, row.minimum, row.iterations, mean=table.mean),
            samples=None,
            origin=imported.name,
            window=table.window,
        )
        for row in table.rows
        if not row.wrong
    ]
    imported.gaps += [
        Gap(launch, curve.at(size), "wrong data", failed, said=True) for size in wrong
    ]


def _path(table: Table) -> DataPath:
    first, last = table.buffers.split(",")
    kinds = [first, *[last] * (max(table.ranks or 2, 2) - 1)]
    several = (f"imported, {table.ranks} ranks", f"{table.ranks} ranks,")
    name, many = _PATHS.get(table.ranks, several)
    summary = f"{many} of which the file does not say where they were"
    end = {kind: Endpoint(memory=MEMORY[kind], cpus=[], numa_node=None) for kind in kinds}
    ends = tuple(end[kind] for kind in kinds)
    if table.pair:
        memories = ["host" if name == HOST_END else "gpu" for name in table.pair]
        name = f"{'-'.join(memories)} pair {'-'.join(table.pair)}"
        summary = f"{table.pair[0]} and {table.pair[1]}, as the file names them"
        ends = tuple(
            Endpoint(memory=memory, cpus=[], numa_node=None, gpu=gpu)
            for memory, gpu in zip(memories, table.gpus, strict=True)
        )
    pair = table.pair if table.one_of_several else ()
    return DataPath(id=name, summary=summary, transport="unknown", ends=ends, pair=pair)
