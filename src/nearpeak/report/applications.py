# SPDX-License-Identifier: Apache-2.0
"""The section of each application: its table, its charts, and the messages that took another time
than the study's own messages predict."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.grouping import grouped
from nearpeak.numbers import count, number, percent, size, spread, unit
from nearpeak.results.applications import SCALING, scales
from nearpeak.results.cells import ABOVE
from nearpeak.results.deviations import FAR
from nearpeak.results.locality import COPY
from nearpeak.results.names import axes_words, loses, status
from nearpeak.results.results import Application, Beside, Deviation, Estimated, Results
from nearpeak.terms.axes import USUAL_STATE
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.identity import Place, Who
from nearpeak.terms.path import DataPath

ABOUT = {
    "Time": "of an iteration on the slowest rank",
    "Roofline": "the least time in which the ranks could copy what an iteration must copy, divided"
    " by the measured time. The least time follows from the ceiling of their memory: of host"
    " memory with one core for each rank, of GPU memory for all ranks that share the GPU",
    "Not computing": "the share of an iteration that is left after the computation of the rank that"
    " computes longest. None where kernels run beside messages (exposed compute: there the CPU"
    " does nothing but wait for them)",
    "Imbalance": "the longest computation of a rank, divided by the mean over all ranks. Ranks that"
    " share a GPU have no imbalance and no efficiency: in all parts, the kernels of one wait for"
    " those of another",
    "Efficiency": "compared with the fewest ranks: t / t' for weak scaling; for strong scaling the"
    " same, divided by the ratio of the numbers of ranks",
    "Hidden": "by how much an iteration is shorter than communication and computation one after the"
    " other, divided by the shorter of both. Communication, with its packing, and computation are"
    " each measured alone",
    "Messages": "what the messages took on the rank that waits least for others",
    "Predicted": "what the messages should take, by the latency and the rate of the same library's"
    " messages in this study. None for messages that are staged or hidden by computation",
    "Ratios": "medians of the ratios of single blocks",
}


Measure = Callable[[Application], Value | None]


@dataclass(frozen=True)
class Part:
    """A part of an iteration, as a piece of a bar."""

    name: str
    us: float
    width: float  # in percent of the longest bar
    colour: int  # the same of a name in all bars


@dataclass(frozen=True)
class Bar:
    """The parts of an iteration."""

    label: str
    parts: list[Part]


@dataclass(frozen=True)
class Line:
    """One library in one way, over the number of ranks."""

    who: Who
    way: str  # its axes whose value is not the default
    points: dict[int, Value]  # percentages, by ranks ascending


@dataclass(frozen=True)
class Growth:
    """A chart over the number of ranks."""

    measure: str  # "efficiency"
    title: str  # memory and buffers, problem size, scaling
    lines: list[Line]

    @property
    def ranks(self) -> list[int]:
        """The numbers of ranks at which any line has a point."""
        return sorted({ranks for line in self.lines for ranks in line.points})


@dataclass(frozen=True)
class Section:
    """One application."""

    name: str
    summary: str
    table: Table
    sentences: list[str]
    bars: dict[str, list[Bar]]  # by the titles of the table's groups, where parts were measured
    growths: list[Growth]  # only of problems that ran on more than one number of ranks


def sections(results: Results) -> list[Section]:
    """Each application that was measured, in the order of the plan."""
    by_benchmark = grouped(
        results.applications, lambda application: application.cell.case.benchmark
    )
    cached = _cached_copies(results)
    return [
        _section(named(results.benchmarks, name), applications, cached)
        for name, applications in by_benchmark.items()
    ]


def names(results: Results) -> list[str]:
    """The names of these applications."""
    return list(dict.fromkeys(row.cell.case.benchmark for row in results.applications))


def _cached_copies(results: Results) -> dict[Place, int]:
    """Sizes in bytes of the arrays that the ceiling of each place's memory was measured with, where
    caches may hold them."""
    paths = {path.place: path for path in results.paths}
    arrays: dict[int | None, int] = {}  # by NUMA node
    for point in results.ceilings:
        nodes = _numa_nodes(paths.get(point.place))
        local = point.place.transport == "local" and point.case.metric == COPY
        if local and point.lies_in == "shared cache" and len(nodes) == 1:
            arrays[nodes.pop()] = point.case.x
    cached = {}
    for place, path in paths.items():
        nodes = _numa_nodes(path)
        if len(nodes) == 1 and "gpu" not in place.ends and nodes <= arrays.keys():
            cached[place] = arrays[nodes.pop()]
    return cached


def _numa_nodes(path: DataPath | None) -> set[int | None]:
    return {end.numa_node for end in path.ends} if path else set()


def _section(
    benchmark: Benchmark,
    applications: Sequence[Application],
    cached: Mapping[Place, int],
) -> Section:
    groups = grouped(applications, lambda application: _title(application, benchmark))
    return Section(
        name=benchmark.name,
        summary=benchmark.summary,
        table=Table(
            title=f"{benchmark.name}.",
            caption=f"Unless a row says otherwise: {_axes_text(_listed_defaults(benchmark))}.",
            head=f"Ranks, {benchmark.x.name}",
            columns=_columns(applications, benchmark),
            groups=[
                Rows(
                    title,
                    [_row(application, _label(application, benchmark)) for application in group],
                )
                for title, group in groups.items()
            ],
        ),
        sentences=[*_without_roofline(applications, cached), *_sentences(applications, benchmark)],
        bars=_bars(applications, benchmark),
        growths=list(_growths(applications, benchmark)),
    )


def _defaults(benchmark: Benchmark) -> dict[str, str]:
    return {axis.name: axis.default for axis in benchmark.axes}


def _listed_defaults(benchmark: Benchmark) -> dict[str, str]:
    """The default axes without the state of the buffers, which an application writes itself."""
    states = dict(USUAL_STATE)
    return {name: value for name, value in _defaults(benchmark).items() if name not in states}


def way(application: Application, benchmark: Benchmark) -> str:
    """`overlap=yes, type=float`: the axes whose value is not the default; empty without any."""
    defaults = _defaults(benchmark)
    axes = application.cell.case.axes
    return _axes_text({name: value for name, value in axes.items() if defaults.get(name) != value})


def _title(application: Application, benchmark: Benchmark) -> str:
    """`gpu-gpu nvlink (D,D), side 4096 cells`: path, buffers and problem size."""
    cell = application.cell
    return f"{cell.place.path} ({cell.case.buffers}), {problem_size(application, benchmark)}"


def problem_size(application: Application, benchmark: Benchmark) -> str:
    """`side 4096 cells`, `100000 particles`."""
    x, count = benchmark.x, application.cell.case.x
    return f"{count} {x.unit}" if x.name == x.unit else f"{x.name} {count} {x.unit}"


def _bars(applications: Sequence[Application], benchmark: Benchmark) -> dict[str, list[Bar]]:
    colours: dict[str, int] = {}
    groups: dict[str, list[Application]] = defaultdict(list)
    for application in applications:
        for name in application.phases:
            colours.setdefault(name, len(colours))
        if sum(application.phases.values()) > 0:
            groups[_title(application, benchmark)].append(application)
    bars: dict[str, list[Bar]] = defaultdict(list)
    for title, group in groups.items():
        longest = max(sum(application.phases.values()) for application in group)
        for application in group:
            parts = [
                Part(name, us, 100 * us / longest, colours[name])
                for name, us in application.phases.items()
            ]
            bars[title].append(Bar(_label(application, benchmark), parts))
    return dict(bars)


def _growths(applications: Sequence[Application], benchmark: Benchmark) -> Iterator[Growth]:
    """The charts of each problem whose ranks all have the same memory."""
    groups: dict[str, list[Application]] = defaultdict(list)
    for application in applications:
        case, ends = application.cell.case, set(application.cell.place.ends)
        if len(ends) == 1 and application.cell.median is not None:
            scaled = f", {scaling} scaling" if (scaling := case.axes.get(SCALING)) else ""
            groups[
                f"{ends.pop()} ({case.buffers}), {problem_size(application, benchmark)}{scaled}"
            ].append(application)
    for title, group in groups.items():
        ways = grouped(
            sorted(group, key=_ranks),
            lambda application: (application.cell.who, way(application, benchmark)),
        )
        for measure, value in MEASURES.items():
            lines = [
                Line(who, ", ".join(filter(None, [variant, path])), _points(members, value))
                for (who, variant), all_of_way in ways.items()
                for path, members in _lines(all_of_way)
            ]
            drawn = [line for line in lines if len(line.points) > 1]
            if drawn:
                yield Growth(measure, title, drawn)


def _points(applications: Sequence[Application], measure: Measure) -> dict[int, Value]:
    return {_ranks(row): value for row in applications if (value := measure(row))}


def _lines(applications: Sequence[Application]) -> Iterator[tuple[str, list[Application]]]:
    """The applications of each line, by its path; a single one, with an empty path, unless several
    applications have the same number of ranks."""
    counts = Counter(map(_ranks, applications))
    unique = [application for application in applications if counts[_ranks(application)] == 1]
    shared = [application for application in applications if counts[_ranks(application)] > 1]
    if not shared:
        yield "", unique
    for path in dict.fromkeys(application.cell.place.path for application in shared):
        on_path = [application for application in shared if application.cell.place.path == path]
        yield path, sorted([*unique, *on_path], key=_ranks)


def _ranks(application: Application) -> int:
    return len(application.cell.place.ends)


def _efficiency(application: Application) -> Value | None:
    """The efficiency relative to the fewest ranks, for which it is 1."""
    if not scales(application.work, application.cell.place):
        return None
    return _percent(application.scaled.efficiency) if application.scaled else Value(1.0, "percent")


def _share(application: Application) -> Value | None:
    return (
        None if application.not_computing is None else Value(application.not_computing, "percent")
    )


MEASURES: dict[str, Measure] = {
    "efficiency": _efficiency,
    "roofline": lambda application: (
        _roofline(application.roofline.fraction) if application.roofline else None
    ),
    "not computing": _share,
}


def _label(application: Application, benchmark: Benchmark) -> str:
    """`2 x intel overlap=yes`."""
    label = application.cell.who.label
    return f"{_ranks(application)} x {label} {way(application, benchmark)}".rstrip()


def _columns(applications: Sequence[Application], benchmark: Benchmark) -> list[Column]:
    rates = [metric.unit for metric in benchmark.metrics[1:2]]
    optional = {
        Column("roofline", "Roofline", "%"): any(row.roofline for row in applications),
        Column("share", "Not computing", "%"): any(
            row.not_computing is not None for row in applications
        ),
        Column("imbalance", "Imbalance"): any(row.imbalance for row in applications),
        Column("efficiency", "Efficiency", "%"): any(row.scaled for row in applications),
        Column("hidden", "Hidden", "%"): any(row.hidden for row in applications),
        Column("messages", "Messages", "µs"): any(row.messages_us for row in applications),
        Column("predicted", "Predicted", "µs"): any(row.predicted_us for row in applications),
        Column("beside", "Beside", figure=False): any(row.beside for row in applications),
    }
    return [
        Column("time", "Time", unit(applications[0].cell.unit)),
        *(Column("rate", "Rate", rate) for rate in rates),
        *(column for column, present in optional.items() if present),
    ]


def _row(application: Application, head: str) -> Row:
    cell = application.cell
    if cell.median is None:
        return Row(head, {"time": Value(status(cell), "text", tone="bad")})
    values = {
        "time": Value(
            cell.median,
            ci95=cell.ci95,
            range=cell.range,
            tone="bad" if loses(cell) else "",
            notes=tuple(filter(None, [loses(cell)])),
        ),
        "rate": Value(application.rate),
        "beside": Value("; ".join(map(_beside, application.beside)), "text"),
    }
    if application.roofline:
        values["roofline"] = _roofline(application.roofline.fraction)
    if application.scaled:
        values["efficiency"] = _percent(application.scaled.efficiency, application.scaled.scaling)
    if application.imbalance:
        values["imbalance"] = _ratio(application.imbalance)
    if application.hidden:
        values["hidden"] = _percent(application.hidden)
    if application.not_computing is not None:
        values["share"] = Value(application.not_computing, "percent")
    if application.messages_us is not None:
        values["messages"] = Value(application.messages_us)
    if application.predicted_us is not None:
        values["predicted"] = Value(
            application.predicted_us, range=application.predicted_range, few="blocks"
        )
    return Row(head, values)


def _axes_text(axes: Mapping[str, str]) -> str:
    """`overlap=yes, type=float`."""
    return ", ".join(axes_words(axes))


def _percent(estimate: Estimated, detail: str = "") -> Value:
    return replace(_ratio(estimate), kind="percent", detail=detail)


def _ratio(estimate: Estimated) -> Value:
    return Value(estimate.value, ci95=estimate.ci95, range=estimate.range, few="blocks")


def _roofline(estimate: Estimated) -> Value:
    """A fraction of the roofline; one that is above 1 by more than noise is marked as a defect."""
    low, _ = estimate.ci95 or estimate.range
    if estimate.value <= ABOVE or low <= 1:
        return _percent(estimate)
    return replace(_percent(estimate), tone="bad", remark="(defect)")


def _beside(beside: Beside) -> str:
    """`1.05 times as fast as overlap=no [1.03, 1.06]`."""
    speedup = beside.speedup
    interval = spread(speedup.ci95, speedup.range)
    return f"{number(speedup.value)} times as fast as {beside.axis}={beside.value} {interval}"


def _without_roofline(
    applications: Sequence[Application], cached: Mapping[Place, int]
) -> Iterator[str]:
    arrays = {
        cached[application.cell.place]
        for application in applications
        if application.work
        and application.work.copied_bytes
        and not application.roofline
        and application.cell.place in cached
    }
    if arrays:
        sizes = " and ".join(size(array) for array in sorted(arrays))
        yield (
            f"No roofline: the memory was copied in arrays of {sizes}, which the caches may hold."
        )


def _sentences(applications: Sequence[Application], benchmark: Benchmark) -> Iterator[str]:
    """Compares the messages' times with the study's predictions; one sentence for each that is far
    off."""
    deviations = [(row, row.deviation) for row in applications if row.deviation]
    far = [(application, off) for application, off in deviations if off.far]
    if deviations:
        yield (
            f"The messages of {len(deviations) - len(far)} of {count(len(deviations), 'problem')}"
            f" took what the study's own messages predict, within {percent(FAR)} %."
        )
    for application, off in sorted(far, key=lambda pair: -abs(pair[1].off)):
        subject = f"{application.cell.who.label} on {_title(application, benchmark)}"
        took = (
            f"messages took {number(application.messages_us)} µs, predicted "
            f"{number(application.predicted_us)} µs"
        )
        text = "; ".join([took, *_reasons(off)])
        yield f"{', '.join(filter(None, [subject, way(application, benchmark)]))}: {text}."


def _reasons(off: Deviation) -> Iterator[str]:
    """Circumstances that the prediction does not include."""
    if off.around:
        around = " and ".join(
            f"{size(message.size_bytes)} ({number(message.us)} µs)" for message in off.around
        )
        yield f"its {size(off.largest_bytes)} lie between {around}, which the study measured"
    if off.own_bytes:
        yield f"a rank also sends {size(off.own_bytes)} to itself, which is not predicted"
    if off.pause_us is not None:
        yield (
            f"{number(off.pause_us)} µs pass between its messages; those of the study follow each"
            " other without a pause"
        )
    if off.pushed_out:
        yield (
            "its cells push its messages out of the caches; those of the study stay in the caches"
        )
