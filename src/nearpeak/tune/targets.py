# SPDX-License-Identifier: Apache-2.0
"""Targets of a tuning: benchmarks at sizes."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.sizes import format_bytes, parse_bytes

WRITE = "write BENCHMARK:SIZE, like latency:8 or bw:16M, or an application, like jacobi2d"
DEFAULT = "latency:8,latency:64K,latency:16M,bw:16M"


class Wanted(NamedTuple):
    """A requested benchmark at a size; None for an application at its own sizes."""

    benchmark: str
    size: int | None


class Target(NamedTuple):
    """A benchmark at one size, of its messages or of an application's problem."""

    benchmark: str
    size: int
    unit: str = "B"  # that its size counts

    @property
    def label(self) -> str:
        """`latency:16M`, as the user writes it."""
        return f"{self.benchmark}:{format_bytes(self.size)}"

    @property
    def of_messages(self) -> bool:
        """True unless it is an application."""
        return self.unit == "B"


def parse_targets(text: str) -> list[Wanted]:
    """Parses `latency:8,bw:16M,jacobi2d`, and drops duplicates; UserError for anything else."""
    wanted = []
    for word in filter(None, map(str.strip, text.split(","))):
        name, colon, size = word.partition(":")
        if not name:
            raise UserError(f"--for {word}: {WRITE}")
        try:
            wanted.append(Wanted(name, parse_bytes(size) if colon else None))
        except UserError as error:
            raise UserError(f"--for {word}: {error}") from None
    if not wanted:
        raise UserError(f"--for {text!r}: {WRITE}")
    return list(dict.fromkeys(wanted))


def resolved(wanted: Sequence[Wanted], benchmarks: Mapping[str, Benchmark]) -> list[Target]:
    """Returns the targets; an application without a size gets its usual sizes. UserError for a size
    that a benchmark does not have. `benchmarks`: by name."""
    targets = []
    for target in wanted:
        benchmark = benchmarks[target.benchmark]
        if target.size is None and benchmark.over_bytes:
            raise UserError(f"--for {target.benchmark}: {WRITE}")
        sizes = benchmark.x.usual if target.size is None else [target.size]
        if not sizes or benchmark.sizes(sizes) != sizes:
            raise UserError(f"--for {target.benchmark}: it has no such size")
        targets += [Target(target.benchmark, size, benchmark.x.unit) for size in sizes]
    return list(dict.fromkeys(targets))


def by_benchmark(targets: Sequence[Target]) -> dict[str, list[int]]:
    """Returns the sizes of each benchmark, ascending: one launch measures them."""
    by_name: dict[str, list[int]] = {}
    for target in targets:
        by_name.setdefault(target.benchmark, []).append(target.size)
    return {name: sorted(sizes) for name, sizes in by_name.items()}


def cost(value: float, better: str) -> float:
    """Returns a figure above 0 as a logarithm, less is better, so that differences are ratios."""
    return math.log(value) if better == "lower" else -math.log(value)
