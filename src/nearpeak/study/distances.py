# SPDX-License-Identifier: Apache-2.0
"""How far apart the CPUs of a study's launches were: a hypervisor moves them.

Figures of launches at one distance do not stand beside figures of launches at another.
"""

import statistics
from collections.abc import Iterable

from nearpeak.launching.program_records import SamplesRecord
from nearpeak.statistics.strata import mixed
from nearpeak.study.plan import LaunchId, Plan
from nearpeak.terms.path import DataPath


class Distances:
    """Of all launches that measured it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._found: dict[LaunchId, float] = {}  # ns

    def add(self, launch: LaunchId, samples: Iterable[SamplesRecord]) -> None:
        """What a launch found, in the place of an earlier try: the middle of its cases, as a single
        one is off where something else ran on the CPU."""
        self._found.pop(launch, None)
        if farthest := [ns for record in samples if (ns := record.apart_ns)]:
            self._found[launch] = statistics.median(farthest)

    def moving(self, until: int) -> list[set[str]]:
        """The ids of paths, together where they are between the same CPUs, whose launches in the
        blocks before that were at a mix of distances."""
        paths: dict[tuple[tuple[str, ...], ...], set[str]] = {}
        for path in self._plan.paths:
            paths.setdefault(_cpus(path), set()).add(path.id)
        return [ids for ids in paths.values() if mixed(self._of(ids, until))]

    def _of(self, paths: set[str], until: int) -> list[float]:
        return [
            ns
            for launch, ns in self._found.items()
            if launch.block < until and self._plan.launches[launch.template].path in paths
        ]


def _cpus(path: DataPath) -> tuple[tuple[str, ...], ...]:
    """Where its ranks run, in any order."""
    return tuple(sorted((end.host or "", *map(str, end.cpus)) for end in path.ends))
