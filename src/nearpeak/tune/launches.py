# SPDX-License-Identifier: Apache-2.0
"""The launches of a search: all targets in one, and all that must go on working in a few."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearpeak.libraries.library import CommandLine
from nearpeak.numbers import size
from nearpeak.study.commands import PART
from nearpeak.study.launching import LaunchFailed, Measured, figures, launched
from nearpeak.study.single import Single
from nearpeak.terms.sizes import format_sizes
from nearpeak.tune.journal import Figure
from nearpeak.tune.targets import Target, by_benchmark

SAMPLING = ["--slot-ms", "20", "--least-samples", "3"]
LIMIT_SECONDS = 60.0  # of the library as it is, and of what must work
GUARD_SIZES = "1,8,64,512,4K,8K,16K,32K,64K,128K,256K,512K,1M,4M"
PRICED_SIZES = [8, 4096, 1 << 18, 1 << 24]
GUARD_SAMPLING = ["--slot-ms", "2", "--least-samples", "3"]  # for right or wrong, not for figures


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
            wanted = (target.benchmark, target.size_bytes, main)
            found += [
                Value(each.value, each.case.unit, each.case.better, _distance(each))
                for each in cases
                if (each.case.benchmark, each.case.size_bytes, each.case.metric) == wanted
            ]
        if len(found) != len(self.targets):
            raise LaunchFailed("not all targets had a figure")
        return found

    def guard(self, env: Mapping[str, str]) -> dict[str, str]:
        """How each of what must work ended, by what it is called: empty where it is well."""
        found = {}
        for single in self.guards:
            words = ["--sizes", GUARD_SIZES, *GUARD_SAMPLING] if single.benchmark.sized else []
            name = f"{single.benchmark.name} {single.buffers} on {single.path.id}"
            try:
                _run([(single, words)], env, LIMIT_SECONDS)
            except LaunchFailed as error:
                found[name] = str(error)
            else:
                found[name] = ""
        return found

    def places(self) -> list[str]:
        """Where `others` are."""
        return list(self.others)

    def elsewhere(self, env: Mapping[str, str], place: str) -> list[Figure]:
        """The cases of one launch there; LaunchFailed."""
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
            for each in _run(together, env, LIMIT_SECONDS)
            if each.case.metric == mains[each.case.benchmark]
        ]


def _distance(each: Measured) -> float | None:
    """Of the first pair of ranks."""
    return each.case.cache_line_ns[0] if each.case.cache_line_ns else None


_Part = tuple[Single, list[str]]


def _launches(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Those that one launch measures; what nearpeak-native starts takes one at a time."""
    return [[part] for part in parts] if parts[0][0].native else [list(parts)]


def _run(parts: Sequence[_Part], env: Mapping[str, str], limit_seconds: float) -> list[Measured]:
    (first, words), *rest = parts

    def line(jsonl: list[str]) -> CommandLine:
        more = [word for other, own in rest for word in (PART, *other.words([*own, *jsonl]))]
        return first.line([*words, *jsonl, *more], env)

    return figures(*launched(first, line, first.native, limit_seconds))
