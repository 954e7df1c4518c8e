# SPDX-License-Identifier: Apache-2.0
"""The least time that a collective or one-sided operation can take, or a message of a datatype: a
bound, from ceilings of the same study. Of rates it is the highest.

Nothing measures what such an operation could do without MPI. What its ranks can, is measured: the
time of one message between two of them, and how many bytes a second one of them can receive.
docs/methodology.md says why no operation takes less.

What a benchmark says of itself that nothing is better than needs no ceiling: an ideal.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.machine.machine import Machine
from nearpeak.numbers import size
from nearpeak.observations.observed import Block, Observation, Observations
from nearpeak.results.ceilings import summed_up, under
from nearpeak.results.locality import lies_in
from nearpeak.results.results import CeilingPoint, Kind
from nearpeak.statistics.strata import alike, strata
from nearpeak.terms.benchmarks import QUOTED_BYTES, Benchmark, by_name
from nearpeak.terms.buffers import on_host, turned
from nearpeak.terms.identity import CEILING, Case, Place
from nearpeak.terms.path import DataPath

# A rate holds for messages no larger than those that were measured, or where these are as large as
# this: from there on no path moves more bytes in a second than at the best size before.
LARGE_BYTES = 1 << 20
IDEAL = "ideal"  # the method of what needs none
SYNC, LOCALLY_COMPLETE = "sync", "flush_local"  # an axis, and the value that waits for no target


class Source(NamedTuple):
    """A ceiling that bounds may follow from."""

    point: CeilingPoint
    benchmark: Benchmark
    readings: list[dict[Block, float]]  # as of the point, at the best distance of its CPUs

    @property
    def distances(self) -> dict[Block, float]:
        """How far apart its CPUs were, ns; empty where that is not known of each block."""
        return distances(self.point.blocks, self.point.cache_line_ns)

    def usual(self) -> float:
        """The median of what it carried."""
        return float(np.median(list(self.readings[0].values())))

    def gbs(self, value: float) -> float:
        """GB/s that one rank has received where the ceiling is so; 0: it does not tell."""
        case, ranks = self.point.case, len(self.point.place.ends)
        return self.benchmark.received_gbs(self.benchmark.metric(case.metric), value, case.x, ranks)


class Term(NamedTuple):
    """One of the times that a bound is the longest of."""

    words: str
    source: Source
    us: Callable[[float], float]  # what follows from a value of the ceiling

    def usual(self) -> float:
        """Of the ceiling's median."""
        return self.us(self.source.usual())

    def reading(self, which: int, counted: Collection[Block] | None = None) -> dict[Block, float]:
        """In the blocks of the best distance that measured the ceiling, or in these."""
        readings = self.source.readings if counted is None else self.source.point.readings
        reading = readings[min(which, len(readings) - 1)]
        return {b: self.us(v) for b, v in reading.items() if counted is None or b in counted}


class Bound(NamedTuple):
    """A bound in each block."""

    blocks: list[Block]
    readings: list[list[float]]  # its values, and what these may be too
    cache_line_ns: list[float | None]  # of each block; empty: not known, or not of the place itself
    passed: list[Block]  # with the CPUs at another distance than the best one


def find(observations: Observations, ceilings: Iterable[CeilingPoint]) -> list[CeilingPoint]:
    """The bounds of what was measured of libraries, in order of place and case."""
    known = by_name(observations.benchmarks)
    paths = {path.place: path for path in observations.paths}
    sources: dict[Place, list[Source]] = defaultdict(list)
    for point in ceilings:
        benchmark = known.get(point.case.benchmark)
        if benchmark is not None and benchmark.ceiling == "measured":
            sources[point.place].append(Source(point, benchmark, _quickest(point)))
    wanted: dict[tuple[Place, Case], set[Block]] = defaultdict(set)
    for observation in observations.observed:
        launch, case = observation.launch, observation.case
        if launch.who == CEILING or known[case.benchmark].ceiling != "bound":
            continue
        if known[case.benchmark].one_sided and not _crosses(
            observations.machine, paths, observation
        ):
            continue
        wanted[launch.place, under(case)].add(launch.block)
    found = []
    for place, case in sorted(wanted):
        benchmark = known[case.benchmark]
        if (bound := benchmark.bound) is not None:
            if case.metric == benchmark.main.name:
                blocks = sorted(wanted[place, case])
                ideal = [[bound] * len(blocks)]
                methods = {IDEAL: bound}
                always = Bound(blocks, ideal, [], [])
                found.append(_point(benchmark, place, case, always, methods, "ideal"))
            continue
        here = [
            source
            for other in _within(place, paths)
            for source in sources[other]
            if source.point.case.axes.items() <= case.axes.items()
        ]
        most = _received_gbs(observations.machine, paths[place])
        if terms := _terms(benchmark, place, case, here, most):
            usual = {term.words: term.usual() for term in terms}
            found.append(_point(benchmark, place, case, _bound(terms, place), usual, "bound"))
    return found


def _crosses(machine: Machine, paths: Mapping[Place, DataPath], observation: Observation) -> bool:
    """Whether the data of a one-sided operation must cross its path, and has done so in its time.

    In memory of a host the rank that calls copies alone: what its own caches hold crosses nothing,
    nor does what it wrote itself before, where the cache is shared. And what is complete for the
    rank that calls alone may be on its way still.
    """
    place, case = observation.launch.place, observation.case
    if case.axes.get(SYNC) == LOCALLY_COMPLETE:
        return False
    if not place.in_host_memory:
        return True
    where = lies_in(machine, paths[place], case, observation.window)
    wrote = case.axes.get("touch", "none") != "none"
    return where != "core cache" and not (wrote and where == "shared cache")


def _within(place: Place, paths: Mapping[Place, DataPath]) -> list[Place]:
    """The place itself; of several ends also those between some of them, in the same way."""
    if len(place.ends) == 2:
        return [place]
    return [other for other, path in paths.items() if paths[place].holds(path)]


def _quickest(point: CeilingPoint) -> list[dict[Block, float]]:
    """The readings of a ceiling in the blocks of that distance between its CPUs at which it is
    best: mostly the nearest, but large messages may be quicker between cores that share no cache.

    Where a hypervisor moves them, those of a library may be there when a ceiling's are elsewhere.
    """
    known = distances(point.blocks, point.cache_line_ns)
    if not known:
        return point.readings
    stratum = dict(zip(known, map(int, strata(list(known.values()))), strict=True))
    by_stratum: dict[int, list[float]] = defaultdict(list)
    for block, value in point.readings[0].items():
        by_stratum[stratum[block]].append(value)
    medians = {each: float(np.median(values)) for each, values in sorted(by_stratum.items())}
    best = (max if point.better == "higher" else min)(medians, key=medians.__getitem__)
    return [
        {block: value for block, value in reading.items() if stratum[block] == best}
        for reading in point.readings
    ]


def _terms(
    benchmark: Benchmark, place: Place, case: Case, sources: Sequence[Source], most: float
) -> list[Term]:
    """`most`: GB/s that a rank can receive, whatever was measured."""
    basis = benchmark.basis(place.ends)
    if basis.same is not None:
        return [
            _term(source, lambda value: value)
            for source in sources
            if _is(source, basis.same, case, benchmark)
        ]
    found = []
    if basis.message and (message := _message(sources, basis.receives is not None)):
        found.append(_term(message, lambda us: us))
    if basis.receives is None:
        return found
    received, links = basis.receives.bytes(case.x, len(place.ends)), _links(place)
    if received > 0 and (fastest := _fastest(sources, received / links)):

        def us(value: float) -> float:
            one = fastest.gbs(value)
            return received / min(links * one, max(most, one)) / 1e3

        found.append(_term(fastest, us))
    return found


def _is(source: Source, name: str, case: Case, benchmark: Benchmark) -> bool:
    """Whether it is the main ceiling of the benchmark called so, with the buffers and the size of a
    case of `benchmark`, and in its direction: between unlike memories the mean of both ways bounds
    neither of them."""
    other = source.point.case
    buffers = turned(case.buffers) if benchmark.one_sided == "get" else case.buffers
    mixed = len(set(on_host(case.buffers))) > 1
    if mixed and source.benchmark.symmetric and not benchmark.symmetric:
        return False
    return (other.benchmark, other.x, other.buffers, other.metric) == (
        name,
        case.x,
        buffers,
        source.benchmark.main.name,
    )


def _term(source: Source, us: Callable[[float], float]) -> Term:
    point = source.point
    return Term(f"{point.case.figure} {size(point.case.x)}, {point.method}", source, us)


def _message(sources: Iterable[Source], with_data: bool) -> Source | None:
    """The quickest of the small messages that were measured; `with_data`: of those with any."""
    small = [
        source
        for source in sources
        if source.benchmark.one_message and int(with_data) <= source.point.case.x <= QUOTED_BYTES
    ]
    return min(small, key=Source.usual, default=None)


def _fastest(sources: Iterable[Source], received: float) -> Source | None:
    """What shows the highest rate of one rank, at any size."""
    rates = [source for source in sources if source.gbs(source.usual()) > 0]
    if max((source.point.case.x for source in rates), default=0) < min(received, LARGE_BYTES):
        return None
    return max(rates, key=lambda source: source.gbs(source.usual()), default=None)


def _links(place: Place) -> int:
    """Over how many links a rank may receive at once, each as fast as between two ranks.

    A core copies what comes from all others itself. A GPU may have a link to each of them.
    """
    return len(place.ends) - 1 if "gpu" in place.ends else 1


def _received_gbs(machine: Machine, path: DataPath) -> float:
    """What a rank can receive at most by theory: of GPUs of one host that switches join, each for
    one rank, what the lanes of one carry."""
    if path.between_hosts or path.shares_gpu or not all(end.gpu for end in path.ends):
        return math.inf
    return machine.gpu_receives_gbs([end.gpu for end in path.ends if end.gpu]) or math.inf


def distances(blocks: Sequence[Block], cache_line_ns: Sequence[float | None]) -> dict[Block, float]:
    """By block how far apart the CPUs were, ns; empty where that is not known of each."""
    known = {block: ns for block, ns in zip(blocks, cache_line_ns, strict=False) if ns}
    return known if len(known) == len(blocks) else {}


def _bound(terms: Sequence[Term], place: Place) -> Bound:
    """The longest of the times, and what it may be too, in the blocks that measured the one that is
    usually the longest; of a rate there is but one term.

    Of a ceiling of the place itself the blocks of each distance between its CPUs: launches at the
    same distance are held against them. Of pairs of a place with more ends only the best distance.

    A time that was not measured in a block is in no bound of it: medians in its place would count
    as launches in intervals, which would then be too narrow.
    """
    longest = max(terms, key=Term.usual)
    point = longest.source.point
    apart = longest.source.distances if point.place == place else {}
    passed = sorted({*point.blocks} - {*longest.source.readings[0]})
    blocks = sorted(apart or longest.source.readings[0])
    readings = []
    for which in range(max(len(term.source.point.readings) for term in terms)):
        measured = [longest.reading(which, blocks)]
        for term in terms:
            if term is not longest:
                # The best distance bounds all others, and each distance itself.
                measured.append(term.reading(which, alike(apart, term.source.distances)))
                measured.append(term.reading(which))
        readings.append([max(own[block] for own in measured if block in own) for block in blocks])
    return Bound(blocks, readings, [apart[block] for block in blocks] if apart else [], passed)


def _point(
    benchmark: Benchmark,
    place: Place,
    case: Case,
    bound: Bound,
    methods: dict[str, float],
    kind: Kind,
) -> CeilingPoint:
    values, *others = bound.readings
    others = [other for other in others if other != values]
    metric = benchmark.metric(case.metric)
    best = [at for at, block in enumerate(bound.blocks) if block not in bound.passed]

    summed = summed_up(
        [bound.blocks[at] for at in best],
        [values[at] for at in best],
        [[other[at] for at in best] for other in others],
    )
    return CeilingPoint(
        place=place,
        case=case,
        unit=metric.unit,
        better=metric.better,
        **summed | {"values": values, "otherwise": others, "blocks": bound.blocks},
        cache_line_ns=bound.cache_line_ns,
        method=max(methods, key=methods.__getitem__),
        methods=methods,
        kind=kind,
        passed_over=bound.passed,
    )
