# SPDX-License-Identifier: Apache-2.0
"""Every operation of each family: its table at three sizes, and its charts.

Families are what benchmarks say of themselves. Those between two ranks that are held against a
measured ceiling have the first sheet of a report for themselves; their family has a section where
it has others too.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.report.sections import NO_COMMON_BLOCK, PAIRED, Column, Row, Rows, Table, Value
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
    "overlap": "Communication beside computation",
    "datatype": "Datatypes with gaps",
    "stream": "Streams of a GPU",
    "nccl": "NCCL and RCCL",
}
AGAINST = {
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
_TOLD = 4  # operations in a sentence
SCATTERED = 2.0  # launches that differ by more than this factor show their range
MEDIUM_BYTES = 1 << 15  # about where libraries change from one protocol to another


@dataclass(frozen=True)
class Scaling:
    """One curve over the number of ranks: the same operation at places that hold each other."""

    curve: Curve
    places: list[Place]  # by number of ranks, ascending
    sizes: list[int]  # at which it is shown


@dataclass(frozen=True)
class Family:
    """What is told of one family."""

    name: str
    title: str
    about: list[str]  # what its operations are held against, and how they were measured
    operations: dict[str, str]  # what each that was measured is
    table: Table
    sentences: list[str]  # one for each place
    charts: dict[tuple[Place, str], list[Curve]]  # by place and buffers: those not shown elsewhere
    scalings: list[Scaling]


def families(results: Results) -> list[Family]:
    """The families with operations that are not of the first sheet, in the order of the plan."""
    known = {benchmark.name: benchmark for benchmark in results.benchmarks}
    cells: dict[str, list[Cell]] = defaultdict(list)
    for cell in results.cells:
        cells[known[cell.case.benchmark].family].append(cell)
    names = [
        benchmark.family for benchmark in results.benchmarks if benchmark.ceiling != "measured"
    ]
    return [_family(results, name, cells[name]) for name in dict.fromkeys(names) if cells[name]]


def title(name: str) -> str:
    """What a family is called."""
    return TITLES.get(name, name[:1].upper() + name[1:] or "Other operations")


def _family(results: Results, name: str, cells: list[Cell]) -> Family:
    rank = order.ranking(results)
    curves = sorted({cell.case.curve for cell in cells}, key=lambda curve: (rank(curve), curve))
    sizes = told_sizes(cell.case.x for cell in cells)
    shown = set(order.first_sheet(results))
    charts: dict[tuple[Place, str], list[Curve]] = {}
    there = {(cell.place, cell.case.curve) for cell in cells}
    for place in order.places(results):
        for curve in curves:
            if (place, curve) in there and curve not in shown:
                charts.setdefault((place, curve.buffers), []).append(curve)
    return Family(
        name=name,
        title=title(name),
        about=[*_about(results, name), *_axes(curves), *_blocks(results, cells)],
        operations={
            benchmark.name: benchmark.summary
            for benchmark in results.benchmarks
            if benchmark.summary and any(benchmark.name == curve.benchmark for curve in curves)
        },
        table=_table(results, name, cells, curves, sizes),
        sentences=list(_sentences(results, name, cells)),
        charts=charts,
        scalings=list(_scalings(results, cells, curves)),
    )


def _about(results: Results, name: str) -> Iterator[str]:
    """Which operations are held against what."""
    found: dict[str, list[str]] = defaultdict(list)
    measured = {cell.case.benchmark for cell in results.cells}
    judged = {cell.case.benchmark for cell in results.cells if cell.fraction is not None}
    for benchmark in results.benchmarks:
        if benchmark.family == name and benchmark.name in measured:
            kind: str = benchmark.ceiling if benchmark.bound is None else "ideal"
            if kind == "bound" and benchmark.name not in judged:  # what bounds it is not measured
                kind = "none"
            found[kind].append(benchmark.name)
    for kind, operations in found.items():
        whose = "" if len(found) == 1 else f"{', '.join(operations)}: "
        yield f"{whose}{'compared' if whose else 'Compared'} with {AGAINST.get(kind, kind)}."


def _axes(curves: Sequence[Curve]) -> Iterator[str]:
    """How they were measured, as far as that is the same of all."""
    common = common_axes(curves)
    if words := axes_words(common):
        more = any(curve.axes.keys() - common.keys() for curve in curves)
        rest = "; what differs between operations is shown below their names" if more else ""
        yield f"Measured with {', '.join(words)}{rest}."


def _blocks(results: Results, cells: Sequence[Cell]) -> Iterator[str]:
    """What a size is of, where NCCL stands beside: nccl-tests tells others."""
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
    """The axes that all have, with the same value."""
    first, *others = (curve.axes.items() for curve in curves)
    return {name: value for name, value in first if all((name, value) in other for other in others)}


def told_sizes(measured: Iterable[int]) -> list[int]:
    """A small, a medium and a large one of those that were measured, each once."""
    there = sorted({x for x in measured if x > 0})
    if not there:
        return [0]
    small, medium = (
        min(there, key=lambda size: (abs(math.log2(size / wanted)), size))
        for wanted in (QUOTED_BYTES, MEDIUM_BYTES)
    )
    return sorted({small, medium, there[-1]})


def measured_with(curves: Sequence[Curve]) -> str:
    """`Measured with reuse=fixed. bw, bibw: calls=nonblocking. latency: calls=blocking.`: what they
    have in common, then the others."""
    common = common_axes(curves) if curves else {}
    ways: dict[str, list[Curve]] = defaultdict(list)
    for curve in curves:
        own = {name: value for name, value in curve.axes.items() if name not in common}
        ways[", ".join(axes_words(own))].append(curve)
    several = Counter(figure for way in ways.values() for figure in {one.figure for one in way})
    parts = [f"Measured with {', '.join(words)}."] if (words := axes_words(common)) else []
    for way, some in ways.items():
        whose = dict.fromkeys(
            f"{one.figure} {one.buffers}" if several[one.figure] > 1 else one.figure for one in some
        )
        if way:
            parts.append(f"{', '.join(whose)}: {way}.")
    return " ".join(parts)


Key = tuple[Place, str]  # and buffers


def _table(
    results: Results, name: str, cells: list[Cell], curves: Sequence[Curve], sizes: Sequence[int]
) -> Table:
    who = [
        contender
        for contender in order.contenders(results)
        if any(cell.who == contender for cell in cells)
    ]
    by_case = {(cell.who, cell.place, cell.case): cell for cell in cells}
    refused = _refused(results, name)
    told = any(map(_bus, cells))
    held = any(cell.fraction is not None for cell in cells)
    who += [owner for owner in dict.fromkeys(key[0] for key in refused) if owner not in who]
    kinds = {curve.buffers for curve in curves}
    common = common_axes(curves)
    groups = []
    for place in order.places(results):
        for buffers in dict.fromkeys(curve.buffers for curve in curves):
            here = [
                curve
                for curve in curves
                if curve.buffers == buffers
                and any(
                    (owner, place, curve.at(x)) in by_case for owner in who for x in (0, *sizes)
                )
            ]
            rows = [_row(place, curve, who, sizes, by_case, refused, common) for curve in here]
            if rows:
                groups.append(Rows(_where(place, buffers, kinds), rows))
    groups += _never_measured(refused, curves, who, sizes)
    return Table(
        title=f"{title(name)}.",
        caption=(
            "Medians at a small, a medium and a large message size. The percentage below a median"
            " is its fraction of what it is compared with (above), at the same size. Where an"
            " operation failed, the way it failed replaces the figure. A range is shown where"
            " launches differ by more than a factor of two; the table of all cells has all"
            f" intervals. {PAIRED if held else ''}{BUS if told else ''}"
        ),
        head="Operation",
        columns=[
            Column("unit", "Unit", figure=False),
            *(Column(_key(owner, x), size(x), over=owner.label) for owner in who for x in sizes),
        ],
        groups=groups,
    )


def _where(place: Place, buffers: str, kinds: set[str]) -> str:
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
    """Of one operation; `common`: the axes that are told of all at once."""
    values: dict[str, Value] = {}
    found: list[Cell] = []
    for owner in who:
        # What has no size stands in the first column.
        mine = {x: cells.get((owner, place, curve.at(x))) for x in sizes}
        if unsized := cells.get((owner, place, curve.at(0))):
            mine = {sizes[0]: mine[sizes[0]] or unsized, **{x: mine[x] for x in sizes[1:]}}
        for x, cell in mine.items():
            if cell is not None:
                values[_key(owner, x)] = _value(cell, _bus(cell) if x == sizes[-1] else "")
                found.append(cell)
        if not any(mine.values()) and (
            tried := refused.get((owner, curve.buffers, curve.benchmark))
        ):
            values[_key(owner, sizes[0])] = _refusal(tried, len(sizes))
    values["unit"] = Value(unit(found[0].unit) if found else "", "text")
    other = {name: value for name, value in curve.axes.items() if name not in common}
    return Row(curve.figure, values, detail=", ".join(axes_words(other)))


def _bus(cell: Cell) -> str:
    """Its bus bandwidth; empty of what has none."""
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
    """What libraries could not do when it was tried before the study, by library, buffers and
    operation; so it was not measured."""
    mine = {benchmark.name for benchmark in results.benchmarks if benchmark.family == name}
    return {
        (Who(tried.library, tried.settings), tried.buffers, tried.operation): tried
        for tried in results.awareness
        if tried.operation in mine and tried.status not in (GOOD, NOT_TRIED)
        if not tried.host_device
    }


def _refusal(tried: Awareness, columns: int) -> Value:
    """Over all sizes: it was not measured at any."""
    words = f"not measured: {tried.status} when tried"
    return Value(words, "text", tone="bad", hover=tried.message, columns=columns)


def _never_measured(
    refused: dict[tuple[Who, str, str], Awareness],
    curves: Sequence[Curve],
    who: Sequence[Who],
    sizes: Sequence[int],
) -> list[Rows]:
    """What no library could do: it stands at no place."""
    measured = {(curve.buffers, curve.benchmark) for curve in curves}
    rows: dict[str, dict[str, dict[str, Value]]] = defaultdict(lambda: defaultdict(dict))
    for (owner, buffers, operation), tried in refused.items():
        if (buffers, operation) not in measured and owner in who:
            rows[buffers][operation][_key(owner, sizes[0])] = _refusal(tried, len(sizes))
    return [
        Rows(f"with {buffers}, tried before the study", [Row(*item) for item in mine.items()])
        for buffers, mine in rows.items()
    ]


def _sentences(results: Results, name: str, cells: list[Cell]) -> Iterator[str]:
    """Of each place which operation of a library stays furthest from what it is held against, at
    the smallest and at the largest size, what is held against nothing, and what failed."""
    kinds = {cell.case.buffers for cell in cells}
    beside = order.no_mpi(results) | order.guests(results)
    furthest = [furthest for furthest in results.furthest if furthest.family == name]
    groups: dict[tuple[Place, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.place, cell.case.buffers].append(cell)
    for (place, buffers), here in groups.items():
        mine = [cell for cell in here if cell.who.library not in beside] or here
        told = [far for far in furthest if (far.place, far.case.buffers) == (place, buffers)]
        curves = list(dict.fromkeys(cell.case.curve for cell in here))
        parts = [*_furthest(told, curves), *_figures(mine, curves), *_failed(here, curves)]
        told_of = "; ".join(parts) or "in too few blocks to say more than the table"
        yield f"{_where(place, buffers, kinds)}: {told_of}."


def _failed(cells: Sequence[Cell], curves: Sequence[Curve]) -> Iterator[str]:
    """How operations failed: that no launch measured a size, or in how many one was lost."""
    worst: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda cell: (cell.median is None, cell.failed)):
        if cell.median is None or loses(cell):
            worst[_whose(cell, curves)] = cell
    failed: dict[str, list[str]] = defaultdict(list)
    for name, cell in sorted(worst.items()):
        failed[loses(cell) or cell.status].append(name)
    return (f"{how}: {', '.join(names)}" for how, names in failed.items())


def _figures(cells: Sequence[Cell], curves: Sequence[Curve]) -> Iterator[str]:
    """What is held against nothing: a time at the smallest size, all else at the largest, but where
    larger ones are held against something: a rate of short messages says little."""
    held = {(cell.who, cell.case.curve) for cell in cells if cell.fraction is not None}
    found: dict[str, dict[Who, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if cell.median is None or cell.fraction is not None:
            continue
        if cell.better == "lower" or (cell.who, cell.case.curve) not in held:
            found[named(cell.case, curves)][cell.who].append(cell)
    for figure, by_who in list(found.items())[:_TOLD]:
        values: dict[str, list[str]] = defaultdict(list)
        for who, some in by_who.items():
            chosen = (min if some[0].better == "lower" else max)(some, key=lambda cell: cell.case.x)
            at = f" at {size(chosen.case.x)}" if chosen.case.x else ""
            values[at].append(f"{who.label} {number(chosen.median)} {unit(chosen.unit)}")
        yield "; ".join(f"{figure}{at}: {', '.join(words)}" for at, words in values.items())
    if len(found) > _TOLD:
        yield f"{len(found) - _TOLD} more in the table"


def _furthest(found: Iterable[Furthest], curves: Sequence[Curve]) -> Iterator[str]:
    """`furthest from the bound: at 8 B bcast of intel, 3.64 % (2.9 to 4.1 % in 9 blocks; nccl
    19.8 %)`, of each size."""
    before = ""
    for furthest in found:
        others = ", ".join(f"{each.who.label} {percent(each.share)} %" for each in furthest.beside)
        of = "least overlap: " if furthest.of == "overlap" else f"furthest from the {furthest.of}: "
        at = f"at {size(furthest.case.x)} " if furthest.case.x else ""
        whose = _whose(furthest, curves)
        low, high = furthest.range
        yield (
            f"{'' if of == before else of}{at}{whose}, {percent(furthest.share)} %"
            f" ({percent(low)} to {percent(high)} % in {count(furthest.blocks, 'block')}"
            + (f"; {others})" if others else ")")
        )
        before = of


def _whose(cell: Cell | Furthest, curves: Sequence[Curve]) -> str:
    """`bcast of intel`."""
    return f"{named(cell.case, curves)} of {cell.who.label}"


def named(case: Curve, curves: Sequence[Curve]) -> str:
    """`put_bw (win=created)`: its figure, with the axes that tell it from others of these."""
    common = common_axes([case, *(curve for curve in curves if curve.figure == case.figure)])
    axes = axes_words({name: value for name, value in case.axes.items() if name not in common})
    return f"{case.figure} ({', '.join(axes)})" if axes else case.figure


def _scalings(
    results: Results, cells: Sequence[Cell], curves: Sequence[Curve]
) -> Iterator[Scaling]:
    """The curves that were measured with several numbers of ranks."""
    known: dict[tuple[Place, Curve], set[int]] = defaultdict(set)
    for cell in cells:
        if cell.median is not None:
            known[cell.place, cell.case.curve].add(cell.case.x)
    for places in chains(results):
        for curve in curves:
            there = [place for place in places if known[place, curve]]
            if len(there) < 2:
                continue
            common = set.intersection(*(known[place, curve] for place in there))
            if common:
                sizes = told_sizes(common)
                yield Scaling(curve, there, sorted({sizes[0], sizes[-1]}))


def chains(results: Results) -> list[list[Place]]:
    """Places that hold each other, by number of ranks, the fewest first: two at least."""
    left = sorted(
        (path for path in results.paths if path.transport != "local"),
        key=lambda path: -len(path.ends),
    )
    found = []
    while left:
        chain = [left.pop(0)]
        for path in list(left):
            if len(path.ends) < len(chain[-1].ends) and chain[-1].holds(path):
                chain.append(path)
                left.remove(path)
        if len(chain) > 1:
            found.append([path.place for path in reversed(chain)])
    return found
