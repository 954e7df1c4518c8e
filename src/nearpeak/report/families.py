# SPDX-License-Identifier: Apache-2.0
"""Every operation of each family: its table at three sizes, and its charts.

Each benchmark names its family. The first sheet of a report shows the benchmarks between two ranks
that are compared with a measured ceiling; their family has a section only if it has others too.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.grouping import grouped
from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.report.remarks import NO_COMMON_BLOCK, PAIRED
from nearpeak.report.wording import defect
from nearpeak.results import order
from nearpeak.results.names import axes_words, loses, status
from nearpeak.results.results import Cell, Furthest, Results
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.benchmarks import QUOTED_BYTES
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.outcomes import GOOD, NOT_TRIED

TITLES = {
    "pt2pt": "Messages between ranks",
    "collective": "Collective operations",
    "rma": "One-sided operations",
    "overlap": "Communication during computation",
    "datatype": "Datatypes with gaps",
    "stream": "Streams of a GPU",
    "nccl": "NCCL and RCCL",
}
REFERENCES = {
    "bound": "a bound: the least time in which the links can carry their data, or the highest rate."
    " Even the best possible operation may be far below 100 %",
    "ideal": "1: the shorter of communication and computation costs no time. 2 means that they run"
    " one after the other. The overlap below is the share of the shorter one that ran beside the"
    " longer one",
    "measured": "the ceiling that was measured without MPI at the same size",
    "none": "nothing: what they could reach without MPI is not measured",
}
BUS = (
    " Collective operations have the bus bandwidth too, at the largest size, as nccl-tests defines"
    " it: the bytes that at least one rank must send or receive, divided by the time."
)
_LISTED = 4  # operations in a sentence
SCATTERED = 2.0  # a range is shown where launches differ by more than this factor
MEDIUM_BYTES = 1 << 15  # about the size at which libraries change protocols


@dataclass(frozen=True)
class Scaling:
    """One curve over the number of ranks: the same operation at nested places."""

    curve: Curve
    places: list[Place]  # by number of ranks, ascending
    sizes: list[int]  # sizes that are shown


@dataclass(frozen=True)
class Family:
    """The section of one family."""

    name: str
    title: str
    about: list[str]  # the references of its operations, and how they were measured
    operations: dict[str, str]  # the summary of each benchmark that was measured
    table: Table
    sentences: list[str]  # one for each place
    charts: dict[tuple[Place, str], list[Curve]]  # by place and buffers, without the first sheet's
    scalings: list[Scaling]


def families(results: Results) -> list[Family]:
    """The families with operations that are not on the first sheet, in the order of the plan."""
    return [_family(results, name, cells) for name, cells in _cells(results).items()]


def titles_of(results: Results) -> list[str]:
    """The titles of these families."""
    return list(map(title, _cells(results)))


def _cells(results: Results) -> dict[str, list[Cell]]:
    """The cells of each of these families."""
    family_of = {benchmark.name: benchmark.family for benchmark in results.benchmarks}
    cells: dict[str, list[Cell]] = {
        benchmark.family: [] for benchmark in results.benchmarks if benchmark.ceiling != "measured"
    }
    for cell in results.cells:
        if (name := family_of[cell.case.benchmark]) in cells:
            cells[name].append(cell)
    return {name: measured for name, measured in cells.items() if measured}


def title(name: str) -> str:
    """The title of a family."""
    return TITLES.get(name, name[:1].upper() + name[1:] or "Other operations")


def _family(results: Results, name: str, cells: list[Cell]) -> Family:
    rank = order.ranking(results)
    curves = sorted({cell.case.curve for cell in cells}, key=lambda curve: (rank(curve), curve))
    sizes = sample_sizes(cell.case.x for cell in cells)
    shown = set(order.first_sheet(results))
    names = {curve.benchmark for curve in curves}
    charts: dict[tuple[Place, str], list[Curve]] = {}
    measured = {(cell.place, cell.case.curve) for cell in cells}
    for place in order.places(results):
        for curve in curves:
            if (place, curve) in measured and curve not in shown:
                charts.setdefault((place, curve.buffers), []).append(curve)
    return Family(
        name=name,
        title=title(name),
        about=[*_about(results, name), *_axes(curves), *_blocks(results, cells)],
        operations={
            benchmark.name: benchmark.summary
            for benchmark in results.benchmarks
            if benchmark.summary and benchmark.name in names
        },
        table=_table(results, name, cells, curves, sizes),
        sentences=list(_sentences(results, name, cells)),
        charts=charts,
        scalings=list(_scalings(results, cells, curves)),
    )


def _about(results: Results, name: str) -> Iterator[str]:
    """Names the reference of each operation."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    measured = {cell.case.benchmark for cell in results.cells}
    judged = {cell.case.benchmark for cell in results.cells if cell.fraction is not None}
    for benchmark in results.benchmarks:
        if benchmark.family == name and benchmark.name in measured:
            kind: str = benchmark.ceiling if benchmark.bound is None else "ideal"
            if kind == "bound" and benchmark.name not in judged:  # its bound was not measured
                kind = "none"
            by_kind[kind].append(benchmark.name)
    for kind, operations in by_kind.items():
        whose = "" if len(by_kind) == 1 else f"{', '.join(operations)}: "
        yield f"{whose}{'compared' if whose else 'Compared'} with {REFERENCES.get(kind, kind)}."


def _axes(curves: Sequence[Curve]) -> Iterator[str]:
    """Names the axes that all curves have in common."""
    common = common_axes(curves)
    if labels := axes_words(common):
        differs = any(curve.axes.keys() - common.keys() for curve in curves)
        rest = "; what differs between operations is shown below their names" if differs else ""
        yield f"Measured with {', '.join(labels)}{rest}."


def _blocks(results: Results, cells: Sequence[Cell]) -> Iterator[str]:
    """Explains the sizes of operations that count blocks, if NCCL is shown: nccl-tests counts whole
    buffers."""
    measured = {cell.case.benchmark for cell in cells}
    of_blocks = [
        benchmark.name
        for benchmark in results.benchmarks
        if benchmark.name in measured
        and benchmark.traffic is not None
        and benchmark.traffic.times_ranks
    ]
    if of_blocks and any(cell.who.library in order.no_mpi(results) for cell in cells):
        yield (
            f"The size of {', '.join(of_blocks)} is the size of one rank's block, with NCCL too."
            " nccl-tests has the size of the whole buffer: this size times the number of ranks."
        )


def common_axes(curves: Sequence[Curve]) -> dict[str, str]:
    """The axes that all curves have with the same value."""
    first, *others = (curve.axes.items() for curve in curves)
    common = set(first).intersection(*others)
    return {name: value for name, value in first if (name, value) in common}


def sample_sizes(measured: Iterable[int]) -> list[int]:
    """A small, a medium and a large one of the measured sizes, without duplicates."""
    sizes = sorted({x for x in measured if x > 0})
    if not sizes:
        return [0]
    small, medium = (
        min(sizes, key=lambda size: (abs(math.log2(size / wanted)), size))
        for wanted in (QUOTED_BYTES, MEDIUM_BYTES)
    )
    return sorted({small, medium, sizes[-1]})


def measured_with(curves: Sequence[Curve]) -> str:
    """`Measured with reuse=fixed. bw, bibw: calls=nonblocking. latency: calls=blocking.`: the
    common axes, then the others."""
    common = common_axes(curves) if curves else {}
    ways: dict[str, list[Curve]] = defaultdict(list)
    pairs = set()
    for curve in curves:
        other = {name: value for name, value in curve.axes.items() if name not in common}
        way = ", ".join(axes_words(other))
        ways[way].append(curve)
        pairs.add((curve.figure, way))
    counts = Counter(figure for figure, _ in pairs)
    parts = [f"Measured with {', '.join(labels)}."] if (labels := axes_words(common)) else []
    for way, group in ways.items():
        whose = dict.fromkeys(
            f"{curve.figure} {curve.buffers}" if counts[curve.figure] > 1 else curve.figure
            for curve in group
        )
        if way:
            parts.append(f"{', '.join(whose)}: {way}.")
    return " ".join(parts)


Key = tuple[Place, str]  # and buffers


def _table(
    results: Results, name: str, cells: list[Cell], curves: Sequence[Curve], sizes: Sequence[int]
) -> Table:
    refused = _refused(results, name)
    measuring = {cell.who for cell in cells}
    who = [contender for contender in order.contenders(results) if contender in measuring]
    by_case = {(cell.who, cell.place, cell.case): cell for cell in cells}
    has_bus = any(map(_bus, cells))
    has_fractions = any(cell.fraction is not None for cell in cells)
    who = list(dict.fromkeys([*who, *(owner for owner, _, _ in refused)]))
    measured = {
        (cell.place, cell.case.curve)
        for cell in cells
        if cell.case.x in (0, *sizes) and cell.who in who
    }
    kinds = {curve.buffers for curve in curves}
    common = common_axes(curves)
    groups = []
    for place in order.places(results):
        for buffers in dict.fromkeys(curve.buffers for curve in curves):
            shown = [
                curve for curve in curves if curve.buffers == buffers and (place, curve) in measured
            ]
            rows = [_row(place, curve, who, sizes, by_case, refused, common) for curve in shown]
            if rows:
                groups.append(Rows(_heading(place, buffers, kinds), rows))
    groups += _never_measured(refused, curves, who, sizes)
    return Table(
        title=f"{title(name)}.",
        caption=(
            "Medians at a small, a medium and a large message size. The percentage below a median"
            " is its fraction of what it is compared with (above), at the same size. Where an"
            " operation failed, the way it failed replaces the figure. A range is shown where"
            " launches differ by more than a factor of two; the table of all cells has all"
            f" intervals. {PAIRED if has_fractions else ''}{BUS if has_bus else ''}"
        ),
        head="Operation",
        columns=[
            Column("unit", "Unit", figure=False),
            *(Column(_key(owner, x), size(x), over=owner.label) for owner in who for x in sizes),
        ],
        groups=groups,
    )


def _heading(place: Place, buffers: str, kinds: set[str]) -> str:
    return f"{place.path} ({buffers})" if len(kinds) > 1 else place.path


def _key(who: Who, x: int) -> str:
    return f"{who.label} {x}"


def _row(
    place: Place,
    curve: Curve,
    who: Sequence[Who],
    sizes: Sequence[int],
    cells: dict[tuple[Who, Place, Case], Cell],
    refused: dict[tuple[Who, str, str], Awareness],
    common: Mapping[str, str],
) -> Row:
    """The row of one operation, without the `common` axes, which stand above the table."""
    values: dict[str, Value] = {}
    present: list[Cell] = []
    for owner in who:
        # A figure without a size stands in the first column.
        mine = {x: cells.get((owner, place, curve.at(x))) for x in sizes}
        if unsized := cells.get((owner, place, curve.at(0))):
            mine = {sizes[0]: mine[sizes[0]] or unsized, **{x: mine[x] for x in sizes[1:]}}
        for x, cell in mine.items():
            if cell is not None:
                values[_key(owner, x)] = _value(cell, _bus(cell) if x == sizes[-1] else "")
                present.append(cell)
        if not any(mine.values()) and (
            tried := refused.get((owner, curve.buffers, curve.benchmark))
        ):
            values[_key(owner, sizes[0])] = _refusal(tried, len(sizes))
    values["unit"] = Value(unit(present[0].unit) if present else "", "text")
    other = {name: value for name, value in curve.axes.items() if name not in common}
    return Row(curve.figure, values, detail=", ".join(axes_words(other)))


def _bus(cell: Cell) -> str:
    """Its bus bandwidth; empty if it has none."""
    return "" if cell.busbw_gbs is None else f"bus {number(cell.busbw_gbs)} GB/s"


def _value(cell: Cell, bus: str) -> Value:
    if cell.median is None:
        return Value(status(cell), "text", tone="bad")
    detail = ""
    if cell.overlap is not None:
        detail = f"overlap {percent(cell.overlap.hidden.value)} %"
    elif cell.fraction is not None:
        detail = f"{percent(cell.fraction)} %"
    elif cell.no_fraction:
        detail = NO_COMMON_BLOCK
    remark = loses(cell) or defect(cell)
    return Value(
        cell.median,
        detail=detail,
        tone="bad" if remark else "",
        remark=remark,
        range=cell.range if cell.range and cell.range[1] > SCATTERED * cell.range[0] else None,
        notes=(bus,) if bus else (),
    )


def _refused(results: Results, name: str) -> dict[tuple[Who, str, str], Awareness]:
    """The operations that failed when they were tried before the study, by library, buffers and
    operation. They were not measured."""
    mine = {benchmark.name for benchmark in results.benchmarks if benchmark.family == name}
    return {
        (Who(tried.library, tried.settings), tried.buffers, tried.operation): tried
        for tried in results.awareness
        if tried.operation in mine and tried.status not in (GOOD, NOT_TRIED)
        if not tried.host_device
    }


def _refusal(tried: Awareness, columns: int) -> Value:
    """One field across the columns of all sizes, as none was measured."""
    text = f"not measured: {tried.status} when tried"
    return Value(text, "text", tone="bad", hover=tried.message, columns=columns)


def _never_measured(
    refused: dict[tuple[Who, str, str], Awareness],
    curves: Sequence[Curve],
    who: Sequence[Who],
    sizes: Sequence[int],
) -> list[Rows]:
    """The operations that no library could do, which belong to no place."""
    measured = {(curve.buffers, curve.benchmark) for curve in curves}
    rows: dict[str, dict[str, dict[str, Value]]] = defaultdict(lambda: defaultdict(dict))
    for (owner, buffers, operation), tried in refused.items():
        if (buffers, operation) not in measured and owner in who:
            rows[buffers][operation][_key(owner, sizes[0])] = _refusal(tried, len(sizes))
    return [
        Rows(f"with {buffers}, tried before the study", list(starmap(Row, mine.items())))
        for buffers, mine in rows.items()
    ]


def _sentences(results: Results, name: str, cells: list[Cell]) -> Iterator[str]:
    """For each place: the operations furthest from their reference, at the smallest and at the
    largest size, the figures without a reference, and the failed operations."""
    kinds = {cell.case.buffers for cell in cells}
    beside = order.no_mpi(results) | order.guests(results)
    furthest = [furthest for furthest in results.furthest if furthest.family == name]
    groups = grouped(cells, lambda cell: (cell.place, cell.case.buffers))
    for (place, buffers), group in groups.items():
        judged = [cell for cell in group if cell.who.library not in beside] or group
        selected = [far for far in furthest if (far.place, far.case.buffers) == (place, buffers)]
        curves = list(dict.fromkeys(cell.case.curve for cell in group))
        measured = "; ".join([*_furthest(selected, curves), *_figures(judged, curves)])
        failed = "; ".join(_failed(group, curves))
        if measured and failed:
            text = f"{measured}. {failed[0].upper()}{failed[1:]}"
        else:
            text = measured or failed or "too few launches to say more than the table"
        yield f"{_heading(place, buffers, kinds)}: {text}."


def _failed(cells: Sequence[Cell], curves: Sequence[Curve]) -> Iterator[str]:
    """The failed operations by failure: no launch measured a size, or some launches lost one."""
    worst: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda cell: (cell.median is None, cell.failed)):
        if cell.median is None or loses(cell):
            worst[_whose(cell, curves)] = cell
    failed = grouped(
        sorted(worst),
        lambda name: loses(worst[name]).replace(" of ", " of its ") or worst[name].status,
    )
    return (f"{failure}: {', '.join(names)}" for failure, names in failed.items())


def _figures(cells: Sequence[Cell], curves: Sequence[Curve]) -> Iterator[str]:
    """The figures without a reference: times at the smallest size, rates at the largest.

    A rate is left out if its curve has a reference at other sizes: a rate of short messages says
    little.
    """
    judged = {(cell.who, cell.case.curve) for cell in cells if cell.fraction is not None}
    by_figure: dict[str, dict[Who, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if cell.median is None or cell.fraction is not None:
            continue
        if cell.better == "lower" or (cell.who, cell.case.curve) not in judged:
            by_figure[named(cell.case, curves)][cell.who].append(cell)
    for figure, by_who in list(by_figure.items())[:_LISTED]:
        values: dict[str, list[str]] = defaultdict(list)
        for who, series in by_who.items():
            chosen = (min if series[0].better == "lower" else max)(
                series, key=lambda cell: cell.case.x
            )
            at_size = f" at {size(chosen.case.x)}" if chosen.case.x else ""
            values[at_size].append(f"{who.label} {number(chosen.median)} {unit(chosen.unit)}")
        yield "; ".join(
            f"{figure}{at_size}: {', '.join(texts)}" for at_size, texts in values.items()
        )
    if len(by_figure) > _LISTED:
        yield f"{len(by_figure) - _LISTED} more in the table"


def _furthest(records: Iterable[Furthest], curves: Sequence[Curve]) -> Iterator[str]:
    """`furthest from the bound: at 8 B bcast of intel, 3.64 % (2.9 to 4.1 % in 9 launches; nccl
    19.8 %)`, for each size."""
    before = ""
    for furthest in records:
        others = ", ".join(
            f"{other.who.label} {percent(other.share)} %" for other in furthest.beside
        )
        reference = (
            "least overlap: " if furthest.of == "overlap" else f"furthest from the {furthest.of}: "
        )
        opening = "" if reference == before else reference
        at_size = f"at {size(furthest.case.x)} " if furthest.case.x else ""
        low, high = furthest.range
        yield (
            f"{opening}{at_size}{_whose(furthest, curves)}, {percent(furthest.share)} %"
            f" ({percent(low)} to {percent(high)} % in {count(furthest.blocks, 'launch')}"
            + (f"; {others})" if others else ")")
        )
        before = reference


def _whose(cell: Cell | Furthest, curves: Sequence[Curve]) -> str:
    """`bcast of intel`."""
    return f"{named(cell.case, curves)} of {cell.who.label}"


def named(case: Curve, curves: Sequence[Curve]) -> str:
    """`put_bw (win=created)`: its figure, with the axes that differ between these curves."""
    common = common_axes([case, *(curve for curve in curves if curve.figure == case.figure)])
    axes = axes_words({name: value for name, value in case.axes.items() if name not in common})
    return f"{case.figure} ({', '.join(axes)})" if axes else case.figure


def _scalings(
    results: Results, cells: Sequence[Cell], curves: Sequence[Curve]
) -> Iterator[Scaling]:
    """The curves that were measured with several numbers of ranks."""
    sizes_by_curve: dict[tuple[Place, Curve], set[int]] = defaultdict(set)
    for cell in cells:
        if cell.median is not None:
            sizes_by_curve[cell.place, cell.case.curve].add(cell.case.x)
    for places in chains(results):
        for curve in curves:
            measured = [place for place in places if sizes_by_curve[place, curve]]
            if len(measured) < 2:
                continue
            common = set.intersection(*(sizes_by_curve[place, curve] for place in measured))
            if common:
                sizes = sample_sizes(common)
                yield Scaling(curve, measured, sorted({sizes[0], sizes[-1]}))


def chains(results: Results) -> list[list[Place]]:
    """Chains of at least two nested places, by ascending number of ranks."""
    left = sorted(
        (path for path in results.paths if path.transport != "local"),
        key=lambda path: -len(path.ends),
    )
    nested = []
    while left:
        chain = [left.pop(0)]
        for path in list(left):
            if len(path.ends) < len(chain[-1].ends) and chain[-1].holds(path):
                chain.append(path)
                left.remove(path)
        if len(chain) > 1:
            nested.append([path.place for path in reversed(chain)])
    return nested
