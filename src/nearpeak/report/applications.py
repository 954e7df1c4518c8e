# SPDX-License-Identifier: Apache-2.0
"""What is told of applications: a table for each, and where their messages took longer than the
study's own messages say."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nearpeak.numbers import count, number, percent, size, spread, unit
from nearpeak.report.sections import Column, Row, Rows, Table, Value
from nearpeak.results.applications import SCALING, scales
from nearpeak.results.cells import ABOVE
from nearpeak.results.deviations import FAR
from nearpeak.results.locality import COPY
from nearpeak.results.names import axes_words, loses, status
from nearpeak.results.results import Application, Beside, Deviation, Estimated, Results
from nearpeak.terms.axes import USUAL_STATE
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.identity import Place, Who

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


@dataclass(frozen=True)
class Part:
    """A part of an iteration, as a piece of a bar."""

    name: str
    us: float
    width: float  # in percent of the longest bar
    colour: int  # the same of a name in all bars


@dataclass(frozen=True)
class Bar:
    """What an iteration is made of."""

    label: str
    parts: list[Part]


@dataclass(frozen=True)
class Line:
    """One library in one way, over the number of ranks."""

    who: Who
    way: str  # its axes that have not their default
    points: dict[int, Value]  # percentages, by ranks ascending


@dataclass(frozen=True)
class Growth:
    """A chart over the number of ranks."""

    measure: str  # "efficiency"
    title: str  # where, of which size, and scaled how
    lines: list[Line]

    @property
    def ranks(self) -> list[int]:
        """At which there is anything."""
        return sorted({ranks for line in self.lines for ranks in line.points})


@dataclass(frozen=True)
class Section:
    """One application."""

    name: str
    summary: str
    table: Table
    sentences: list[str]
    bars: dict[str, list[Bar]]  # by the titles of the table's groups; those with parts alone
    growths: list[Growth]  # where more than one number of ranks was measured


def sections(results: Results) -> list[Section]:
    """Each application that was measured, in the order of the plan."""
    found: dict[str, list[Application]] = defaultdict(list)
    for application in results.applications:
        found[application.cell.case.benchmark].append(application)
    cached = _cached_copies(results)
    return [_section(named(results.benchmarks, name), mine, cached) for name, mine in found.items()]


def _cached_copies(results: Results) -> dict[Place, int]:
    """Bytes of the arrays that the memory of these ranks was copied in, where caches may hold
    them."""
    paths = {path.place: path for path in results.paths}
    arrays: dict[int | None, int] = {}  # by NUMA node
    for point in results.ceilings:
        ends = paths[point.place].ends if point.place in paths else ()
        nodes = {end.numa_node for end in ends}
        local = point.place.transport == "local" and point.case.metric == COPY
        if local and point.lies_in == "shared cache" and len(nodes) == 1:
            arrays[ends[0].numa_node] = point.case.x
    return {
        place: arrays[path.ends[0].numa_node]
        for place, path in paths.items()
        if len({end.numa_node for end in path.ends}) == 1
        and "gpu" not in place.ends
        and path.ends[0].numa_node in arrays
    }


def _section(
    benchmark: Benchmark,
    found: Sequence[Application],
    cached: Mapping[Place, int],
) -> Section:
    groups: dict[str, list[Row]] = defaultdict(list)
    for application in found:
        groups[_title(application, benchmark)].append(
            _row(application, _label(application, benchmark))
        )
    return Section(
        name=benchmark.name,
        summary=benchmark.summary,
        table=Table(
            title=f"{benchmark.name}.",
            caption=f"Unless a row says otherwise: {_words(_ways(benchmark))}.",
            head=f"Ranks, {benchmark.x.name}",
            columns=_columns(found, benchmark),
            groups=[Rows(title, rows) for title, rows in groups.items()],
        ),
        sentences=[*_without_roofline(found, cached), *_sentences(found, benchmark)],
        bars=_bars(found, benchmark),
        growths=list(_growths(found, benchmark)),
    )


def _usual(benchmark: Benchmark) -> dict[str, str]:
    return {axis.name: axis.default for axis in benchmark.axes}


def _ways(benchmark: Benchmark) -> dict[str, str]:
    """But the state of its buffers, which an application writes itself."""
    states = dict(USUAL_STATE)
    return {name: value for name, value in _usual(benchmark).items() if name not in states}


def way(application: Application, benchmark: Benchmark) -> str:
    """`overlap=yes, type=float`: the axes that have not their default; empty: all have it."""
    usual = _usual(benchmark)
    axes = application.cell.case.axes
    return _words({name: value for name, value in axes.items() if usual.get(name) != value})


def _title(application: Application, benchmark: Benchmark) -> str:
    """Where, and of which size."""
    cell = application.cell
    return f"{cell.place.path} ({cell.case.buffers}), {problem_size(application, benchmark)}"


def problem_size(application: Application, benchmark: Benchmark) -> str:
    """`side 4096 cells`, `100000 particles`."""
    x, count = benchmark.x, application.cell.case.x
    return f"{count} {x.unit}" if x.name == x.unit else f"{x.name} {count} {x.unit}"


def _bars(found: Sequence[Application], benchmark: Benchmark) -> dict[str, list[Bar]]:
    names = list(dict.fromkeys(name for application in found for name in application.phases))
    groups: dict[str, list[Application]] = defaultdict(list)
    for application in found:
        if sum(application.phases.values()) > 0:
            groups[_title(application, benchmark)].append(application)
    bars = {}
    for title, mine in groups.items():
        longest = max(sum(application.phases.values()) for application in mine)
        bars[title] = [
            Bar(
                _label(application, benchmark),
                [
                    Part(name, us, 100 * us / longest, names.index(name))
                    for name, us in application.phases.items()
                ],
            )
            for application in mine
        ]
    return bars


def _growths(found: Sequence[Application], benchmark: Benchmark) -> Iterator[Growth]:
    """Of the same problem on ranks that all have the same memory."""
    groups: dict[str, list[Application]] = defaultdict(list)
    for application in found:
        case, ends = application.cell.case, set(application.cell.place.ends)
        if len(ends) == 1 and application.cell.median is not None:
            scaled = f", {scaling} scaling" if (scaling := case.axes.get(SCALING)) else ""
            groups[
                f"{ends.pop()} ({case.buffers}), {problem_size(application, benchmark)}{scaled}"
            ].append(application)
    for title, mine in groups.items():
        ways: dict[tuple[Who, str], list[Application]] = defaultdict(list)
        for application in sorted(mine, key=_ranks):
            ways[application.cell.who, way(application, benchmark)].append(application)
        for measure, value in MEASURES.items():
            lines = [
                Line(
                    who,
                    ", ".join(filter(None, [how, path])),
                    {
                        _ranks(application): told
                        for application in several
                        if (told := value(application))
                    },
                )
                for (who, how), all_of_way in ways.items()
                for path, several in _lines(all_of_way)
            ]
            drawn = [line for line in lines if len(line.points) > 1]
            if drawn:
                yield Growth(measure, title, drawn)


def _lines(found: Sequence[Application]) -> Iterator[tuple[str, list[Application]]]:
    """One line, or one for each path where several have as many ranks, by its name."""
    counts = Counter(map(_ranks, found))
    alone = [application for application in found if counts[_ranks(application)] == 1]
    beside = [application for application in found if counts[_ranks(application)] > 1]
    if not beside:
        yield "", alone
    for path in dict.fromkeys(application.cell.place.path for application in beside):
        here = [application for application in beside if application.cell.place.path == path]
        yield path, sorted([*alone, *here], key=_ranks)


def _ranks(application: Application) -> int:
    return len(application.cell.place.ends)


def _efficiency(application: Application) -> Value | None:
    """That of the fewest ranks is 1: it is what the others are held against."""
    if not scales(application.work, application.cell.place):
        return None
    return _percent(application.scaled.efficiency) if application.scaled else Value(1.0, "percent")


def _share(application: Application) -> Value | None:
    return (
        None if application.not_computing is None else Value(application.not_computing, "percent")
    )


MEASURES: dict[str, Callable[[Application], Value | None]] = {
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


def _columns(found: Sequence[Application], benchmark: Benchmark) -> list[Column]:
    rates = [metric.unit for metric in benchmark.metrics[1:2]]
    optional = {
        Column("roofline", "Roofline", "%"): any(application.roofline for application in found),
        Column("share", "Not computing", "%"): any(
            application.not_computing is not None for application in found
        ),
        Column("imbalance", "Imbalance"): any(application.imbalance for application in found),
        Column("efficiency", "Efficiency", "%"): any(application.scaled for application in found),
        Column("hidden", "Hidden", "%"): any(application.hidden for application in found),
        Column("messages", "Messages", "µs"): any(row.messages_us for row in found),
        Column("predicted", "Predicted", "µs"): any(row.predicted_us for row in found),
        Column("beside", "Beside", figure=False): any(application.beside for application in found),
    }
    return [
        Column("time", "Time", unit(found[0].cell.unit)),
        *(Column("rate", "Rate", rate) for rate in rates),
        *(column for column, there in optional.items() if there),
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


def _words(axes: Mapping[str, str]) -> str:
    """`overlap=yes, type=float`."""
    return ", ".join(axes_words(axes))


def _percent(found: Estimated, detail: str = "") -> Value:
    return replace(_ratio(found), kind="percent", detail=detail)


def _ratio(found: Estimated) -> Value:
    return Value(found.value, ci95=found.ci95, range=found.range, few="blocks")


def _roofline(found: Estimated) -> Value:
    """More of it than noise explains is a defect of the ceiling."""
    low, _ = found.ci95 or found.range
    if found.value <= ABOVE or low <= 1:
        return _percent(found)
    return replace(_percent(found), tone="bad", remark="(defect)")


def _beside(beside: Beside) -> str:
    """`1.05 times as fast as overlap=no [1.03, 1.06]`."""
    speedup = beside.speedup
    told = spread(speedup.ci95, speedup.range)
    return f"{number(speedup.value)} times as fast as {beside.axis}={beside.value} {told}"


def _without_roofline(found: Sequence[Application], cached: Mapping[Place, int]) -> Iterator[str]:
    arrays = {
        cached[application.cell.place]
        for application in found
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


def _sentences(found: Sequence[Application], benchmark: Benchmark) -> Iterator[str]:
    """Where the messages took another time than those of the study."""
    known = [(application, application.deviation) for application in found if application.deviation]
    far = [(application, off) for application, off in known if off.far]
    if known:
        yield (
            f"The messages of {len(known) - len(far)} of {count(len(known), 'problem')} took what"
            f" the study's own messages predict, within {percent(FAR)} %."
        )
    for application, off in sorted(far, key=lambda each: -abs(each[1].off)):
        where = f"{application.cell.who.label} on {_title(application, benchmark)}"
        took = (
            f"messages took {number(application.messages_us)} µs, predicted "
            f"{number(application.predicted_us)} µs"
        )
        told = "; ".join([took, *_reasons(off)])
        yield f"{', '.join(filter(None, [where, way(application, benchmark)]))}: {told}."


def _reasons(off: Deviation) -> Iterator[str]:
    """What a prediction does not know of."""
    if off.around:
        around = " and ".join(f"{size(at.size_bytes)} ({number(at.us)} µs)" for at in off.around)
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
