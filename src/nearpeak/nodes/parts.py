# SPDX-License-Identifier: Apache-2.0
"""The part of a node that is slow on one rail: the GPU, its NIC, or host memory."""

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from nearpeak.nodes.found import BETWEEN, WITHIN, Mode, Part, Verdict
from nearpeak.nodes.tested import Tested

# Of the excess between nodes: a part whose excess within its node is surely less is not its cause.
CLEARLY_LESS = 0.5


class Parts:
    """Verdicts within nodes, and bounds of how slow their other parts are."""

    def __init__(
        self,
        slow: Sequence[Verdict],
        tested: Sequence[Tested],
        nodes: Sequence[str],
        rails: int,
        *,
        with_host: bool,
    ) -> None:
        """`nodes`: their names; `with_host`: messages between nodes have host memory at one end."""
        self._tested, self._nodes = tested, nodes
        self._rails, self._with_host = rails, with_host
        self._modes: dict[tuple[str, int | None], set[Mode]] = {}
        self._most: dict[tuple[str, int | None], Verdict] = {}  # between nodes
        self._memory = {(one.nodes[0], one.rail) for one in slow if one.kind == "memory"}
        for verdict in slow:
            if verdict.kind != "node":
                continue
            place = verdict.nodes[0], verdict.rail
            self._modes.setdefault(place, set()).add(verdict.mode)
            if verdict.mode in BETWEEN:
                most = self._most.setdefault(place, verdict)
                self._most[place] = max(most, verdict, key=lambda one: one.times)

    def named(self, slow: Sequence[Verdict]) -> Iterator[Verdict]:
        """Yields the verdicts with their parts, but not what slow host memory explains."""
        for verdict in slow:
            if verdict.kind != "node" or verdict.rail is None:
                yield verdict
            elif (part := self._part(verdict.nodes[0], verdict.rail)) is not None:
                yield msgspec.structs.replace(verdict, part=part)

    def _part(self, node: str, rail: int) -> Part | None:
        """Returns the GPU if it, or the pair of two GPUs, is slow within its node, too; the NIC if
        surely nothing else is; None for host memory, which has a verdict of its own."""
        slow_in = set(self._modes[node, rail])
        if self._rails == 2:
            slow_in |= self._modes.get((node, None), set()) & {"inside"}
            if slow_in == {"host"}:
                return "GPU or memory"
        if slow_in - {*BETWEEN}:
            return "GPU"
        gpu, memory = self._tests_of_gpu(rail), self._tests_of_memory(rail)
        if not self._with_host:
            return "NIC" if self._clears(gpu, node, rail) else "GPU or NIC"
        is_usual = self._clears(memory, node, rail)
        if self._memory_is_slow(node, rail) and not is_usual:
            return None
        return "NIC" if is_usual and self._clears(gpu, node, rail) else "GPU or NIC"

    def _memory_is_slow(self, node: str, rail: int) -> bool:
        """True if host memory is slow within, of two rails perhaps: the other GPU uses it."""
        if self._rails == 2:
            return "host" in self._modes.get((node, 1 - rail), ())
        return (node, rail) in self._memory

    def _tests_of_gpu(self, rail: int) -> list[tuple[Tested, int | None]]:
        """The tests of a GPU within its node; of two GPUs, one of their pair is of both."""
        return [
            (test, None if test.rails is None else rail)
            for test in self._tested
            if test.kind == "node"
            and test.mode in WITHIN
            and (test.rails is not None or (self._rails == 2 and test.mode == "inside"))
        ]

    def _tests_of_memory(self, rail: int) -> list[tuple[Tested, int | None]]:
        """The tests of host memory of a rank; with two GPUs, the other GPU measures it."""
        if self._rails == 2:
            return [
                (test, 1 - rail)
                for test in self._tested
                if test.kind == "node" and test.mode == "host" and test.rails is not None
            ]
        return [(test, rail) for test in self._tested if test.kind == "memory"]

    def _clears(self, tests: Sequence[tuple[Tested, int | None]], node: str, rail: int) -> bool:
        """True if these tests within a node exclude that their part explains what is slow between
        nodes; not without any."""
        most = self._most[node, rail]
        limit = CLEARLY_LESS * math.log(most.times)
        place = self._nodes.index(node)
        bounds = [_at_most(test, place, at) for test, at in tests if test.metric == most.metric]
        return bool(bounds) and all(bound < limit for bound in bounds)


def _at_most(test: Tested, node: int, rail: int | None) -> float:
    """The upper end of the 95 % interval of an excess (a logarithm); nan: it was not judged."""
    which = test.subjects[:, 0] == node
    if test.rails is not None:
        which &= test.rails == rail
    [index] = np.flatnonzero(which)
    launches = int(np.isfinite(test.values[index]).sum())
    reach = test.excess.reach(launches) if launches > 1 else None
    return math.nan if reach is None else float(test.excess.middle[index]) - reach[0]
