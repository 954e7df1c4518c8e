# SPDX-License-Identifier: Apache-2.0
"""Core-to-core distances of a study's launches: a hypervisor moves their CPUs.

Figures of launches at one distance are not compared with figures of launches at another.
"""

import statistics
from collections.abc import Iterable

from nearpeak.launching.program_records import SamplesRecord
from nearpeak.planning.plan import LaunchId, Plan
from nearpeak.statistics.strata import mixed
from nearpeak.terms.path import DataPath


class Distances:
    """Core-to-core distances of all launches that measured them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._by_launch: dict[LaunchId, float] = {}  # ns

    def add(self, launch: LaunchId, samples: Iterable[SamplesRecord]) -> None:
        """Records the distance of a launch, replacing that of an earlier try: the median of its
        cases, as a single one is off if something else ran on the CPU."""
        self._by_launch.pop(launch, None)
        if farthest := [ns for record in samples if (ns := record.apart_ns)]:
            self._by_launch[launch] = statistics.median(farthest)

    def moving(self, until: int) -> list[set[str]]:
        """Returns the ids of paths whose launches in the first blocks, before `until`, were at a
        mix of distances. Paths between the same CPUs are together."""
        paths: dict[tuple[tuple[str, ...], ...], set[str]] = {}
        for path in self._plan.paths:
            paths.setdefault(_cpus(path), set()).add(path.id)
        return [ids for ids in paths.values() if mixed(self._distances(ids, until))]

    def _distances(self, paths: set[str], until: int) -> list[float]:
        return [
            ns
            for launch, ns in self._by_launch.items()
            if launch.block < until and self._plan.launches[launch.template].path in paths
        ]


def _cpus(path: DataPath) -> tuple[tuple[str, ...], ...]:
    """Returns the host and CPUs of each rank of a path, sorted."""
    return tuple(sorted((end.host or "", *map(str, end.cpus)) for end in path.ends))
