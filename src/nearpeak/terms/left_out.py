# SPDX-License-Identifier: Apache-2.0
"""Parts of a study that do not fit into its time."""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from nearpeak.numbers import count
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Who
from nearpeak.terms.private import FreeText, Kept, Public

LeftOutKind = Literal[
    "family",  # a family of benchmarks
    "benchmark",  # a benchmark
    "staging",  # one way of staging
    "path",  # a path
    "memory",  # copies within host memory
    "library",  # a library on one path
]


class LeftOut(msgspec.Struct, kw_only=True, frozen=True):
    """A part that a study does not measure, so that its budget holds six launches of the rest
    (docs/methods/budget.md)."""

    kind: LeftOutKind  # what is left out
    # of the family, benchmark, way, path, memories, or library and path: `collective`, `host x4`,
    # `openmpi on host x4`
    name: FreeText
    why: FreeText  # why it was left out before others
    benchmarks: list[Public] = []  # benchmarks that are not measured at all
    paths: list[Kept] = []  # paths on which no library is measured; empty for `library`
    who: Who | None = None  # of `library`: the library that is left out on `path`; else null
    path: Kept | None = None  # of `library`: the path; else null
    budget_seconds: float  # seconds that would hold six blocks with it too, by the estimate then
    # seconds that would hold the complete plan, by an estimate before the start; 0: not known
    whole_seconds: float = 0.0
    after_blocks: int = 0  # blocks measured by then; 0: before the start, by an estimate

    def holds(
        self, path: str, benchmark: str, axes: Mapping[str, str], library: str | None = None
    ) -> bool:
        """True if it includes a benchmark with these axes on a path.

        `library`: the label of a library; None: any.
        """
        if self.who is not None:
            return path == self.path and library in (None, self.who.label)
        return (
            path in self.paths
            or benchmark in self.benchmarks
            or (self.kind == "staging" and staging(axes) == self.name)
        )

    @property
    def label(self) -> str:
        """For people: `collective: allreduce, bcast, and with that host x4`."""
        if self.kind == "memory":
            return f"memory {self.name} ({count(len(self.paths), 'path')})"
        if self.kind == "staging":
            return f"staging={self.name}"
        if self.kind in ("path", "library"):
            return self.name
        others = [name for name in self.benchmarks if name != self.name]
        label = f"{self.name}: {', '.join(others)}" if others else self.name
        return f"{label}, and with that {', '.join(self.paths)}" if self.paths else label


def never_measured(left_out: Iterable[LeftOut]) -> set[str]:
    """The benchmarks that were left out before anything was measured."""
    return {name for left in left_out if not left.after_blocks for name in left.benchmarks}
