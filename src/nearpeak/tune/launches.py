# SPDX-License-Identifier: Apache-2.0
"""The launches of a search: all targets in one, and all that must go on working in a few."""

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from nearpeak.libraries.library import CommandLine
from nearpeak.numbers import size
from nearpeak.study.single import Single
from nearpeak.study.single_launch import LaunchFailed, Measured, figures, launched
from nearpeak.terms.command_words import PART
from nearpeak.terms.sizes import format_sizes
from nearpeak.tune.journal import Figure
from nearpeak.tune.targets import Target, by_benchmark, cost

SAMPLING = ["--slot-ms", "20", "--least-samples", "3"]
GRACE_SECONDS = 1.0  # for a launch that hangs to end, both of whose ranks are on this host
GUARD_SIZES = "1,8,64,512,4K,8K,16K,32K,64K,128K,256K,512K,1M,4M"
PRICED_SIZES = [8, 4096, 1 << 16, 1 << 24]  # of those that the study guards
# For right or wrong, not for figures: few large messages at once, which may take long each.
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
    """How a library is launched: `subjects` are its benchmarks where it is tuned, `guards` what
    must go on working, `others` what must not become slower."""

    subjects: Mapping[str, Single]
    guards: Sequence[Single]
    targets: Sequence[Target]
    others: Mapping[str, Sequence[Single]]  # by place: what is launched there

    def measure(self, env: Mapping[str, str], limit_seconds: float) -> list[Value]:
        """The figure of each target, of one launch within this time; LaunchFailed."""
        parts = [
            (self.subjects[name], ["--sizes", format_sizes(sizes), *SAMPLING])
            for name, sizes in by_benchmark(self.targets).items()
        ]
        cases: list[Measured] = []
        for together in _launches(parts):
            cases += _run(together, env, limit_seconds)
        found = []
        for target in self.targets:
            main = self.subjects[target.benchmark].benchmark.main.name
            wanted = (target.benchmark, target.size, main)
            found += [
                Value(each.value, each.case.unit, each.case.better, _distance(each))
                for each in cases
                if (each.case.benchmark, each.case.size_bytes, each.case.metric) == wanted
            ]
        if len(found) != len(self.targets):
            raise LaunchFailed("not all targets had a figure")
        return found

    def curve(
        self, env: Mapping[str, str], sizes: Sequence[int], limit_seconds: float
    ) -> dict[int, float]:
        """The cost of a message of each of these sizes, of one launch within this time;
        LaunchFailed. By a benchmark of one message."""
        every = itertools.chain(self.subjects.values(), *self.others.values())
        single = next((each for each in every if each.benchmark.one_message), None)
        if single is None:
            raise LaunchFailed("no benchmark of one message runs here")
        costs, _ = _curves([(single, sizes)], env, limit_seconds)
        return costs[single.benchmark.name]

    def curves(
        self, env: Mapping[str, str], sizes: Mapping[str, Sequence[int]], limit_seconds: float
    ) -> tuple[dict[str, dict[int, float]], float | None]:
        """The cost of each of these sizes of benchmarks of the targets, of one launch within this
        time, and how far apart its CPUs were (as of `Value`); LaunchFailed."""
        wanted = [(self.subjects[name], own) for name, own in sizes.items()]
        return _curves(wanted, env, limit_seconds)

    def guard(
        self, env: Mapping[str, str], limit_seconds: float, seconds: float
    ) -> dict[str, str] | None:
        """How each of what must work ended, by what it is called: empty where it is well. Each
        launch within `limit_seconds`; None: not all were looked at within `seconds`.

        One launch for all in a place, and only if something is amiss in it one for each.
        """
        until = time.monotonic() + seconds
        found = {}
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
                found[f"{single.benchmark.name} {buffers} on {path}"] = end
        return found

    def places(self) -> list[str]:
        """Where `others` are."""
        return list(self.others)

    def elsewhere(self, env: Mapping[str, str], place: str, limit_seconds: float) -> list[Figure]:
        """The cases of one launch there within this time; LaunchFailed."""
        parts = [
            (each, ["--sizes", format_sizes(each.benchmark.sizes(PRICED_SIZES)), *SAMPLING])
            for each in self.others[place]
        ]
        mains = {each.benchmark.name: each.benchmark.main.name for each in self.others[place]}
        return [
            Figure(
                case=f"{each.case.benchmark} at {size(each.case.size_bytes)}",
                value=each.value,
                unit=each.case.unit,
                better=each.case.better,
            )
            for together in _launches(parts)
            for each in _run(together, env, limit_seconds)
            if each.case.metric == mains[each.case.benchmark]
        ]


def _curves(
    wanted: Sequence[tuple[Single, Sequence[int]]], env: Mapping[str, str], limit_seconds: float
) -> tuple[dict[str, dict[int, float]], float | None]:
    """The cost of each size, by benchmark, and how far apart the CPUs were."""
    parts = [(each, ["--sizes", format_sizes(sizes), *SAMPLING]) for each, sizes in wanted]
    cases = [case for together in _launches(parts) for case in _run(together, env, limit_seconds)]
    found = {
        each.benchmark.name: {
            case.case.size_bytes: cost(case.value, case.case.better)
            for case in cases
            if (case.case.benchmark, case.case.metric)
            == (each.benchmark.name, each.benchmark.main.name)
        }
        for each, _ in wanted
    }
    if any(set(found[each.benchmark.name]) != set(sizes) for each, sizes in wanted):
        raise LaunchFailed("not all sizes had a figure")
    return found, usual_distance(map(_distance, cases))


def usual_distance(distances: Iterable[float | None]) -> float | None:
    """That of a launch, of those of its cases; None: not known."""
    known = [each for each in distances if each]
    return median(known) if known else None


def _distance(each: Measured) -> float | None:
    """Of the first pair of ranks."""
    return each.case.cache_line_ns[0] if each.case.cache_line_ns else None


_Part = tuple[Single, list[str]]


def _guarded(group: Sequence[Single], env: Mapping[str, str], limit_seconds: float) -> str:
    """How launches of all of these ended: empty where each is well."""
    parts = [
        (each, ["--sizes", GUARD_SIZES, *GUARD_SAMPLING] if each.benchmark.sized else [])
        for each in group
    ]
    try:
        cases = [
            case for together in _launches(parts) for case in _run(together, env, limit_seconds)
        ]
    except LaunchFailed as error:
        return str(error)
    there = {each.case.benchmark for each in cases}
    missing = [each.benchmark.name for each in group if each.benchmark.name not in there]
    return f"{', '.join(missing)}: no figure" if missing else ""


def _launches(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Those that one launch measures; what nearpeak-native starts takes one at a time."""
    return [[part] for part in parts] if parts[0][0].native else [list(parts)]


def _run(parts: Sequence[_Part], env: Mapping[str, str], limit_seconds: float) -> list[Measured]:
    (first, words), *rest = parts

    def line(jsonl: list[str]) -> CommandLine:
        more = [
            word for other, own in rest for word in (PART, *other.program_options([*own, *jsonl]))
        ]
        return first.line([*words, *jsonl, *more], env)

    return figures(*launched(first, line, first.native, limit_seconds, GRACE_SECONDS))
