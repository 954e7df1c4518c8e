# SPDX-License-Identifier: Apache-2.0
"""The least time that a collective or one-sided operation can take, or a message of a datatype: a
bound, from ceilings of the same study. Of rates it is the highest.

Nothing measures what such an operation could do without MPI. What its ranks can, is measured: the
time of one message between two of them, and how many bytes a second one of them can receive.
docs/methods/statistics.md says why no operation takes less.

What a benchmark says of itself that nothing is better than needs no ceiling: an ideal.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import compress
from typing import NamedTuple, TypeVar

import numpy as np

from nearpeak.grouping import collected, grouped, present
from nearpeak.machine.machine import Machine
from nearpeak.numbers import size
from nearpeak.observations.observed import Block, Observation, Observations
from nearpeak.results.ceilings import summed_up, under
from nearpeak.results.locality import lies_in
from nearpeak.results.results import HOST_CACHES, CeilingKind, CeilingPoint
from nearpeak.statistics.comparisons import SIGN
from nearpeak.statistics.strata import alike, strata
from nearpeak.terms.benchmarks import QUOTED_BYTES, Benchmark, by_name, with_ceilings
from nearpeak.terms.buffers import on_host, turned
from nearpeak.terms.identity import CEILING, Case, Place
from nearpeak.terms.path import DataPath, by_place

# A rate holds for messages no larger than those that were measured, or where these are as large as
# this: from there on no path moves more bytes in a second than at the best size before.
LARGE_BYTES = 1 << 20
IDEAL = "ideal"  # the method of what needs none
SYNC, LOCALLY_COMPLETE = "sync", "flush_local"  # an axis, and the value that waits for no target


T = TypeVar("T")


class Source(NamedTuple):
    """A ceiling that bounds may follow from."""

    point: CeilingPoint
    benchmark: Benchmark
    readings: list[dict[Block, float]]  # as of the point, at the best distance of its CPUs

    @property
    def distances(self) -> dict[Block, float]:
        """The distance between its CPUs in each block, ns; empty where one is not known."""
        return distances(self.point.blocks, self.point.cache_line_ns)

    def usual(self) -> float:
        """The median of what it carried."""
        return float(np.median(list(self.readings[0].values())))

    def gbs(self, value: float) -> float:
        """The rate that one rank received at this value of the ceiling, GB/s; 0: not known."""
        case, ranks = self.point.case, len(self.point.place.ends)
        return self.benchmark.received_gbs(self.benchmark.metric(case.metric), value, case.x, ranks)


class Term(NamedTuple):
    """One of the times that a bound is the longest of."""

    words: str
    source: Source
    us: Callable[[float], float]  # what follows from a value of the ceiling

    def usual(self) -> float:
        """The time that the ceiling's median gives."""
        return self.us(self.source.usual())

    def reading(self, which: int, counted: Collection[Block] | None = None) -> dict[Block, float]:
        """The times in the blocks of the best distance that measured the ceiling, or in
        `counted`."""
        readings = self.source.readings if counted is None else self.source.point.readings
        reading = readings[min(which, len(readings) - 1)]
        return {b: self.us(v) for b, v in reading.items() if counted is None or b in counted}


class Bound(NamedTuple):
    """A bound in each block."""

    blocks: list[Block]
    readings: list[list[float]]  # its values, and what these may be too
    cache_line_ns: Sequence[float] = ()  # of each block; empty: not known, or not of the place
    passed: Sequence[Block] = ()  # with the CPUs at another distance than the best one


def find(observations: Observations, ceilings: Iterable[CeilingPoint]) -> list[CeilingPoint]:
    """The bounds of what was measured of libraries, in order of place and case."""
    benchmarks = by_name(observations.benchmarks)
    paths = by_place(observations.paths)
    measured = with_ceilings(observations.benchmarks)
    sources = grouped(
        (
            Source(point, benchmarks[point.case.benchmark], _quickest(point))
            for point in ceilings
            if point.case.benchmark in measured
        ),
        lambda source: source.point.place,
    )
    wanted: dict[tuple[Place, Case], set[Block]] = defaultdict(set)
    for observation in observations.observed:
        launch, case = observation.launch, observation.case
        if launch.who != CEILING and _is_bounded(
            observations.machine, paths, observation, benchmarks[case.benchmark]
        ):
            wanted[launch.place, under(case)].add(launch.block)
    points = []
    for place, case in sorted(wanted):
        benchmark = benchmarks[case.benchmark]
        if benchmark.bound is not None:
            if case.metric == benchmark.main.name:
                points.append(_ideal(benchmark, place, case, sorted(wanted[place, case])))
            continue
        usable = [
            source
            for other in _within(place, paths)
            for source in sources.get(other, [])
            if source.point.case.axes.items() <= case.axes.items()
        ]
        most = _received_gbs(observations.machine, paths[place])
        if terms := _terms(benchmark, place, case, usable, most):
            usual = {term.words: term.usual() for term in terms}
            points.append(_point(benchmark, place, case, _bound(terms, place), usual, "bound"))
    return points


def _is_bounded(
    machine: Machine,
    paths: Mapping[Place, DataPath],
    observation: Observation,
    benchmark: Benchmark,
) -> bool:
    """True if a figure has a bound. The data of a one-sided operation must cross its path for it,
    and have done so in its time.

    In host memory only the calling rank copies: data in its own caches crosses nothing, nor does
    what it wrote itself before, where the cache is shared. An operation that is complete for the
    calling rank may still be on its way.
    """
    place, case = observation.launch.place, observation.case
    if benchmark.ceiling != "bound" or not benchmark.one_sided:
        return benchmark.ceiling == "bound"
    if case.axes.get(SYNC) == LOCALLY_COMPLETE or not place.in_host_memory:
        return case.axes.get(SYNC) != LOCALLY_COMPLETE
    crosses_nothing = {"none": ("core cache",)}.get(case.axes.get("touch", "none"), HOST_CACHES)
    return lies_in(machine, paths[place], case, observation.window) not in crosses_nothing


def _within(place: Place, paths: Mapping[Place, DataPath]) -> list[Place]:
    """The place itself; of several ends also those between some of them, in the same way."""
    if len(place.ends) == 2:
        return [place]
    return [other for other, path in paths.items() if paths[place].holds(path)]


def _quickest(point: CeilingPoint) -> list[dict[Block, float]]:
    """The readings of a ceiling in the blocks of that distance between its CPUs at which it is
    best: mostly the nearest, but large messages may be quicker between cores that share no cache.

    Where a hypervisor moves CPUs, those of a library may be near when a ceiling's are not.
    """
    ns_by_block = distances(point.blocks, point.cache_line_ns)
    if not ns_by_block:
        return point.readings
    usual = point.readings[0]
    numbers = strata(list(ns_by_block.values())).tolist()
    by_stratum = collected(sorted(zip(numbers, ns_by_block, strict=True)))
    best = max(
        by_stratum.values(),
        key=lambda blocks: SIGN[point.better] * float(np.median([usual[b] for b in blocks])),
    )
    return [in_blocks(reading, best) for reading in point.readings]


def in_blocks(reading: Mapping[Block, float], blocks: Collection[Block]) -> dict[Block, float]:
    """The values of a reading in these blocks only."""
    return {block: value for block, value in reading.items() if block in blocks}


def _terms(
    benchmark: Benchmark, place: Place, case: Case, sources: Sequence[Source], most: float
) -> list[Term]:
    """The times that the bound is the longest of. `most`: GB/s that a rank can receive, whatever
    was measured."""
    basis = benchmark.basis(place.ends)
    if basis.same is not None:
        return [
            _term(source, float)
            for source in sources
            if _is_main_ceiling(source, basis.same, case, benchmark)
        ]
    message = _message(sources, basis.receives is not None) if basis.message else None
    terms = [_term(source, float) for source in present([message])]
    if basis.receives is None:
        return terms
    received, links = basis.receives.bytes(case.x, len(place.ends)), _links(place)
    fastest = _fastest(sources, received / links)
    if received <= 0 or fastest is None:
        return terms

    def us(value: float) -> float:
        gbs = fastest.gbs(value)
        return received / min(links * gbs, max(most, gbs)) / 1e3

    return [*terms, _term(fastest, us)]


def _is_main_ceiling(source: Source, name: str, case: Case, benchmark: Benchmark) -> bool:
    """True if it is the main ceiling of benchmark `name`, with the buffers and the size of a case
    of `benchmark`, and in its direction: between unlike memories the mean of both ways bounds
    neither of them."""
    other = source.point.case
    buffers = turned(case.buffers) if benchmark.one_sided == "get" else case.buffers
    mixed = len(set(on_host(case.buffers))) > 1
    mean = mixed and source.benchmark.symmetric and not benchmark.symmetric
    main = name, case.x, buffers, source.benchmark.main.name
    return not mean and (other.benchmark, other.x, other.buffers, other.metric) == main


def _term(source: Source, us: Callable[[float], float]) -> Term:
    point = source.point
    return Term(f"{point.case.figure} {size(point.case.x)}, {point.method}", source, us)


def _message(sources: Iterable[Source], with_data: bool) -> Source | None:
    """The source of the quickest small message; `with_data`: of those with any data."""
    small = [
        source
        for source in sources
        if source.benchmark.one_message and int(with_data) <= source.point.case.x <= QUOTED_BYTES
    ]
    return min(small, key=Source.usual, default=None)


def _fastest(sources: Iterable[Source], received: float) -> Source | None:
    """The source with the highest rate of one rank, at any size; None if its messages are too
    small."""
    rates = [source for source in sources if source.gbs(source.usual()) > 0]
    if max((source.point.case.x for source in rates), default=0) < min(received, LARGE_BYTES):
        return None
    return max(rates, key=lambda source: source.gbs(source.usual()), default=None)


def _links(place: Place) -> int:
    """The number of links over which a rank may receive at once, each as fast as between two ranks.

    A core copies what comes from all others itself. A GPU may have a link to each of them.
    """
    return len(place.ends) - 1 if "gpu" in place.ends else 1


def _received_gbs(machine: Machine, path: DataPath) -> float:
    """The theoretical limit of what a rank receives, GB/s: for GPUs of one host that switches join,
    each with one rank, the rate of one GPU's lanes; else infinite."""
    if path.between_hosts or path.shares_gpu or not all(end.gpu for end in path.ends):
        return math.inf
    return machine.gpu_receives_gbs([end.gpu for end in path.ends if end.gpu]) or math.inf


def distances(blocks: Sequence[Block], cache_line_ns: Sequence[float | None]) -> dict[Block, float]:
    """The distance between the CPUs in each block, ns; empty where one is not known."""
    ns_by_block = {block: ns for block, ns in zip(blocks, cache_line_ns, strict=False) if ns}
    return ns_by_block if len(ns_by_block) == len(blocks) else {}


def _bound(terms: Sequence[Term], place: Place) -> Bound:
    """The longest of the times, and what it may be too, in the blocks that measured the one that is
    usually the longest; of a rate there is but one term.

    A ceiling of the place itself counts in the blocks of each distance between its CPUs: launches
    at the same distance are compared with them. Pairs of a place with more ends count only at the
    best distance.

    A time that was not measured in a block is in no bound of it: medians in its place would count
    as launches in intervals, which would then be too narrow.
    """
    longest = max(terms, key=Term.usual)
    point = longest.source.point
    apart = longest.source.distances if point.place == place else {}
    passed = sorted({*point.blocks} - {*longest.source.readings[0]})
    blocks = sorted(apart or longest.source.readings[0])
    # The best distance bounds all others, and each distance itself.
    counting: list[tuple[Term, Collection[Block] | None]] = [(longest, blocks)]
    for term in terms:
        if term is not longest:
            counting += [(term, alike(apart, term.source.distances)), (term, None)]
    readings = []
    for which in range(max(len(term.source.point.readings) for term in terms)):
        measured = [term.reading(which, counted) for term, counted in counting]
        readings.append([_longest(measured, block) for block in blocks])
    return Bound(blocks, readings, [apart[block] for block in blocks if apart], passed)


def _longest(times: Iterable[Mapping[Block, float]], block: Block) -> float:
    return max(reading[block] for reading in times if block in reading)


def _ideal(benchmark: Benchmark, place: Place, case: Case, blocks: list[Block]) -> CeilingPoint:
    best = benchmark.bound or 0.0
    always = Bound(blocks, [[best] * len(blocks)])
    return _point(benchmark, place, case, always, {IDEAL: best}, "ideal")


def _point(
    benchmark: Benchmark,
    place: Place,
    case: Case,
    bound: Bound,
    methods: dict[str, float],
    kind: CeilingKind,
) -> CeilingPoint:
    values, *others = bound.readings
    others = [other for other in others if other != values]
    metric = benchmark.metric(case.metric)
    at_best = [block not in bound.passed for block in bound.blocks]

    def best(series: Iterable[T]) -> list[T]:
        return [*compress(series, at_best)]

    summed = summed_up(best(bound.blocks), best(values), [*map(best, others)])
    return CeilingPoint(
        place=place,
        case=case,
        unit=metric.unit,
        better=metric.better,
        **summed | {"values": values, "otherwise": others, "blocks": bound.blocks},
        cache_line_ns=[*bound.cache_line_ns],
        method=max(methods, key=methods.__getitem__),
        methods=methods,
        kind=kind,
        passed_over=[*bound.passed],
    )
