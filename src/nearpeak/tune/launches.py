# SPDX-License-Identifier: Apache-2.0
"""Launches of a search: all targets in one launch, and all guarded benchmarks in a few."""

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from nearpeak.launching.single import Single
from nearpeak.launching.single_launch import LaunchFailed, Measured, figures, launched
from nearpeak.libraries.library import CommandLine
from nearpeak.numbers import size
from nearpeak.terms.command_words import PART
from nearpeak.terms.sizes import format_sizes
from nearpeak.tune.journal import Figure
from nearpeak.tune.targets import Target, by_benchmark, cost

SAMPLING = ["--slot-ms", "20", "--least-samples", "3"]
GRACE_SECONDS = 1.0  # for a hanging launch to end; both of its ranks are on this host
GUARD_SIZES = "1,8,64,512,4K,8K,16K,32K,64K,128K,256K,512K,1M,4M"
PRICED_SIZES = [8, 4096, 1 << 16, 1 << 24]  # some of the sizes that the study guards
# To check data, not for figures: few large messages in flight, as each may take long.
GUARD_SAMPLING = ["--slot-ms", "2", "--least-samples", "3", "--in-flight", "8M"]


@dataclass(frozen=True)
class Value:
    """A figure of a launch."""

    value: float
    unit: str
    better: str  # "higher" or "lower"
    distance_ns: float | None = None  # between the ranks' CPUs: a cache line's round trip


@dataclass(frozen=True)
class Launches:
    """The launches of a library. `subjects`: benchmarks of the targets, by name. `guards`:
    benchmarks that must keep working. `others`: benchmarks that must not become slower, by
    place."""

    subjects: Mapping[str, Single]
    guards: Sequence[Single]
    targets: Sequence[Target]
    others: Mapping[str, Sequence[Single]]  # by place: what is launched there

    def measure(self, env: Mapping[str, str], limit_seconds: float) -> list[Value]:
        """Measures each target in one launch within this time; LaunchFailed."""
        parts = [
            (self.subjects[name], ["--sizes", format_sizes(sizes), *SAMPLING])
            for name, sizes in by_benchmark(self.targets).items()
        ]
        cases: list[Measured] = []
        for together in _launches(parts):
            cases += _run(together, env, limit_seconds)
        values = []
        for target in self.targets:
            main = self.subjects[target.benchmark].benchmark.main.name
            wanted = (target.benchmark, target.size, main)
            values += [
                Value(figure.value, figure.case.unit, figure.case.better, _distance(figure))
                for figure in cases
                if (figure.case.benchmark, figure.case.size_bytes, figure.case.metric) == wanted
            ]
        if len(values) != len(self.targets):
            raise LaunchFailed("not all targets had a figure")
        return values

    def curve(
        self, env: Mapping[str, str], sizes: Sequence[int], limit_seconds: float
    ) -> dict[int, float]:
        """Measures the cost of a message of each of these sizes, in one launch within this time;
        LaunchFailed. Uses a benchmark of one message."""
        every = itertools.chain(self.subjects.values(), *self.others.values())
        single = next((candidate for candidate in every if candidate.benchmark.one_message), None)
        if single is None:
            raise LaunchFailed("no benchmark of one message runs here")
        costs, _ = _curves([(single, sizes)], env, limit_seconds)
        return costs[single.benchmark.name]

    def curves(
        self, env: Mapping[str, str], sizes: Mapping[str, Sequence[int]], limit_seconds: float
    ) -> tuple[dict[str, dict[int, float]], float | None]:
        """Measures the cost of each of these sizes of benchmarks of the targets, in one launch
        within this time; LaunchFailed. Also returns the distance of its CPUs (as in `Value`)."""
        wanted = [(self.subjects[name], listed) for name, listed in sizes.items()]
        return _curves(wanted, env, limit_seconds)

    def guard(
        self, env: Mapping[str, str], limit_seconds: float, seconds: float
    ) -> dict[str, str] | None:
        """Launches all guarded benchmarks and returns how each ended, by its label; empty if it
        worked. Each launch takes at most `limit_seconds`. None: not all were launched within
        `seconds`.

        Benchmarks of one place share a launch. If it fails, each is launched alone.
        """
        until = time.monotonic() + seconds
        ends = {}
        groups: dict[tuple[str, str], list[Single]] = {}
        for single in self.guards:
            groups.setdefault((single.path.id, single.buffers), []).append(single)
        for (path, buffers), group in groups.items():
            together = _guarded(group, env, min(limit_seconds, until - time.monotonic()))
            for single in group:
                end = together
                if together and len(group) > 1:
                    left = until - time.monotonic()
                    if left <= 0:
                        return None
                    end = _guarded([single], env, min(limit_seconds, left))
                if end and time.monotonic() >= until:
                    return None
                ends[f"{single.benchmark.name} {buffers} on {path}"] = end
        return ends

    def places(self) -> list[str]:
        """Returns the places of `others`."""
        return list(self.others)

    def elsewhere(self, env: Mapping[str, str], place: str, limit_seconds: float) -> list[Figure]:
        """Measures the cases of one launch at this place within this time; LaunchFailed."""
        parts = [
            (single, ["--sizes", format_sizes(single.benchmark.sizes(PRICED_SIZES)), *SAMPLING])
            for single in self.others[place]
        ]
        mains = {single.benchmark.name: single.benchmark.main.name for single in self.others[place]}
        return [
            Figure(
                case=f"{figure.case.benchmark} at {size(figure.case.size_bytes)}",
                value=figure.value,
                unit=figure.case.unit,
                better=figure.case.better,
            )
            for together in _launches(parts)
            for figure in _run(together, env, limit_seconds)
            if figure.case.metric == mains[figure.case.benchmark]
        ]


def _curves(
    wanted: Sequence[tuple[Single, Sequence[int]]], env: Mapping[str, str], limit_seconds: float
) -> tuple[dict[str, dict[int, float]], float | None]:
    """Returns the cost of each size, by benchmark, and the distance of the CPUs."""
    parts = [(single, ["--sizes", format_sizes(sizes), *SAMPLING]) for single, sizes in wanted]
    cases = [case for together in _launches(parts) for case in _run(together, env, limit_seconds)]
    mains = {single.benchmark.name: single.benchmark.main.name for single, _ in wanted}
    costs: dict[str, dict[int, float]] = {name: {} for name in mains}
    for case in cases:
        name = case.case.benchmark
        if mains.get(name) == case.case.metric:
            costs[name][case.case.size_bytes] = cost(case.value, case.case.better)
    if any(set(costs[single.benchmark.name]) != set(sizes) for single, sizes in wanted):
        raise LaunchFailed("not all sizes had a figure")
    return costs, usual_distance(map(_distance, cases))


def usual_distance(distances: Iterable[float | None]) -> float | None:
    """Returns the distance of a launch from those of its cases; None if unknown."""
    measured = [distance for distance in distances if distance]
    return median(measured) if measured else None


def _distance(figure: Measured) -> float | None:
    """Returns the distance of the first pair of ranks."""
    return figure.case.cache_line_ns[0] if figure.case.cache_line_ns else None


_Part = tuple[Single, list[str]]


def _guarded(group: Sequence[Single], env: Mapping[str, str], limit_seconds: float) -> str:
    """Returns how launches of all of these ended; empty if each worked."""
    parts = [
        (single, ["--sizes", GUARD_SIZES, *GUARD_SAMPLING] if single.benchmark.sized else [])
        for single in group
    ]
    try:
        cases = [
            case for together in _launches(parts) for case in _run(together, env, limit_seconds)
        ]
    except LaunchFailed as error:
        return str(error)
    measured = {figure.case.benchmark for figure in cases}
    missing = [single.benchmark.name for single in group if single.benchmark.name not in measured]
    return f"{', '.join(missing)}: no figure" if missing else ""


def _launches(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Groups the parts that one launch measures. nearpeak-native measures one part in a launch."""
    return [[part] for part in parts] if parts[0][0].native else [list(parts)]


def _run(parts: Sequence[_Part], env: Mapping[str, str], limit_seconds: float) -> list[Measured]:
    (first, first_options), *rest = parts

    def line(jsonl: list[str]) -> CommandLine:
        further = [
            word
            for other, options in rest
            for word in (PART, *other.program_options([*options, *jsonl]))
        ]
        return first.line([*first_options, *jsonl, *further], env)

    return figures(*launched(first, line, first.native, limit_seconds, GRACE_SECONDS))
