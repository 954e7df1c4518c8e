# SPDX-License-Identifier: Apache-2.0
"""The names of curves and cases in running text."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar

import msgspec

from nearpeak.numbers import count, number, size, unit
from nearpeak.results.results import CeilingPoint, CeilingValue, Cell, Reference
from nearpeak.terms.axes import STAGING, staging
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import HOST, WAYS
from nearpeak.terms.identity import Case, Curve
from nearpeak.terms.outcomes import TOO_SLOW

C = TypeVar("C", Curve, Case)
LIES_IN = {
    "core cache": "in a core's caches",
    "shared cache": "in a shared cache",
    "device cache": "in a GPU's caches, perhaps",
}

# Copy is compared with messages, which count their bytes once. STREAM counts what is read and what
# is written: two arrays of a copy, three of a triad (https://www.cs.virginia.edu/stream/ref.html).
STREAM_OF_COPY = 2.0  # times the rate of copy
# By the kind of the reason.
NO_FRACTION = {
    None: "",
    "other distance": "the CPUs were at another distance in its blocks than where its ceiling was"
    " measured",
    "other blocks": "its reference was measured in other blocks",
}


def in_cache(point: CeilingPoint | Reference) -> str:
    """`in a shared cache`: the location of its bytes; empty where that is memory, or not known."""
    return LIES_IN.get(point.lies_in or "", "")


def status(cell: Cell) -> str:
    """`crashed`, `crashed in 2 of 5 launches`, `>= 5600 µs, aborted: too slow`: what became of a
    cell."""
    if loss := loses(cell):
        return loss
    if cell.at_least is None or cell.status != TOO_SLOW:
        return cell.status
    return f">= {number(cell.at_least)} {unit(cell.unit)}, {cell.status}"


def loses(cell: Cell) -> str:
    """`crashed in 2 of 5 launches`, of a cell whose other launches measured it; else empty."""
    if cell.median is None or not cell.failed:
        return ""
    return f"{cell.status} in {cell.failed} of {count(cell.failed + cell.launches, 'launch')}"


def reference(ceiling: CeilingValue | Reference | None) -> Literal["ceiling", "bound"]:
    """`ceiling`, or `bound`: the reference of a case."""
    return "ceiling" if ceiling is None or ceiling.kind == "measured" else "bound"


def staged(value: str) -> str:
    """`staged by the benchmark (pinned)`, of a value of the axis `staging`."""
    return f"staged by the benchmark ({value})"


def bare(curve: C) -> C:
    """The curve, or case, but for how data was staged."""
    axes = {name: value for name, value in curve.axes.items() if name != STAGING}
    return msgspec.structs.replace(curve, axes=axes)


def axes_words(axes: Mapping[str, str]) -> list[str]:
    """`name=value` of each axis; that nothing was staged goes without saying."""
    kind = staging(axes)
    fragments = [f"{name}={value}" for name, value in axes.items() if name != STAGING]
    return fragments if kind is None else [staged(kind), *fragments]


def case(curve: Curve) -> str:
    """`bw`, `bw D,D`, `bw D,D staged by the benchmark (pinned)`: in running text."""
    kind = staging(curve.axes)
    buffers = curve.buffers.replace(HOST, "")
    return " ".join(filter(None, [curve.figure, buffers, kind and staged(kind)]))


def short(case: Case, benchmarks: Iterable[Benchmark] = ()) -> str:
    """`latency D,D 8 B`, `bw to GPU 16 MiB`: in a line, behind its path. Of `benchmarks` that move
    data one way between a host and a GPU it has the direction, of a round trip between them
    nothing, instead of buffers."""
    kind = staging(case.axes)
    buffers = case.buffers.replace(HOST, "")
    for benchmark in benchmarks:
        if (benchmark.name, benchmark.main.name) == (case.benchmark, case.metric):
            if benchmark.one_way:
                buffers = WAYS.get(buffers, buffers)
            elif benchmark.one_message and buffers in WAYS:
                buffers = ""
    return " ".join(filter(None, [case.figure, buffers, size(case.x), kind and staged(kind)]))


def counted(curve: Curve, gbs: float) -> str:
    """The way the bytes of this memory rate are counted; empty for all others."""
    if curve.figure == "copy":
        return f"each copied byte counted once; {number(STREAM_OF_COPY * gbs)} as STREAM counts"
    return "all three arrays counted, as STREAM does" if curve.figure == "triad" else ""


def detail(curve: Curve) -> str:
    """`D,D, calls=blocking`: what its figure leaves open."""
    return ", ".join([curve.buffers, *axes_words(curve.axes)])


def label(curve: Curve) -> str:
    """`latency (H,H, calls=blocking)`: in full."""
    return f"{curve.figure} ({detail(curve)})"


def no_fraction(cell: Cell) -> str:
    """The reason why it has none; empty where nothing is missing."""
    return NO_FRACTION[cell.no_fraction]
