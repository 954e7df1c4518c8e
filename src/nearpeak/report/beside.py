# SPDX-License-Identifier: Apache-2.0
"""The two tables beside those that others have published of their machines (published.toml)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.numbers import number, percent, size
from nearpeak.report import summary
from nearpeak.report.summary import TheoryRow
from nearpeak.results.model import Cell, Results
from nearpeak.results.names import staged
from nearpeak.study.model import label, staging

FILE = Path(__file__).with_name("published.toml")
_BUFFERS = {"host-host": "H,H", "host-gpu": "H,D", "gpu-gpu": "D,D"}


class Library(msgspec.Struct, kw_only=True, frozen=True):
    """The best bandwidth of one library on a link, and the fraction that was printed with it."""

    library: str
    gbs: float
    printed_percent: float | None = None


class Link(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One link of a published machine; rates in GB/s."""

    name: str
    theoretical_gbs: float
    achievable_gbs: float
    traffic: bool = False  # the peaks count bytes read and bytes written
    table_one: list[str]  # ids of the paths it stands beside
    table_two: list[str] = []
    printed_of: str = "achievable"  # "theoretical", "achievable" or "other"
    other: str = ""
    other_gbs: float = 0.0
    mpi: list[Library] = []

    @property
    def fraction(self) -> float:
        """Of the theoretical peak."""
        return self.achievable_gbs / self.theoretical_gbs

    @property
    def note(self) -> str:
        """What must be known before its peaks are set against those of a study."""
        if not self.traffic:
            return ""
        halves = [number(value / 2) for value in (self.theoretical_gbs, self.achievable_gbs)]
        return (
            "counts bytes read and bytes written; as a payload, which counts once here,"
            f" {halves[0]} and {halves[1]} GB/s"
        )

    @property
    def denominator(self) -> str:
        """What the fractions of its libraries are fractions of."""
        if self.printed_of == "other":
            return f"the {number(self.other_gbs)} GB/s {self.other}"
        value = self.theoretical_gbs if self.printed_of == "theoretical" else self.achievable_gbs
        counted = ", read and written" if self.traffic else ""
        return f"the {self.printed_of} {number(value)} GB/s{counted}"


class Figure(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One figure of a benchmark; microseconds for `latency`, else GB/s."""

    path: str
    benchmark: str
    value: float
    size_bytes: int | None = None
    library: str = ""
    staged: bool = False


class Published(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A machine of which figures were published."""

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
    """One row of Table 1: what a path carries without MPI, here and there."""

    path: str
    own: TheoryRow | None
    own_theoretical_gbs: float | None
    link: Link


@dataclass(frozen=True)
class MpiPair:
    """One row of Table 2: the best that MPI reaches on a path, here and there."""

    path: str
    case: str  # "bw D,D", "latency D,D at 1 B"
    cell: Cell | None
    there: str  # whose value it is
    value: float
    unit: str
    fraction: float | None
    of: str  # what `fraction` is a fraction of, whole words

    @property
    def here(self) -> str:
        """Whose value it is."""
        return "" if self.cell is None else label(self.cell.library, self.cell.settings)


@dataclass(frozen=True)
class Beside:
    """A study's two tables beside those of one published machine."""

    machine: Published
    table_one: list[TheoryPair]
    table_two: list[MpiPair]
    missing: list[str]  # what was published of paths that the study does not have


def published() -> list[Published]:
    """All machines of published.toml."""
    text = FILE.read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=_Machines).machine


def choose(ids: Iterable[str]) -> list[Published]:
    """The machines with these ids, each once; UserError names those there are."""
    known = {machine.id: machine for machine in published()}
    chosen = list(dict.fromkeys(ids))
    for one in chosen:
        if one not in known:
            raise UserError(f"--beside {one}: nothing is known of it; there are {', '.join(known)}")
    return [known[one] for one in chosen]


def beside(results: Results, machine: Published) -> Beside:
    """The study's figures of each path that the machine has one like."""
    here = set(summary.paths(results))
    theory = summary.table_one(results)
    rates = {path.id: path.theoretical_gbs for path in results.paths}
    cells = _best_cells(results)
    one = [
        TheoryPair(path, _ceiling(theory, path), rates.get(path), link)
        for link in machine.link
        for path in link.table_one
        if path in here
    ]
    links = [
        _mpi(link, path, cells.get((path, "bw", False), []))
        for link in machine.link
        for path in link.table_two
        if path in here and link.mpi
    ]
    figures = [
        _figure(figure, cells.get((figure.path, figure.benchmark, figure.staged), []))
        for figure in machine.figure
        if figure.path in here
    ]
    absent = [link.name for link in machine.link if not here & {*link.table_one, *link.table_two}]
    absent += [figure.path for figure in machine.figure if figure.path not in here]
    return Beside(machine, one, links + figures, list(dict.fromkeys(absent)))


def _kind(path: str) -> str:
    return _BUFFERS.get(path.split(" ", maxsplit=1)[0], "")


def _ceiling(theory: list[TheoryRow], path: str) -> TheoryRow | None:
    rows = [
        row
        for row in theory
        if (row.path, row.best.metric, row.best.buffers) == (path, "bw", _kind(path))
    ]
    return max(rows, key=lambda row: row.best.value, default=None)


def _best_cells(results: Results) -> dict[tuple[str, str, bool], list[Cell]]:
    """The measured cells of the buffers that the published figures are of.

    By path, benchmark and whether the benchmark staged the data. A cell above its ceiling is a
    defect, so it stands beside nothing.
    """
    wanted = set(summary.variants(results))
    default = {v.unstaged for v in summary.default_variants(results)}
    wanted = {variant for variant in wanted if variant.unstaged in default}
    found: dict[tuple[str, str, bool], list[Cell]] = {}
    for cell in results.cells:
        if cell.median is None or cell.buffers != _kind(cell.path) or summary.is_defect(cell):
            continue
        if summary.variant_of(cell) in wanted:
            key = (cell.path, cell.benchmark, staging(cell.axes) is not None)
            found.setdefault(key, []).append(cell)
    return found


def _mpi(link: Link, path: str, cells: list[Cell]) -> MpiPair:
    best = max(link.mpi, key=lambda library: library.gbs)
    if best.printed_percent is None:
        fraction, how = best.gbs / link.achievable_gbs, "worked out here"
    else:
        fraction, how = best.printed_percent / 100, "as printed"
    return MpiPair(
        path=path,
        case=f"bw {_kind(path)}",
        cell=summary.best_cell(cells),
        there=best.library,
        value=best.gbs,
        unit="GB/s",
        fraction=fraction,
        of=f"{link.denominator} ({how})",
    )


def _figure(figure: Figure, cells: list[Cell]) -> MpiPair:
    case = f"{figure.benchmark} {_kind(figure.path)}"
    if figure.size_bytes is not None:
        case += f" at {size(figure.size_bytes)}"
        cells = [cell for cell in cells if cell.size_bytes == figure.size_bytes]
    if figure.staged:
        case += ", staged by the benchmark"
    return MpiPair(
        path=figure.path,
        case=case,
        cell=summary.best_cell(cells),
        there=figure.library,
        value=figure.value,
        unit="us" if figure.benchmark == "latency" else "GB/s",
        fraction=None,
        of="",
    )


def lines(found: Beside) -> Iterator[str]:
    """What the tables leave open: what is missing here, how peaks count, and the source."""
    shown = {pair.link.name for pair in found.table_one}
    for link in found.machine.link:
        if link.note and link.name in shown:
            yield f"{link.name} of {found.machine.name} {link.note}."
    if found.missing:
        yield f"No such path in this study: {'; '.join(found.missing)}."
    yield f"{found.machine.name}: {found.machine.about}. Source: {found.machine.source}."


def here_words(pair: MpiPair) -> str:
    """`intel, 97.2 % of the measured ceiling at 128 MiB`: whose our figure is, and its fraction."""
    cell = pair.cell
    if cell is None:
        return "not measured"
    how = staging(cell.axes)
    who = pair.here if how is None else f"{pair.here}, {staged(how)}"
    if cell.fraction is None:
        return f"{who}, no ceiling at {size(cell.size_bytes)}"
    return f"{who}, {percent(cell.fraction)} % of the measured ceiling at {size(cell.size_bytes)}"


def there_words(pair: MpiPair) -> str:
    """`MVAPICH2 1.9b, 95.4 % of the achievable 70.6 GB/s (as printed)`."""
    parts = [pair.there] if pair.there else []
    parts += [] if pair.fraction is None else [f"{percent(pair.fraction)} % of {pair.of}"]
    return ", ".join(parts)
