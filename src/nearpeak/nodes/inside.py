# SPDX-License-Identifier: Apache-2.0
"""Slow GPUs within nodes, and slow host memory: each GPU with the others of its node, and with host
memory of the other ranks.

GPUs of a node differ in their links by design, and in the same way on all nodes. So each pair of a
node is compared with the same pair of all nodes of the same kind, which have the same GPUs.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.nodes.found import UNITS, WITHIN, Curve, Metric, Mode
from nearpeak.nodes.journal import Inside
from nearpeak.nodes.pairs import METRICS
from nearpeak.nodes.suspects import MARGINS
from nearpeak.nodes.tested import Tested, apart_tests
from nearpeak.statistics import additive
from nearpeak.statistics.additive import excess, lower_median, spread
from nearpeak.statistics.nested import DISTINGUISHED

STEPS = 4  # of a median polish


class Effects(NamedTuple):
    """The excess of messages within nodes over the usual time (logarithms, nan: not known)."""

    usual: float  # of the usual pair of GPUs, or of a GPU and host memory
    nodes: Floats  # of each node in each launch
    # of each GPU beyond its node if that is slow, else alone: nodes x launches x rails; None: not
    # known
    gpus: Floats | None
    memory: Floats | None  # the same of host memory of each rank


class _OfLaunch(NamedTuple):
    """The effects in a launch."""

    nodes: Floats
    gpus: Floats  # nodes x rails, beyond a slow node; nan: not known
    memory: Floats  # the same of the ranks' host memory


class Within:
    """The values within nodes of all launches."""

    def __init__(
        self, launches: Sequence[Inside | None], count: int, rails: int, kinds: Indices
    ) -> None:
        """`count`: the number of nodes; `kinds`: the kind of each node."""
        self._count = count
        self._of = {
            (metric, mode): measured
            for metric in METRICS
            for mode in WITHIN
            if (measured := effects(launches, metric, mode, rails, kinds))
        }

    def tests(self) -> Iterator[Tested]:
        """Tests nodes and their GPUs."""
        every, margin = np.arange(self._count), math.log(MARGINS["node"])
        for (metric, mode), effect in self._of.items():
            if effect.nodes.shape[1] < 2:
                continue
            slowness = excess(effect.nodes, margin)
            yield Tested("node", metric, mode, None, every[:, None], effect.nodes, slowness)
            if effect.gpus is not None:
                yield apart_tests("node", metric, mode, every[:, None], effect.gpus, every)
            if effect.memory is not None:
                yield apart_tests("memory", metric, mode, every[:, None], effect.memory, every)

    def curves(self) -> Iterator[Curve]:
        """Yields what is usual within a node."""
        for (metric, mode), effect in self._of.items():
            usual = math.exp(effect.usual if metric == "latency_us" else -effect.usual)
            yield Curve(
                metric=metric,
                mode=mode,
                unit=UNITS[metric],
                usual=usual,
                nodes=spread(lower_median(effect.nodes)) if self._count >= DISTINGUISHED else None,
                links=None,
                launches=None,
            )

    def of_gpus(self) -> dict[tuple[Metric, Mode], Floats]:
        """Returns the excess of the messages of each GPU: nodes x launches x rails."""
        return {
            key: np.maximum(effect.nodes, 0.0)[..., None] + effect.gpus
            for key, effect in self._of.items()
            if effect.gpus is not None
        }


def kinds_of(gpus: Sequence[str], count: int) -> Indices:
    """Returns the kind of each of `count` nodes: those with the same GPUs are alike. `gpus`: the
    name of each GPU, node by node; empty: not known, so that all are alike."""
    rails = len(gpus) // count
    numbers: dict[tuple[str, ...], int] = {}
    names = (tuple(gpus[node * rails : (node + 1) * rails]) for node in range(count))
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


def effects(
    launches: Sequence[Inside | None], metric: Metric, mode: Mode, rails: int, kinds: Indices
) -> Effects | None:
    """The effects of nodes of these kinds with `rails` GPUs each; None if nothing was measured."""
    count = len(kinds)
    tables = [
        np.full((count, rails, rails), np.nan)
        if inside is None
        else _table(inside, metric, mode, count, rails)
        for inside in launches
    ]
    if not tables or not any(np.isfinite(table).any() for table in tables):
        return None
    divided = [_of_launch(_relative(table, kinds), mode) for table in tables]
    usual = float(np.nanmedian(np.stack(tables)))
    nodes, gpus, memory = (np.stack(parts, axis=1) for parts in zip(*divided, strict=True))
    return Effects(
        usual,
        nodes,
        None if mode == "inside" and rails == 2 else gpus,
        None if mode == "inside" or rails == 2 else memory,
    )


def _table(inside: Inside, metric: Metric, mode: Mode, count: int, rails: int) -> Floats:
    """The logarithms of the times of a message: nodes x GPUs x the other GPU or rank."""
    latency, bandwidth = inside.latency_us, inside.bandwidth_gbs
    which: Booleans = (inside.host == (mode == "host")) & (latency > 0) & (bandwidth > 0)
    values = np.log(latency[which]) if metric == "latency_us" else -np.log(bandwidth[which])
    place = (inside.node[which] * rails + inside.gpu[which]) * rails + inside.other[which]
    order = np.lexsort((values, place))
    names, starts, sizes = np.unique(place[order], return_index=True, return_counts=True)
    flat = np.full(count * rails * rails, np.nan)
    flat[names] = values[order][starts + (sizes - 1) // 2]
    table = flat.reshape(count, rails, rails)
    if mode == "inside":  # a pair has no direction
        table = np.fmin(table, table.transpose(0, 2, 1))
    return table


def _relative(table: Floats, kinds: Indices) -> Floats:
    """The values relative to the usual one of the same pair in nodes of that kind; nan where the
    nodes are too few to show what is usual."""
    relative = np.full_like(table, np.nan)
    for kind in range(int(kinds.max()) + 1):
        alike = kinds == kind
        if np.count_nonzero(alike) >= min(DISTINGUISHED, len(kinds)):
            relative[alike] = table[alike] - lower_median(np.moveaxis(table[alike], 0, -1))
    return relative


def _of_launch(relative: Floats, mode: Mode) -> _OfLaunch:
    """The effects of nodes, and of their parts beyond them."""
    if mode == "host":
        return _with_memory(relative)
    nodes, rails, _ = relative.shape
    unknown = np.full((nodes, rails), np.nan)
    if rails < DISTINGUISHED:  # a GPU is slow if all of its pairs are, and a node if all of it are
        gpus = _least(relative)
        common = _least(gpus)
        return _OfLaunch(common, _beyond(gpus, common), unknown)
    node, gpu, other = np.nonzero(np.isfinite(relative) & np.tri(rails, k=-1, dtype=bool).T)
    if not len(node):
        return _OfLaunch(unknown[:, 0], unknown, unknown)
    values = relative[node, gpu, other]
    pattern = additive.design(node * rails + gpu, node * rails + other, nodes * rails)
    fitted = additive.fit(pattern, values)
    halves = fitted.nodes.reshape(nodes, rails)  # a slow node is a half slow at both GPUs of a pair
    common = lower_median(halves)
    return _OfLaunch(2 * common, _beyond(halves, 2 * common), unknown)


def _beyond(parts: Floats, node: Floats) -> Floats:
    """The excess of the parts of nodes (nodes x parts) beyond what is usual in their node, or in
    all nodes if theirs is faster: a part is not slow for the faster ones beside it."""
    return parts + (np.minimum(node, 0.0) - lower_median(parts))[:, None]


def _least(values: Floats) -> Floats:
    """The least value of the last axis; nan if all are."""
    least = np.where(np.isfinite(values), values, np.inf).min(axis=-1)
    return np.where(np.isfinite(least), least, np.nan)


def _with_memory(relative: Floats) -> _OfLaunch:
    """Divides the values of GPUs with host memory of ranks (nodes x GPUs x ranks) into a node, its
    GPUs and its memory. Two rails do not tell a GPU from memory: all counts as that of the GPU.

    Memory of half of the ranks may look like GPUs of the other half, since no GPU is measured with
    the memory of its rank. So either is taken for the cause first, and what explains more counts.
    """
    gpus_first = _polished(relative)
    memory, gpus = _polished(relative.transpose(0, 2, 1))
    left = [
        np.nansum(np.abs(relative - ones[:, :, None] - others[:, None, :]), axis=(1, 2))
        for ones, others in (gpus_first, (gpus, memory))
    ]
    by_gpus = (left[0] <= left[1])[:, None]
    gpus = np.where(by_gpus, gpus_first[0], gpus)
    memory = np.where(by_gpus, gpus_first[1], memory)
    if relative.shape[1] == 2:
        gpus, memory = _least(relative), np.zeros_like(memory)
    node = lower_median(gpus) + lower_median(memory)
    return _OfLaunch(node, _beyond(gpus, node), _beyond(memory, node))


def _polished(values: Floats) -> tuple[Floats, Floats]:
    """The effects of rows and columns by median polish, rows first: of each node (the first
    axis)."""
    rows, columns = np.zeros(values.shape[:2]), np.zeros(values.shape[::2])
    for _ in range(STEPS):
        rows = lower_median(values - columns[:, None, :])
        columns = lower_median((values - rows[:, :, None]).transpose(0, 2, 1))
    return rows, columns
