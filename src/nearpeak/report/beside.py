# SPDX-License-Identifier: Apache-2.0
"""Compares the two tables with figures published for other machines (published.toml)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.errors import UserError, closest
from nearpeak.numbers import NOTHING, number, percent, size, unit
from nearpeak.results import order
from nearpeak.results.best import best_cell
from nearpeak.results.cells import is_defect
from nearpeak.results.names import bare, staged
from nearpeak.results.results import Cell, Peak, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Curve, Place

FILE = Path(__file__).with_name("published.toml")
STUDY = "this study"
_BUFFER = {"host": "H", "gpu": "D"}  # the kind of buffers in each memory


class Library(msgspec.Struct, kw_only=True, frozen=True):
    """The best bandwidth of one library on a link, and the fraction that was printed with it."""

    library: str
    gbs: float
    printed_percent: float | None = None


class Link(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One link of a published machine; rates in GB/s."""

    name: str
    benchmark: str  # of a study: compared with these rates
    metric: str
    theoretical_gbs: float
    achievable_gbs: float
    traffic: bool = False  # our reading: the peaks count bytes read and bytes written
    table_one: list[str]  # ids of the paths that it is compared with
    table_two: list[str] = []
    printed_of: str = "achievable"  # "theoretical", "achievable" or "other"
    other: str = ""
    other_gbs: float = 0.0
    mpi: list[Library] = []

    @property
    def fraction(self) -> float:
        """The achievable rate as a fraction of the theoretical peak."""
        return self.achievable_gbs / self.theoretical_gbs

    @property
    def note(self) -> str:
        """Says how its peaks count bytes if not as a study does; else empty."""
        if not self.traffic:
            return ""
        halves = [number(value / 2) for value in (self.theoretical_gbs, self.achievable_gbs)]
        return (
            "is taken to count bytes read and bytes written, which the source does not say; as a"
            f" payload, which counts once here, {halves[0]} and {halves[1]} GB/s"
        )

    @property
    def denominator(self) -> str:
        """Names the rate that its libraries' fractions refer to."""
        if self.printed_of == "other":
            return f"the {number(self.other_gbs)} GB/s {self.other}"
        value = self.theoretical_gbs if self.printed_of == "theoretical" else self.achievable_gbs
        counted = ", taken as read and written" if self.traffic else ""
        return f"the {self.printed_of} {number(value)} GB/s{counted}"


class Figure(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One figure of a benchmark."""

    path: str
    benchmark: str
    metric: str
    unit: str  # of `value`: "us" or "GB/s"
    value: float
    size_bytes: int | None = None
    library: str = ""
    staged: bool = False


class Published(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A machine with published figures."""

    id: str
    name: str
    about: str
    source: str
    link: list[Link] = []
    figure: list[Figure] = []


class _Machines(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    machine: list[Published]


@dataclass(frozen=True)
class TheoryPair:
    """One row of Table 1: the rates of a path without MPI, in the study and as published."""

    path: str
    figure: str  # "bw"
    own: Peak | None
    own_theoretical_gbs: float | None
    link: Link


@dataclass(frozen=True)
class MpiPair:
    """One row of Table 2: the best MPI figure on a path, in the study and as published."""

    path: str
    case: str  # "bw D,D", "latency D,D at 1 B"
    cell: Cell | None
    there: str  # the library of `value`
    value: float
    unit: str
    fraction: float | None
    of: str  # the reference of `fraction`, as text


@dataclass(frozen=True)
class Beside:
    """A study's two tables, compared with those of one published machine."""

    machine: Published
    table_one: list[TheoryPair]
    table_two: list[MpiPair]
    missing: list[str]  # links and paths with published figures that the study does not have


def published() -> list[Published]:
    """All machines of published.toml."""
    text = FILE.read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=_Machines).machine


def choose(ids: Iterable[str]) -> list[Published]:
    """The machines with these ids, each once; UserError for an unknown id names known ones."""
    machines = {machine.id: machine for machine in published()}
    chosen = list(dict.fromkeys(ids))
    for name in chosen:
        if name not in machines:
            raise UserError(f"--beside: nothing is known of {name!r}{closest(name, machines)}")
    return [machines[name] for name in chosen]


def beside(results: Results, machine: Published) -> Beside:
    """Compares the study with the machine on each path that both have."""
    places = {place.path: place for place in order.places(results)}
    rates = {path.id: path.theoretical_gbs for path in results.paths}
    cells = _best_cells(results)
    theory = []
    for link in machine.link:
        for path in filter(places.__contains__, link.table_one):
            curve = _curve(places[path], link)
            peak = _ceiling(results.peaks, places[path], curve)
            theory.append(TheoryPair(path, curve.figure, peak, rates.get(path), link))
    links = [
        _mpi(link, places[path], cells)
        for link in machine.link
        for path in link.table_two
        if path in places and link.mpi
    ]
    figures = [
        _figure(figure, places[figure.path], cells)
        for figure in machine.figure
        if figure.path in places
    ]
    absent = [
        link.name for link in machine.link if not places.keys() & {*link.table_one, *link.table_two}
    ]
    absent += [figure.path for figure in machine.figure if figure.path not in places]
    return Beside(machine, theory, links + figures, list(dict.fromkeys(absent)))


def _curve(place: Place, published: Link | Figure) -> Curve:
    """The study's curve that corresponds to a published figure, without axes."""
    ends = (place.ends[0], place.ends[-1])
    return Curve(
        benchmark=published.benchmark,
        metric=published.metric,
        buffers=",".join(_BUFFER[memory] for memory in ends),
        axes={},
    )


def _any_axes(curve: Curve) -> Curve:
    return msgspec.structs.replace(curve, axes={})


def _ceiling(peaks: list[Peak], place: Place, curve: Curve) -> Peak | None:
    matching = [
        peak for peak in peaks if peak.place == place and _any_axes(peak.case.curve) == curve
    ]
    return max(matching, key=lambda peak: peak.value, default=None)


Cells = dict[tuple[Place, Curve, bool], list[Cell]]  # the bool: the benchmark staged the data


def _best_cells(results: Results) -> Cells:
    """The measured cells of the default curves, without defects (cells above their ceiling)."""
    default = {bare(curve) for curve in order.default_curves(results)}
    cells: Cells = {}
    for cell in results.cells:
        curve = cell.case.curve
        if cell.median is not None and bare(curve) in default and not is_defect(cell):
            key = (cell.place, _any_axes(curve), staging(curve.axes) is not None)
            cells.setdefault(key, []).append(cell)
    return cells


def _mpi(link: Link, place: Place, cells: Cells) -> MpiPair:
    best = max(link.mpi, key=lambda library: library.gbs)
    if best.printed_percent is None:
        fraction, origin = best.gbs / link.achievable_gbs, "worked out here"
    else:
        fraction, origin = best.printed_percent / 100, "as printed"
    curve = _curve(place, link)
    return MpiPair(
        path=place.path,
        case=f"{curve.figure} {curve.buffers}",
        cell=best_cell(cells.get((place, curve, False), [])),
        there=best.library,
        value=best.gbs,
        unit="GB/s",
        fraction=fraction,
        of=f"{link.denominator} ({origin})",
    )


def _figure(figure: Figure, place: Place, cells: Cells) -> MpiPair:
    curve = _curve(place, figure)
    label = f"{curve.figure} {curve.buffers}"
    mine = cells.get((place, curve, figure.staged), [])
    if figure.size_bytes is not None:
        label += f" at {size(figure.size_bytes)}"
        mine = [cell for cell in mine if cell.case.x == figure.size_bytes]
    if figure.staged:
        label += ", staged by the benchmark"
    return MpiPair(
        path=figure.path,
        case=label,
        cell=best_cell(mine),
        there=figure.library,
        value=figure.value,
        unit=figure.unit,
        fraction=None,
        of="",
    )


def tables(comparison: Beside) -> list[Table]:
    """The tables that have rows."""
    return [
        *([_theory_table(comparison)] if comparison.table_one else []),
        *([_mpi_table(comparison)] if comparison.table_two else []),
    ]


def _theory_table(comparison: Beside) -> Table:
    figures = ", ".join(dict.fromkeys(pair.figure for pair in comparison.table_one))
    return Table(
        title=f"Table 1 beside {comparison.machine.name}.",
        caption=f"Bandwidth in one direction without MPI ({figures}).",
        head="Path",
        columns=[
            column
            for key, over in (("own", STUDY), ("other", comparison.machine.name))
            for column in (
                Column(f"{key} theoretical", "Theory", "GB/s", over=over),
                Column(f"{key} measured", "Measured", "GB/s", over=over),
                Column(f"{key} fraction", "% of", "theory", over=over),
            )
        ],
        groups=[Rows("", [_theory_row(pair) for pair in comparison.table_one])],
    )


def _theory_row(pair: TheoryPair) -> Row:
    peak, link = pair.own, pair.link
    values = {
        "own theoretical": Value(pair.own_theoretical_gbs),
        "own measured": Value(peak.value if peak else None),
        "own fraction": Value(peak.of_theoretical if peak else None, "percent"),
        "other theoretical": Value(link.theoretical_gbs),
        "other measured": Value(link.achievable_gbs),
        "other fraction": Value(link.fraction, "percent"),
    }
    return Row(pair.path, values, detail=link.name)


def _mpi_table(comparison: Beside) -> Table:
    return Table(
        title=f"Table 2 beside {comparison.machine.name}.",
        caption="The best of the libraries; each fraction says what it is a fraction of.",
        head="Path and benchmark",
        columns=[
            Column("machine", "Machine", figure=False),
            Column("best", "Best"),
            Column("words", "Library and fraction", figure=False, long=True),
        ],
        groups=[
            Rows("", _mpi_rows(pair, comparison.machine.name)) for pair in comparison.table_two
        ],
    )


def _mpi_rows(pair: MpiPair, name: str) -> list[Row]:
    """The row of the study, then the published one."""
    median = pair.cell.median if pair.cell else None
    return [
        Row(
            head,
            {
                "machine": Value(machine, "text"),
                "best": Value(
                    NOTHING if value is None else f"{number(value)} {unit(pair.unit)}", "text"
                ),
                "words": Value(text, "text"),
            },
        )
        for head, machine, value, text in (
            (f"{pair.path}, {pair.case}", STUDY, median, study_text(pair)),
            ("", name, pair.value, published_text(pair)),
        )
    ]


def lines(comparison: Beside) -> Iterator[str]:
    """Notes on the tables: how peaks count bytes, paths that the study lacks, and the source."""
    shown = {pair.link.name for pair in comparison.table_one}
    for link in comparison.machine.link:
        if link.note and link.name in shown:
            yield f"{link.name} of {comparison.machine.name} {link.note}."
    if comparison.missing:
        yield f"No such path in this study: {'; '.join(comparison.missing)}."
    machine = comparison.machine
    yield f"{machine.name}: {machine.about}. Source: {machine.source}."


def study_text(pair: MpiPair) -> str:
    """`intel, 97.2 % of the measured ceiling at 128 MiB`: the library of the study's figure, and
    its fraction."""
    cell = pair.cell
    if cell is None:
        return "not measured"
    method = staging(cell.case.axes)
    who = cell.who.label if method is None else f"{cell.who.label}, {staged(method)}"
    if cell.fraction is None:
        return f"{who}, no ceiling at {size(cell.case.x)}"
    return f"{who}, {percent(cell.fraction)} % of the measured ceiling at {size(cell.case.x)}"


def published_text(pair: MpiPair) -> str:
    """`MVAPICH2 1.9b, 95.4 % of the achievable 70.6 GB/s (as printed)`."""
    parts = [pair.there] if pair.there else []
    parts += [] if pair.fraction is None else [f"{percent(pair.fraction)} % of {pair.of}"]
    return ", ".join(parts)
