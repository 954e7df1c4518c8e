# SPDX-License-Identifier: Apache-2.0
"""The two tables of a study, from the figures that headlines.py selects."""

from collections.abc import Iterable, Mapping
from itertools import groupby

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.numbers import number, percent, size, unit
from nearpeak.report.headlines import Group
from nearpeak.report.remarks import BY_TRIALS, NO_COMMON_BLOCK, PAIRED
from nearpeak.report.wording import convention, defect
from nearpeak.results import methods, names
from nearpeak.results.peaks import HEALTHY, JUDGED_FROM
from nearpeak.results.results import CeilingKind, CeilingPoint, Cell, Peak, Reference, Results
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL

ONE = "Table 1. What each path carries without MPI."
TWO = "Table 2. What each library reaches, and how near that is."
PLATEAU = (
    "Plateau: the best value of the ceiling at any size. Sizes that the host's caches hold count"
    " only where no larger one was measured."
)
IDEAL = (
    "Communication beside computation is shown as the time of both at once, divided by the time of"
    " the longer one alone: 1 is the best possible, 2 means that one waited for the other. Overlap"
    " is the share of the shorter one that ran beside the longer one. "
)
BOUND = (
    "Collective and one-sided operations and datatypes are compared with a bound: the least time in"
    " which the links can carry their data, or the highest rate. The best possible value may be"
    " worse than the bound. "
)

# Requirements of methods that a library cannot meet.
NEEDS = {
    "gpu": "holds the GPU between messages",
    "window": "knows all messages of a window in advance",
}


def table_one(results: Results, rows: Iterable[Peak], folded: str = "") -> Table:
    """The rates that each path sustains without MPI.

    `rows`: peaks of `results`, grouped by path; `folded`: the summary of the folded table.
    """
    points = {
        (ceiling.place, ceiling.case): ceiling
        for ceiling in results.ceilings
        if ceiling.kind == "measured"
    }

    def rows_of(peaks: Iterable[Peak]) -> list[Row]:
        return [_peak(peak, points[peak.place, peak.case]) for peak in peaks]

    return Table(
        title=ONE,
        caption=(
            "The measured ceiling is the best of several methods at each message size. A rate is"
            " shown at the size where it is highest, a time at the smallest size above 0 B. [a, b]"
            f" is a 95 % interval over launches; with fewer than {FEWEST_FOR_INTERVAL} launches"
            " there is a range instead. Theoretical: the payload that the link can carry. % of"
            f" theoretical shows whether the hardware is sound: below {percent(HEALTHY)} %, check"
            f" it, if messages of {size(JUDGED_FROM)} or more were measured. Fact: a figure that is"
            " the ceiling of no MPI benchmark."
        ),
        head="Metric",
        columns=[
            Column("ceiling", "Measured ceiling"),
            Column("unit", "Unit", figure=False),
            Column("size", "At size"),
            Column("method", "Method", figure=False),
            Column("theoretical", "Theoretical", "GB/s, one direction"),
            Column("fraction", "Measured", "% of theoretical"),
        ],
        groups=[
            Rows(place.path, rows_of(mine))
            for place, mine in groupby(rows, key=lambda row: row.place)
        ],
        empty="No ceiling was measured.",
        folded=folded,
    )


def _peak(peak: Peak, best: CeilingPoint) -> Row:
    counting = tuple(filter(None, [names.counted(best.case, best.value)]))
    values = {
        "ceiling": Value(best.value, ci95=best.ci95, range=best.range, notes=counting),
        "unit": Value(unit(best.unit), "text"),
        "size": Value(best.case.x, "size", notes=_located(best)),
        "method": Value(best.method, "text", notes=_method_notes(best)),
    }
    if best.fact:
        values["theoretical"] = Value("", "text", notes=("fact: not the ceiling of a benchmark",))
    elif peak.one_way:
        theoretical, counted = peak.theoretical_gbs, convention(peak)
        notes = (counted,) if theoretical and counted else ()
        values["theoretical"] = Value(theoretical or "not known", notes=notes)
        if peak.of_theoretical is not None:
            remark = "check it" if peak.suspect else ""
            values["fraction"] = Value(peak.of_theoretical, "percent", remark=remark)
    return Row(best.case.figure, values, names.detail(best.case))


def _located(best: CeilingPoint) -> tuple[str, ...]:
    notes = list(filter(None, [names.in_cache(best)]))
    if best.above_memory is not None:
        notes.append(f"defect: the memory copies {number(best.above_memory)}")
    return tuple(notes)


def _method_notes(best: CeilingPoint) -> tuple[str, ...]:
    notes = [description] if (description := methods.WORDS.get(best.method)) else []
    if best.modes:
        paces = ", ".join(f"{number(mode.value)} in {percent(mode.share)} %" for mode in best.modes)
        notes.append(f"two paces: {paces} of its samples; the better one counts")
    if best.otherwise:
        notes.append(_uncertain(best))
    if best.attainable is not None:
        requirements = " and ".join(NEEDS[need] for need in best.needs.get(best.method, ()))
        short = f", {BY_TRIALS}" if best.attainable.by_trials else ""
        method = methods.describe(best.attainable.method)
        attained = f"{number(best.attainable.value)} ({method}{short})"
        notes.append(
            f"this method {requirements}; a library can attain {attained}"
            if requirements
            else f"a library can attain {attained}"
        )
    return tuple(notes)


def _uncertain(best: CeilingPoint) -> str:
    """A note that another method or mode may be the best one."""
    prefix = "unconfirmed which method or pace is best"
    if best.ci95 is not None:
        return f"{prefix}: the interval covers all of them"
    all_values = [value for values in (best.values, *best.otherwise) for value in values]
    return f"{prefix}: they lie between {number(min(all_values))} and {number(max(all_values))}"


def table_two(groups: list[Group], order: list[str], about: str = "", *, folded: str = "") -> Table:
    """The figures in `order` of each alternative, at the size of the headline.

    `about`: added to the caption; `folded`: as in Table 1. If a figure has the same size in all
    groups, its heading has the size.
    """
    figures = {name: figure for group in groups for name, figure in group.figures.items()}
    # Times first, as everywhere in the field.
    present = sorted(
        (name for name in order if name in figures),
        key=lambda name: figures[name].better != "lower",
    )
    return Table(
        title=TWO,
        caption=(
            "Times are those of messages of 8 B. All other figures are those of the largest message"
            " size that all libraries were asked to send. [a, b] is a 95 % interval. The rows below"
            " the libraries are the references of the percentages. Ceiling: what the path carries"
            " without MPI at the same size, by any method. Attainable (shown where it differs from"
            " the ceiling): what a library can reach, as it neither holds the GPU between messages"
            f" nor knows all messages of a window in advance. {PLATEAU} {PAIRED} "
            + (BOUND if any(map(has_bound, groups)) else "")
            + (IDEAL if any(_has(group, "ideal") for group in groups) else "")
            + about
        ).strip(),
        head="Library",
        columns=[column for name in present for column in _columns(groups, name)],
        groups=[Rows(group.title, _rows(group, present)) for group in groups],
        folded=folded,
    )


def too_wide(figures: int) -> Table:
    """The substitute for Table 2 if the tables of the families have the same figures."""
    text = f"Table 2 would have {figures} figures side by side: the families below have them all."
    return Table(title=TWO, caption="", head="", columns=[], empty=text)


def has_bound(group: Group) -> bool:
    """True if the reference of any figure is a bound derived from ceilings."""
    return _has(group, "bound")


def _has(group: Group, kind: CeilingKind) -> bool:
    ceilings = (figure.ceiling for figure in group.figures.values())
    return any(ceiling is not None and ceiling.kind == kind for ceiling in ceilings)


def _sizes(groups: list[Group], name: str) -> set[int]:
    return {group.figures[name].case.x for group in groups if name in group.figures}


def _columns(groups: list[Group], name: str) -> list[Column]:
    figure = next(group.figures[name] for group in groups if name in group.figures)
    sizes = _sizes(groups, name)
    over = f"{name}, {size(min(sizes))}" if len(sizes) == 1 else name
    columns = [Column(f"{name} value", unit(figure.unit), over=over)]
    if len(sizes) > 1:
        columns.append(Column(f"{name} size", "at size", over=over))
    if held := [ceiling for group in groups if (ceiling := _ceiling(group, name))]:
        columns.append(Column(f"{name} fraction", "% of", names.reference(held[0]), over=over))
    if any(_overlap(group, name) for group in groups):
        columns.append(Column(f"{name} overlap", "Overlap", "%", over=over))
    if any(group.figures[name].plateau for group in groups if name in group.figures):
        columns.append(Column(f"{name} plateau", "% of", "plateau", over=over))
    return columns


def _overlap(group: Group, name: str) -> bool:
    cells = (row.reached.get(name) for row in group.rows)
    return any(cell is not None and cell.overlap is not None for cell in cells)


def _ceiling(group: Group, name: str) -> Reference | None:
    return group.figures[name].ceiling if name in group.figures else None


def _rows(group: Group, order: list[str]) -> list[Row]:
    figures = {name: group.figures[name] for name in order if name in group.figures}
    rows = []
    for row in group.rows:
        values: dict[str, Value] = {}
        for name in figures:
            if name in row.reached or not row.guest:
                values |= _reached(name, row.reached.get(name))
        rows.append(Row(row.label, values))
    ceilings = {name: figure.ceiling for name, figure in figures.items() if figure.ceiling}
    for head in ("ceiling", "bound"):
        mine = {
            name: ceiling for name, ceiling in ceilings.items() if names.reference(ceiling) == head
        }
        if mine:
            rows.append(Row(head, _points(mine), ceiling=True))
    attainable = {name: figure.attainable for name, figure in figures.items() if figure.attainable}
    if attainable:
        short = {
            name: (BY_TRIALS,) if point.by_trials else () for name, point in attainable.items()
        }
        rows.append(Row("attainable", _points(attainable, short, sized=False), ceiling=True))
    plateaus = {name: figure.plateau for name, figure in figures.items() if figure.plateau}
    if plateaus:
        plateau_notes = {
            name: tuple(
                filter(
                    None,
                    [
                        "of several sizes"
                        if figures[name].plateau_of_several
                        else f"at {size(plateau.x)}",
                        names.in_cache(plateau),
                    ],
                )
            )
            for name, plateau in plateaus.items()
        }
        rows.append(Row("plateau", _points(plateaus, plateau_notes), ceiling=True))
    return rows


def _below(cell: Cell) -> tuple[str, ...]:
    """The notes below the fraction of a cell."""
    if cell.no_fraction:
        return (NO_COMMON_BLOCK,)
    attainable = cell.fraction_attainable
    return () if attainable is None else (f"{percent(attainable)} % of attainable",)


def _reached(name: str, cell: Cell | None) -> dict[str, Value]:
    if cell is None:
        return {f"{name} value": Value(None)}
    if cell.median is None:
        return {f"{name} value": Value(names.status(cell), "text", tone="bad")}
    values = {
        f"{name} value": Value(
            cell.median,
            ci95=cell.ci95,
            range=cell.range,
            tone="bad" if names.loses(cell) else "",
            notes=tuple(filter(None, [names.loses(cell)])),
        ),
        f"{name} size": Value(cell.case.x, "size"),
        f"{name} fraction": Value(
            cell.fraction,
            "percent",
            ci95=cell.fraction_ci95,
            range=cell.fraction_range,
            few="blocks",
            blocks=cell.fraction_blocks,
            notes=_below(cell),
            tone="bad" if defect(cell) else "",
            remark=defect(cell),
        ),
    }
    if cell.overlap is not None:
        hidden = cell.overlap.hidden
        values[f"{name} overlap"] = Value(
            hidden.value, "percent", ci95=hidden.ci95, range=hidden.range
        )
    if part := cell.of_plateau:
        values[f"{name} plateau"] = Value(
            part.fraction,
            "percent",
            ci95=part.ci95,
            range=part.range,
            few="blocks",
            blocks=part.blocks,
        )
    return values


def _points(
    points: Mapping[str, Reference],
    notes_of: Mapping[str, tuple[str, ...]] | None = None,
    *,
    sized: bool = True,
) -> dict[str, Value]:
    """The values of a reference row; `notes_of`: the notes below each; `sized`: with a size."""
    values: dict[str, Value] = {}
    for name, point in points.items():
        notes = notes_of[name] if notes_of else ()
        values[f"{name} value"] = Value(
            point.value, ci95=point.ci95, range=point.range, notes=notes
        )
        if sized:
            values[f"{name} size"] = Value(point.x, "size")
    return values
