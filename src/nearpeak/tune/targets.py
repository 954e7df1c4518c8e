# SPDX-License-Identifier: Apache-2.0
"""What a library is tuned for: benchmarks at sizes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.terms.sizes import format_bytes, parse_bytes

DEFAULT = "latency:8,latency:64K,latency:16M,bw:16M"


class Target(NamedTuple):
    """A benchmark at one size of its messages."""

    benchmark: str
    size_bytes: int

    @property
    def label(self) -> str:
        """`latency:16M`, as it is written."""
        return f"{self.benchmark}:{format_bytes(self.size_bytes)}"


def parse_targets(text: str) -> list[Target]:
    """Those of `latency:8,bw:16M`, each once; UserError for anything else."""
    found = []
    for word in filter(None, map(str.strip, text.split(","))):
        name, colon, size = word.partition(":")
        if not colon or not name:
            raise UserError(f"--for {word}: write BENCHMARK:SIZE, like latency:8 or bw:16M")
        try:
            found.append(Target(name, parse_bytes(size)))
        except UserError as error:
            raise UserError(f"--for {word}: {error}") from None
    if not found:
        raise UserError(f"--for {text!r}: write BENCHMARK:SIZE, like latency:8,bw:16M")
    return list(dict.fromkeys(found))


def by_benchmark(targets: Sequence[Target]) -> dict[str, list[int]]:
    """The sizes of each benchmark, ascending: what one launch measures."""
    found: dict[str, list[int]] = {}
    for target in targets:
        found.setdefault(target.benchmark, []).append(target.size_bytes)
    return {name: sorted(sizes) for name, sizes in found.items()}


def cost(value: float, better: str) -> float:
    """A figure above 0 as a logarithm of which less is better, so that differences are ratios."""
    return math.log(value) if better == "lower" else -math.log(value)
