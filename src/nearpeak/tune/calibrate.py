# SPDX-License-Identifier: Apache-2.0
"""Ceilings of this machine for a library's own cost model, instead of the developers' constants.

The catalogue says which ceiling a variable takes (`calibrated` of a tunable, libraries/tunables):
`{kernel-copy MiB/s}MBps` stands for a rate, `{between-devices us * 0.31}us` for a part of a time.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.launching import programs
from nearpeak.launching.command_lines import Seats, ceilings_line
from nearpeak.launching.single import Single, another_benchmark
from nearpeak.launching.single_launch import LaunchFailed, Measured, figures, launched
from nearpeak.libraries.tunables import Tunable
from nearpeak.numbers import number
from nearpeak.terms.benchmarks import QUOTED_BYTES, Benchmark
from nearpeak.terms.sizes import format_sizes
from nearpeak.tune.candidates import Candidate
from nearpeak.tune.launches import GRACE_SECONDS
from nearpeak.tune.tuned import Ceiling

PLACE = re.compile(r"\{([\w-]+) (MiB/s|us)(?: \* ([\d.]+))?\}")
UNITS = {"MiB/s": "GB/s", "us": "us"}  # of a placeholder, and of the ceiling measured for it
MIB_PER_GB = 1e9 / (1 << 20)
# Models are straight lines: the rate of long messages, and the time of short ones.
SIZES = {"GB/s": 16 << 20, "us": QUOTED_BYTES}
SAMPLING = ["--slot-ms", "200", "--least-samples", "5"]  # one launch decides
Wanted = tuple[str, str]  # a ceiling and its unit


class Measurement(NamedTuple):
    """The buffers and the method of nearpeak-native that measure a ceiling
    (docs/methods/ceilings.md)."""

    buffers: str
    method: str


MEASUREMENTS = {
    "memcpy": Measurement("H,H", "mapped"),  # by one core, from memory that the other one writes
    "ring": Measurement("H,H", "ring"),
    "kernel-copy": Measurement("H,H", "cma"),
    "host-to-device": Measurement("H,D", "ce"),
    "device-to-host": Measurement("D,H", "ce"),
    "between-devices": Measurement("D,D", "ce"),
}


def wanted(tunables: Iterable[Tunable]) -> list[Wanted]:
    """Returns the ceilings that these variables take, each once, with its unit."""
    places = [place for tunable in tunables for place in PLACE.findall(tunable.calibrated)]
    return list(dict.fromkeys((name, UNITS[unit]) for name, unit, _ in places))


def values(tunables: Iterable[Tunable], ceilings: Sequence[Ceiling]) -> list[Candidate]:
    """Returns the variables with values from the measured ceilings, without variables that need a
    missing ceiling."""
    measured = {(ceiling.name, ceiling.unit): ceiling.value for ceiling in ceilings}

    def written(place: re.Match[str]) -> str:
        name, unit, factor = place.groups()
        value = measured[name, UNITS[unit]] * float(factor or 1)
        return f"{value * MIB_PER_GB:.0f}" if unit == "MiB/s" else f"{value:.2f}"

    return [
        Candidate(tuple(tunable.env(PLACE.sub(written, tunable.calibrated)).items()))
        for tunable in tunables
        if set(wanted([tunable])) <= set(measured)
    ]


def measure(
    first: Single,
    tunables: Sequence[Tunable],
    tell: Callable[[str], None],
    limit_seconds: float,
) -> list[Ceiling]:
    """Measures the ceilings that these variables take, in one launch each; leaves out those that
    cannot be measured here. `first`: a benchmark of a target. Its path is used, or else the first
    path that has such buffers. `limit_seconds`: of a launch."""
    ceilings = []
    places = wanted(tunables)
    for name in dict.fromkeys(name for name, _ in places):
        units = [unit for other, unit in places if other == name]
        try:
            cases = _launch(first, MEASUREMENTS[name], units, limit_seconds)
        except (UserError, LaunchFailed) as error:
            tell(f"{name}: not measured: {error}")
            continue
        for unit in units:
            for figure in cases:
                if (figure.case.unit, figure.case.size_bytes) == (unit, SIZES[unit]):
                    ceilings.append(Ceiling(name=name, value=figure.value, unit=unit))
                    tell(f"{name}: {number(figure.value)} {unit}")
    return ceilings


def _launch(
    first: Single, measurement: Measurement, units: Sequence[str], limit: float
) -> list[Measured]:
    benchmarks = programs.describe_library(first.library, programs.TOOLS).benchmarks
    measured = [benchmark for benchmark in benchmarks if _unit(benchmark) in units]
    chosen = _seated(first, measured[0].name, measurement.buffers)
    options = [
        *("--methods", measurement.method),
        *("--sizes", format_sizes(sorted(SIZES[unit] for unit in units))),
        *SAMPLING,
    ]
    seats = Seats(chosen.path, chosen.ends, chosen.buffers)
    names = [benchmark.name for benchmark in measured]
    with chosen.mps():
        output = launched(
            chosen,
            lambda jsonl: ceilings_line(programs.TOOLS, seats, names, [*options, *jsonl]),
            True,
            limit,
            GRACE_SECONDS,
        )
    return figures(*output)


def _unit(benchmark: Benchmark) -> str:
    """Returns the unit of the ceilings that a benchmark measures; empty if it measures none."""
    if benchmark.ceiling != "measured":
        return ""
    return "us" if benchmark.one_message else "GB/s" if benchmark.one_way else ""


def _seated(first: Single, benchmark: str, buffers: str) -> Single:
    """Returns the benchmark on the same path, or on the first path that these buffers fit.
    UserError if there is none."""
    try:
        return another_benchmark(first, benchmark, path=first.path.id, buffers=buffers)
    except UserError:
        return another_benchmark(first, benchmark, path=None, buffers=buffers)
