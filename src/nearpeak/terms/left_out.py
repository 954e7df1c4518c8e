# SPDX-License-Identifier: Apache-2.0
"""Parts of a study that do not fit into its time."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from nearpeak.numbers import count
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Who

LeftOutKind = Literal["family", "benchmark", "staging", "path", "memory", "library"]


class LeftOut(msgspec.Struct, kw_only=True, frozen=True):
    """A part that a study does not measure, so that its budget holds six launches of the rest."""

    kind: LeftOutKind
    # "collective", "bibw", "pageable", "host x4", "from other NUMA nodes", "openmpi on host x4"
    name: str
    why: str
    benchmarks: list[str] = []  # that are not measured at all
    paths: list[str] = []  # on which no library is measured
    who: Who | None = None  # only this library is left out, on `path`
    path: str | None = None
    budget_seconds: float  # that would hold six blocks with it, by the estimate then
    whole_seconds: float = 0.0  # a budget that holds the complete plan; 0: not known
    after_blocks: int = 0  # measured by then; 0: before the start, by a guess

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
