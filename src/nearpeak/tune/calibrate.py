# SPDX-License-Identifier: Apache-2.0
"""Ceilings of this machine for a library's own cost model, in place of its makers' constants.

The catalogue says which ceiling a variable takes (`calibrated` of a tunable, libraries/tunables):
`{kernel-copy MiB/s}MBps` stands for a rate, `{between-devices us * 0.31}us` for a part of a time.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.launching import programs
from nearpeak.launching.command_lines import Seats, ceilings_line
from nearpeak.libraries.tunables import Tunable
from nearpeak.numbers import number
from nearpeak.study.single import Single, another_benchmark
from nearpeak.study.single_launch import LaunchFailed, Measured, figures, launched
from nearpeak.terms.benchmarks import QUOTED_BYTES, Benchmark
from nearpeak.terms.sizes import format_sizes
from nearpeak.tune.candidates import Candidate
from nearpeak.tune.launches import GRACE_SECONDS
from nearpeak.tune.tuned import Ceiling

PLACE = re.compile(r"\{([\w-]+) (MiB/s|us)(?: \* ([\d.]+))?\}")
UNITS = {"MiB/s": "GB/s", "us": "us"}  # of a place, and of what is measured for it
MIB_PER_GB = 1e9 / (1 << 20)
# Models are straight lines: the rate of long messages, and the time of short ones.
SIZES = {"GB/s": 16 << 20, "us": QUOTED_BYTES}
SAMPLING = ["--slot-ms", "200", "--least-samples", "5"]  # one launch decides
Wanted = tuple[str, str]  # a ceiling and its unit


class Way(NamedTuple):
    """How a ceiling is measured: a method of nearpeak-native (docs/ceilings.md)."""

    buffers: str
    method: str


WAYS = {
    "memcpy": Way("H,H", "mapped"),  # by one core, out of memory that the other one writes
    "ring": Way("H,H", "ring"),
    "kernel-copy": Way("H,H", "cma"),
    "host-to-device": Way("H,D", "ce"),
    "device-to-host": Way("D,H", "ce"),
    "between-devices": Way("D,D", "ce"),
}


def wanted(tunables: Iterable[Tunable]) -> list[Wanted]:
    """The ceilings that these take, each once."""
    places = [place for each in tunables for place in PLACE.findall(each.calibrated)]
    return list(dict.fromkeys((name, UNITS[unit]) for name, unit, _ in places))


def values(tunables: Iterable[Tunable], ceilings: Sequence[Ceiling]) -> list[Candidate]:
    """The variables with what was measured; those of which a ceiling is missing are left out."""
    known = {(ceiling.name, ceiling.unit): ceiling.value for ceiling in ceilings}

    def written(place: re.Match[str]) -> str:
        name, unit, factor = place.groups()
        value = known[name, UNITS[unit]] * float(factor or 1)
        return f"{value * MIB_PER_GB:.0f}" if unit == "MiB/s" else f"{value:.2f}"

    return [
        Candidate(tuple(each.env(PLACE.sub(written, each.calibrated)).items()))
        for each in tunables
        if set(wanted([each])) <= set(known)
    ]


def measure(
    first: Single,
    tunables: Sequence[Tunable],
    tell: Callable[[str], None],
    limit_seconds: float,
) -> list[Ceiling]:
    """Those of the ceilings that these take which can be measured here, by a launch each. `first`:
    one of what is tuned, on whose path it is, or on the first that has such buffers;
    `limit_seconds`: of a launch."""
    found = []
    places = wanted(tunables)
    for name in dict.fromkeys(name for name, _ in places):
        units = [unit for other, unit in places if other == name]
        try:
            cases = _launch(first, WAYS[name], units, limit_seconds)
        except (UserError, LaunchFailed) as error:
            tell(f"{name}: not measured: {error}")
            continue
        for unit in units:
            for each in cases:
                if (each.case.unit, each.case.size_bytes) == (unit, SIZES[unit]):
                    found.append(Ceiling(name=name, value=each.value, unit=unit))
                    tell(f"{name}: {number(each.value)} {unit}")
    return found


def _launch(first: Single, way: Way, units: Sequence[str], limit: float) -> list[Measured]:
    known = programs.describe_library(first.library, programs.TOOLS).benchmarks
    measured = [each for each in known if _unit(each) in units]
    chosen = _seated(first, measured[0].name, way.buffers)
    words = [
        *("--methods", way.method),
        *("--sizes", format_sizes(sorted(SIZES[unit] for unit in units))),
        *SAMPLING,
    ]
    seats = Seats(chosen.path, chosen.ends, chosen.buffers)
    names = [each.name for each in measured]
    with chosen.mps():
        found = launched(
            chosen,
            lambda jsonl: ceilings_line(programs.TOOLS, seats, names, [*words, *jsonl]),
            True,
            limit,
            GRACE_SECONDS,
        )
    return figures(*found)


def _unit(benchmark: Benchmark) -> str:
    """Of the ceilings that a benchmark measures; empty: of none."""
    if benchmark.ceiling != "measured":
        return ""
    return "us" if benchmark.one_message else "GB/s" if benchmark.one_way else ""


def _seated(first: Single, benchmark: str, buffers: str) -> Single:
    """On the same path, or on the first that these buffers fit; UserError where none does."""
    try:
        return another_benchmark(first, benchmark, path=first.path.id, buffers=buffers)
    except UserError:
        return another_benchmark(first, benchmark, path=None, buffers=buffers)
