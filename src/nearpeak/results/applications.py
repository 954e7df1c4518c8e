# SPDX-License-Identifier: Apache-2.0
"""Applications: what the time of an iteration is made of, how it scales, and what the memory of its
ranks would allow.

Their cells are those of the study, in the same blocks; they are compared with no ceiling of a path.
docs/methods/statistics.md says what is compared with what.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from nearpeak.grouping import collected, grouped, present
from nearpeak.observations.observed import Block, Observation, Observations
from nearpeak.results import deviations, what_if
from nearpeak.results.blocks import estimated, extremes, sessions_of
from nearpeak.results.ceilings import find_envelope, reached_in
from nearpeak.results.locality import BEYOND, COPY, cached_bytes, gpu_cache_bytes, lies_in
from nearpeak.results.prediction import Messages
from nearpeak.results.results import (
    Application,
    Beside,
    CeilingPoint,
    Cell,
    Estimated,
    Roofline,
    Scaled,
)
from nearpeak.statistics.comparisons import better_in, median_ratio
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import Benchmark, by_name
from nearpeak.terms.identity import CEILING, Axes, Case, Place, Who
from nearpeak.terms.path import DataPath, by_place
from nearpeak.terms.work import Work

SCALING, STRONG = "scaling", "strong"  # an axis of applications, and the value that is not "weak"
OVERLAP, MEANWHILE = "overlap", "yes"  # an axis, and its value where both overlap
# An axis, and where only one of the two is done.
MODE, ONLY_COMPUTES, ONLY_COMMUNICATES = "mode", "nocomm", "nocomp"
# Parts of an iteration, as bench/app names them; kernels that compute during messages have another.
COMPUTE, COMMUNICATE = "compute", "communicate"
# Of threads, behind a method of nearpeak-native's copy: "nt x2".
THREADS = re.compile(r" x(\d+)$", re.ASCII)

Key = tuple[Who, Place, Case]
ByBlock = Mapping[Block, float]


def summarise(
    observations: Observations,
    problems: Sequence[Cell],
    messages: Sequence[Cell],
    ceilings: Sequence[CeilingPoint],
) -> list[Application]:
    """One for each time among the cells of `problems`; those of `messages` predict theirs."""
    benchmarks = by_name(observations.benchmarks)
    mine = {(cell.who, cell.place, cell.case): cell for cell in problems}
    observed = grouped(
        observations.observed, lambda seen: (seen.launch.who, seen.launch.place, seen.case)
    )
    memories = _Memories(observations, ceilings, benchmarks)
    predicted = Messages(messages, benchmarks, observations.paths)
    summarised = [
        _application(
            key, mine, observed.get(key, []), memories, predicted, benchmarks[key[2].benchmark]
        )
        for key in mine
        if key[2].metric == benchmarks[key[2].benchmark].main.name
    ]
    what_if.add(summarised, (cell.who for cell in messages), predicted)
    deviations.add(summarised, messages, benchmarks)
    return summarised


def _application(
    key: Key,
    cells: Mapping[Key, Cell],
    observed: Sequence[Observation],
    memories: "_Memories",
    messages: Messages,
    benchmark: Benchmark,
) -> Application:
    who, place, case = key
    cell = cells[key]
    rates = [msgspec.structs.replace(case, metric=metric.name) for metric in benchmark.metrics[1:2]]
    rate = next(filter(None, (cells.get((who, place, other)) for other in rates)), None)
    updates = case.axes.get(MODE) != ONLY_COMMUNICATES
    work = next(filter(None, (launch.work for launch in observed)), None)
    phases = _medians([launch.phases for launch in observed])
    predicted, blocks = None, dict[Block, float]()
    if (
        work
        and _waits(case)
        and (predicted := messages.iteration_us(who, place, case.buffers, work))
    ):
        blocks = messages.by_block(who, place, case.buffers, work)
    return Application(
        cell=cell,
        rate=rate.median if rate and updates else None,
        rate_unit=rate.unit if rate else "",
        phases=phases,
        not_computing=_not_computing(phases, cell.median),
        messages_us=_medians([launch.shortest_phases for launch in observed]).get(COMMUNICATE),
        work=work,
        roofline=memories.roofline(cell, work.copied_bytes) if work and cell.median else None,
        scaled=_scaled(key, cells) if scales(work, place) else None,
        # One GPU computes for one rank after the other.
        imbalance=_imbalance(observed) if not place.shared else None,
        hidden=_hidden(key, cells, benchmark),
        beside=list(_beside(key, cells, benchmark)),
        predicted_us=predicted,
        predicted_range=extremes(blocks.values()),
    )


def _not_computing(phases: Mapping[str, float], us: float | None) -> float | None:
    """The share without computation, of the iteration and not of the sum of its parts: each is that
    of the rank that is slowest in it."""
    return max(0.0, 1 - phases[COMPUTE] / us) if COMPUTE in phases and us else None


def _waits(case: Case) -> bool:
    """True if it only waits for its messages, and gives MPI its own buffers: hidden or staged
    messages are no messages of the study."""
    return case.axes.get(OVERLAP) != MEANWHILE and staging(case.axes) is None


def _medians(launches: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each phase over the launches that have it."""
    times = collected(item for phases in launches for item in phases.items())
    return {name: float(np.median(of_launches)) for name, of_launches in times.items()}


def _imbalance(observed: Sequence[Observation]) -> Estimated | None:
    """The longest computation over the mean of all ranks; None for one rank, and without
    computation."""
    several = [launch for launch in observed if len(launch.launch.place.ends) > 1]
    return _estimated(
        {
            launch.launch.block: launch.phases[COMPUTE] / launch.mean_phases[COMPUTE]
            for launch in several
            if launch.mean_phases.get(COMPUTE, 0.0) > 0
        }
    )


def scales(work: Work | None, place: Place) -> bool:
    """True if more ranks have more to compute with: it computes, and they do not share a GPU."""
    return work is not None and work.copied_bytes > 0 and not place.shared


def _scaled(key: Key, cells: Mapping[Key, Cell]) -> Scaled | None:
    """The efficiency relative to the fewest ranks that have the same memory each."""
    who, place, case = key
    if len(set(place.ends)) > 1:
        return None
    alike = [
        other
        for library, other, problem in cells
        if (library, problem, other.transport, set(other.ends), other.shared)
        == (who, case, place.transport, set(place.ends), False)
    ]
    base = min(alike, key=lambda other: (len(other.ends), other), default=place)
    if len(base.ends) >= len(place.ends):
        return None
    strong = case.axes.get(SCALING) == STRONG
    gain = len(place.ends) / len(base.ends) if strong else 1.0
    shares = better_in(cells[key].by_block, cells[who, base, case].by_block, "lower")
    efficiency = _estimated({block: share / gain for block, share in shares.items()})
    if efficiency is None:
        return None
    return Scaled(place=base, scaling="strong" if strong else "weak", efficiency=efficiency)


def _with(key: Key, axis: str, value: str) -> Key:
    """The same with another value of an axis."""
    who, place, case = key
    return who, place, msgspec.structs.replace(case, axes=Axes({**case.axes, axis: value}))


def _hidden(key: Key, cells: Mapping[Key, Cell], benchmark: Benchmark) -> Estimated | None:
    """The hidden share relative to one after the other, in the blocks that have that and both by
    themselves.

    Not against the sum of both: either one by itself keeps in caches what the other drives out.
    """
    usual = benchmark.defaults.get(MODE, "")
    modes = (usual, ONLY_COMMUNICATES, ONLY_COMPUTES)
    others = present(cells.get(_with(key, MODE, mode)) for mode in modes)
    if not usual or key[2].axes.get(MODE, usual) in modes or len(others) < len(modes):
        return None
    turns, communicate, compute, both = (cell.by_block for cell in (*others, cells[key]))
    blocks = sorted(turns.keys() & communicate.keys() & compute.keys() & both.keys())
    shares = {b: (turns[b] - both[b]) / min(communicate[b], compute[b]) for b in blocks}
    return estimated(shares) if shares else None


def _beside(key: Key, cells: Mapping[Key, Cell], benchmark: Benchmark) -> Iterable[Beside]:
    """The speedup over the same with the default of one axis; none for the way it is scaled."""
    for axis in benchmark.axes:
        value = key[2].axes.get(axis.name, axis.default)
        other = cells.get(_with(key, axis.name, axis.default))
        usual = value in (axis.default, ONLY_COMPUTES, ONLY_COMMUNICATES)
        if other is None or usual or axis.name == SCALING:
            continue
        speedup = _estimated(better_in(cells[key].by_block, other.by_block, "lower"))
        if speedup is not None:
            yield Beside(axis=axis.name, value=axis.default, speedup=speedup)


def _estimated(values: ByBlock) -> Estimated | None:
    if not values:
        return None
    ratio = median_ratio(np.log([*values.values()]), sessions_of(values))
    return Estimated(
        value=ratio.value, ci95=ratio.bounds, range=(min(values.values()), max(values.values()))
    )


def _in_gpus(path: DataPath) -> bool:
    return set(path.memories) == {"gpu"}


class _Copied(NamedTuple):
    """The rate at which a memory copies, block by block."""

    place: Place
    blocks: list[Block]
    gbs: list[float]


def _threads(method: str) -> float:
    """The number of threads that copy; infinite for a method that does not say so."""
    match = THREADS.search(method)
    return int(match[1]) if match else math.inf


class _Memories:
    """The copy rates of the ranks' memories."""

    def __init__(
        self,
        observations: Observations,
        ceilings: Sequence[CeilingPoint],
        benchmarks: Mapping[str, Benchmark],
    ) -> None:
        self._paths = by_place(observations.paths)
        self._machine = observations.machine
        # By the NUMA nodes of the ends.
        self._copies = grouped(filter(self._is_copy, observations.observed), self._nodes)
        # One way or both: each byte that arrives was copied once.
        pairs = {name for name, described in benchmarks.items() if described.is_pair}
        rates = {name for name in pairs if benchmarks[name].main.unit == "GB/s"}
        best = max(
            (
                point
                for point in ceilings
                if point.place.shared and point.kind == "measured" and point.case.benchmark in rates
            ),
            key=lambda point: point.value,
            default=None,
        )
        self._gpu = _Copied(best.place, best.blocks, best.values) if best else None

    def _nodes(self, copy: Observation) -> frozenset[int | None]:
        return self._paths[copy.launch.place].numa_nodes

    def _is_copy(self, seen: Observation) -> bool:
        """True of a copy in memory; one in caches shows nothing of it."""
        launch, case = seen.launch, seen.case
        if (launch.who, launch.place.transport, case.metric) != (CEILING, "local", COPY):
            return False
        path = self._paths[launch.place]
        return lies_in(self._machine, path, case, seen.window) != "shared cache"

    def _shared(self, path: DataPath) -> tuple[_Copied | None, int]:
        """The copies of the memory of its ranks, and how many of them share it; None: not
        measured."""
        if _in_gpus(path):
            return self._gpu, path.ranks_per_gpu
        nodes = path.numa_nodes
        copies = self._copies.get(nodes, []) if not path.between_hosts else []
        measured = len(nodes) == 1 and len(copies) > 0
        return _copied(copies, len(path.ends)) if measured else None, len(path.ends)

    def _cached(self, path: DataPath) -> int:
        """Bytes that the caches of its CPUs hold, or that any GPU of their vendor caches: drivers
        report only the L2."""
        if not _in_gpus(path):
            return cached_bytes(self._machine, path)
        uuids = {end.gpu for end in path.ends}
        vendors = {gpu.vendor for gpu in self._machine.gpus if gpu.uuid in uuids}
        return max(map(gpu_cache_bytes, vendors or [""]))

    def roofline(self, cell: Cell, copied_bytes: int) -> Roofline | None:
        """None where what its ranks share was not measured outside of caches, or where cells may
        stay in caches."""
        path = self._paths[cell.place]
        copied, sharing = self._shared(path)
        all_bytes = sharing * copied_bytes
        if not all_bytes or copied is None or 2 * all_bytes < BEYOND * self._cached(path):
            return None
        gbs = float(np.median(copied.gbs))
        if gbs <= 0:
            return None
        reading = dict(zip(copied.blocks, copied.gbs, strict=True))

        def least_us(gbs: float) -> float:
            return all_bytes / gbs / 1e3

        times = {block: us for block, us in cell.by_block.items() if us > 0}
        both = {block: us for block, us in times.items() if block in reading}
        fraction = _estimated(
            {block: least_us(reading.get(block, gbs)) / us for block, us in (both or times).items()}
        )
        if fraction is None:
            return None
        if not both:
            fraction.ci95 = None  # it would not know how the copies scatter
        return Roofline(us=least_us(gbs), gbs=gbs, place=copied.place, fraction=fraction)


def _copied(copies: Sequence[Observation], ranks: int) -> _Copied:
    """The copies by as many threads as there are ranks, which compute in one each; else by the next
    larger number that was measured, or all."""
    threads = {copy.method: _threads(copy.method) for copy in copies}
    most = min((number for number in threads.values() if number >= ranks), default=math.inf)
    by_method = grouped(
        (copy for copy in copies if threads[copy.method] <= most), lambda copy: copy.method
    )
    envelope = find_envelope(
        {name: reached_in(launches) for name, launches in by_method.items()}, "higher"
    )
    return _Copied(copies[0].launch.place, envelope.blocks, envelope.values)
