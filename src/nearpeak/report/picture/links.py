# SPDX-License-Identifier: Apache-2.0
"""What each path of a study carries at the largest message of libraries: the ceiling, the best."""

from dataclasses import dataclass, replace
from string import ascii_letters

from nearpeak.machine.model import Machine
from nearpeak.numbers import count, number, percent, size, spread, unit
from nearpeak.report.picture.shapes import joined
from nearpeak.report.summary import default_curves, first_sheet, places
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.model import CeilingPoint, Cell, Headline, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.buffers import on_host
from nearpeak.terms.identity import Case, Curve
from nearpeak.terms.path import DataPath, Endpoint
from nearpeak.terms.subjects import one_way

NEAR, HALF = 0.9, 0.5  # of the ceiling: from where a library is "near" it, or "half" way there


@dataclass(frozen=True)
class Measured:
    """One direction of a path at its largest message; the directions of a path share a letter."""

    letter: str
    path: DataPath
    name: str  # the path's id, or "host-memory" for several memories
    ends: str  # "GPU 0 to GPU 1", "inside node 0"
    size_bytes: int
    unit: str
    ceiling: float | None
    who: str | None  # the best library, as it is called in the tables
    value: float | None  # what it reaches
    fraction: float | None  # of the ceiling, paired in blocks
    why: str  # there is no library; empty where there is
    highest: float | None = None  # of several memories: the highest ceiling, the lowest is above
    spread: str = ""  # of the fraction, in percent: its interval, or its range
    few: bool = False  # whether fewer launches than an interval takes are behind the value

    @property
    def state(self) -> str:
        """`near`, `half` or `far` from the ceiling; `alone` without a library or a ceiling."""
        if self.fraction is None:
            return "alone"
        return "near" if self.fraction >= NEAR else "half" if self.fraction >= HALF else "far"

    @property
    def share(self) -> str:
        """`97.4 %`; empty where there is none."""
        return "" if self.fraction is None else f"{percent(self.fraction)} %"

    @property
    def figures(self) -> str:
        """`intel 353 of 362 GB/s`."""
        shown = unit(self.unit)
        if self.who is None:
            return f"ceiling {self._ceiling} {shown}, {self.why}"
        if self.ceiling is None:
            return f"{self.who} {number(self.value)} {shown}, no ceiling"
        return f"{self.who} {number(self.value)} of {number(self.ceiling)} {shown}"

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        where = f"{self.name}, {self.ends}, {size(self.size_bytes)}"
        share = " ".join(filter(None, [self.share, self.spread]))
        return f"{where}: {self.figures}" + (f" ({share})" if share else "")

    @property
    def _ceiling(self) -> str:
        low, high = number(self.ceiling), number(self.highest)
        return low if self.highest is None or low == high else f"{low} to {high}"


def measured(results: Results) -> list[Measured]:
    """Of every path between two ends, in the order of the tables.

    Only rates of one direction count, in the default curves of the first sheet, and not what a
    benchmark staged itself. Who is best there, and at which size, the headlines of the results say.
    """
    by_place = {path.place: path for path in results.paths}
    paths = [path for place in places(results) if (path := by_place.get(place)) and is_drawn(path)]
    found: list[Measured] = []
    letters: dict[str, str] = {}
    for path in paths:
        rows = _rows(results, path)
        # All memories share a letter: the nodes that it stands at tell them apart.
        key = path.transport if path.transport == "local" else path.id
        if rows and (key in letters or len(letters) < len(ascii_letters)):
            letter = letters.setdefault(key, ascii_letters.swapcase()[len(letters)])
            found += [replace(row, letter=letter) for row in rows]
    return found


def summed(rows: list[Measured]) -> list[Measured]:
    """The same with all memories in one row, where they end on one size."""
    local = [row for row in rows if row.path.transport == "local"]
    if len(local) < 2 or len({(row.size_bytes, row.unit) for row in local}) > 1:
        return rows
    ceilings = [row.ceiling for row in local if row.ceiling is not None]
    nodes = [row.path.ends[1].numa_node for row in local]
    whole = replace(
        local[0],
        name="host-memory",
        ends=f"inside nodes {joined(nodes)}",
        ceiling=min(ceilings),
        highest=max(ceilings),
    )
    return [*(row for row in rows if row not in local), whole]


def is_drawn(path: DataPath) -> bool:
    """Whether the picture shows a path: two ends, none of all pairs, memory by its own cores."""
    if path.pair or len(path.ends) != 2:
        return False
    return path.transport != "local" or path.ends[0].numa_node == path.ends[1].numa_node


def _rows(results: Results, path: DataPath) -> list[Measured]:
    """One row for each direction: of its kinds of buffers the one that reaches most."""
    comparable, first = one_way(results.benchmarks), set(first_sheet(results))
    ceilings = Ceilings(results.ceilings)
    headlines = {one.case.curve: one for one in results.headlines if one.place == path.place}
    rows = [
        _of_headline(results, path, headlines[curve], ceilings)
        for curve in default_curves(results)
        if curve in first
        and comparable(curve)
        and staging(curve.axes) is None
        and curve in headlines
    ] or [_of_ceiling(results, path, curve) for curve in _of_ceilings(results, path)[:1]]
    best: dict[tuple[bool, ...], Measured] = {}
    for way, row in rows:
        if row and (way not in best or (row.value or 0.0) > (best[way].value or 0.0)):
            best[way] = row
    return list(best.values())


def _of_ceilings(results: Results, path: DataPath) -> list[Curve]:
    """The curves of a path that no library was measured on."""
    comparable = one_way(results.benchmarks)
    points = [point for point in results.ceilings if point.place == path.place and not point.fact]
    return list(
        dict.fromkeys(
            point.case.curve
            for point in points
            if point.better == "higher"
            and (path.transport == "local" or comparable(point.case.curve))
        )
    )


Way = tuple[bool, ...]  # a direction: whether each end is in the host's memory


def _of_headline(
    results: Results, path: DataPath, headline: Headline, ceilings: Ceilings
) -> tuple[Way, Measured | None]:
    """What is said of a path first: at that size, by whoever is best there."""
    native = {info.name for info in results.libraries if info.native}
    cells = [
        cell
        for cell in results.cells
        if (cell.place, cell.case) == (path.place, headline.case)
        and cell.median is not None
        and cell.who.library not in native
    ]
    best = next((cell for cell in cells if cell.who == headline.best), None)
    top = ceilings.of(path.place, headline.case)
    return _row(results, path, headline.case, top, best, measured=bool(cells))


def _of_ceiling(results: Results, path: DataPath, curve: Curve) -> tuple[Way, Measured | None]:
    """Its largest message, where no library was measured."""
    points = Ceilings(results.ceilings).curve(path.place, curve)
    return _row(results, path, points[-1].case, points[-1], None, measured=False)


def _row(
    results: Results,
    path: DataPath,
    case: Case,
    top: CeilingPoint | None,
    best: Cell | None,
    *,
    measured: bool,
) -> tuple[Way, Measured | None]:
    way = on_host(case.buffers)
    if top is None and best is None:
        return way, None
    return way, Measured(
        letter="",
        path=path,
        name=path.id,
        ends=ends_words(results.machine, path, turned=way == (False, True)),
        size_bytes=case.x,
        unit=best.unit if best else top.unit if top else "",
        ceiling=top.value if top else None,
        who=best.who.label if best else None,
        value=best.median if best else None,
        fraction=best.fraction if best else None,
        why="" if best else _why(results, path, measured=measured),
        spread=spread(best.fraction_ci95, best.fraction_range, 100) if best else "",
        few=best is not None and best.ci95 is None,
    )


def _why(results: Results, path: DataPath, *, measured: bool) -> str:
    if path.transport == "local":
        return "no MPI"
    if measured:
        return "no library that can be believed"
    failed = sum(failure.place == path.place for failure in results.failures)
    return f"no library: {count(failed, 'launch')} failed" if failed else "no library measured"


def ends_words(machine: Machine, path: DataPath, turned: bool) -> str:
    """Which parts of the machine the ends are in, the sender first."""
    names = [end_name(machine, end) for end in path.ends]
    if path.two_hosts:
        return f"{names[0]} {'from' if turned else 'to'} the second host"
    if path.shares_gpu or (names[0] == names[1] and path.place.kind == "host-host"):
        return f"inside {names[0]}"
    first, second = reversed(names) if turned else names
    return f"{first} to {second}"


def end_name(machine: Machine, end: Endpoint) -> str:
    """`GPU 1`, `node 0`."""
    if end.gpu is None:
        return f"node {end.numa_node}"
    index = {gpu.uuid: str(gpu.index) for gpu in machine.gpus}.get(end.gpu, "")
    return f"GPU {index or (end.gpu if end.host else '?')}"
