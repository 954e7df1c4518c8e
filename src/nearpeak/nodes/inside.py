# SPDX-License-Identifier: Apache-2.0
"""Slow GPUs within nodes: each GPU with the others of its node, and with host memory.

GPUs of a node differ in their links by design, and in the same way on all nodes. So each pair of a
node is compared with the same pair of all nodes.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats
from nearpeak.nodes.found import UNITS, Curve, Metric, Mode
from nearpeak.nodes.journal import Inside
from nearpeak.nodes.pairs import METRICS
from nearpeak.nodes.rails import lower_median
from nearpeak.nodes.suspects import MARGINS
from nearpeak.nodes.tested import Tested, of_rails
from nearpeak.statistics import additive
from nearpeak.statistics.additive import excess, spread
from nearpeak.statistics.nested import DISTINGUISHED

MODES: tuple[Mode, ...] = ("inside", "host")


class Effects(NamedTuple):
    """The excess of messages within nodes over the usual time (logarithms, nan: not known)."""

    usual: float  # of the usual pair of GPUs, or of a GPU and host memory
    nodes: Floats  # of each node in each launch
    gpus: Floats | None  # of each GPU beyond its node: nodes x launches x rails; None: not known


class Within:
    """The values within nodes of all launches."""

    def __init__(self, launches: Sequence[Inside | None], count: int, rails: int) -> None:
        """`count`: the number of nodes."""
        self._count = count
        self._of = {
            (metric, mode): measured
            for metric in METRICS
            for mode in MODES
            if (measured := effects(launches, metric, mode, count, rails))
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
                yield of_rails("node", metric, mode, every[:, None], effect.gpus, every)

    def curves(self) -> Iterator[Curve]:
        """Yields what is usual within a node."""
        for (metric, mode), effect in self._of.items():
            usual = math.exp(effect.usual if metric == "latency_us" else -effect.usual)
            yield Curve(
                metric=metric,
                mode=mode,
                unit=UNITS[metric],
                usual=usual,
                nodes=spread(np.nanmedian(effect.nodes, axis=1))
                if self._count >= DISTINGUISHED
                else None,
                links=None,
                launches=None,
            )

    def of_gpus(self) -> dict[tuple[Metric, Mode], Floats]:
        """Returns the excess of the messages of each GPU: nodes x launches x rails."""
        return {
            key: effect.nodes[..., None] + effect.gpus
            for key, effect in self._of.items()
            if effect.gpus is not None
        }


def effects(
    launches: Sequence[Inside | None], metric: Metric, mode: Mode, count: int, rails: int
) -> Effects | None:
    """The effects of `count` nodes of so many rails; None if nothing was measured."""
    tables = [
        np.full((count, rails, rails), np.nan)
        if inside is None
        else _table(inside, metric, mode, count, rails)
        for inside in launches
    ]
    if not tables or not any(np.isfinite(table).any() for table in tables):
        return None
    divided = [_of_launch(table, mode) for table in tables]
    usual = float(np.nanmedian(np.stack(tables)))
    nodes = np.stack([nodes for nodes, _ in divided], axis=1)
    if mode == "inside" and rails < DISTINGUISHED:
        return Effects(usual, nodes, None)
    return Effects(usual, nodes, np.stack([gpus for _, gpus in divided], axis=1))


def _table(inside: Inside, metric: Metric, mode: Mode, count: int, rails: int) -> Floats:
    """The logarithms of the times of a message: nodes x GPUs x the other GPU or rank."""
    latency, bandwidth = inside.latency_us, inside.bandwidth_gbs
    which: Booleans = (inside.host == (mode == "host")) & (latency > 0) & (bandwidth > 0)
    logarithms = np.log(latency) if metric == "latency_us" else -np.log(bandwidth)
    place = (inside.node[which] * rails + inside.gpu[which]) * rails + inside.other[which]
    values = logarithms[which]
    order = np.lexsort((values, place))
    names, starts, sizes = np.unique(place[order], return_index=True, return_counts=True)
    flat = np.full(count * rails * rails, np.nan)
    flat[names] = values[order][starts + (sizes - 1) // 2]
    table = flat.reshape(count, rails, rails)
    if mode == "inside":  # a pair has no direction
        table = np.fmin(table, table.transpose(0, 2, 1))
    return table


def _of_launch(table: Floats, mode: Mode) -> tuple[Floats, Floats]:
    """The effects of nodes, and of their GPUs beyond them."""
    nodes, rails, _ = table.shape
    relative = table - lower_median(np.moveaxis(table, 0, -1))
    if mode == "host":
        gpus = lower_median(relative)
        common = lower_median(gpus)
        return common, gpus - common[:, None]
    if rails < DISTINGUISHED:  # a slow GPU makes most pairs slow: a node is slow if all are
        pairs = np.where(np.isfinite(relative), relative, np.inf).reshape(nodes, -1).min(axis=1)
        return np.where(np.isfinite(pairs), pairs, np.nan), np.full((nodes, rails), np.nan)
    node, gpu, other = np.nonzero(np.isfinite(relative) & np.tri(rails, k=-1, dtype=bool).T)
    if not len(node):
        return np.full(nodes, np.nan), np.full((nodes, rails), np.nan)
    values = relative[node, gpu, other]
    pattern = additive.design(node * rails + gpu, node * rails + other, nodes * rails)
    fitted = additive.fit(pattern, values)
    halves = fitted.nodes.reshape(nodes, rails)  # a slow node is a half slow at both GPUs of a pair
    common = lower_median(halves)
    return 2 * common, halves - common[:, None]
