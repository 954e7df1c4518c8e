# SPDX-License-Identifier: Apache-2.0
"""Separates slow nodes, links, groups, uplinks and routes: nodes in groups, in wider ones.

A value of a pair is its node + node + the pair of groups that it is in. Nothing above the smallest
groups can thus make a node slow, whatever the network looks like there. The medians of the pairs of
groups are a table whose rows and columns are groups: it is separated in the same way, with groups
in the place of nodes, as far as there are wider groups, and at last by `additive.fit`. There, a
node is the uplink of a group, and a link the route between two.

An effect of a group is one that more than half of its members share. docs/methods/nodes.md has
the model.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.statistics import additive
from nearpeak.statistics.additive import Numbers, lower_median, spread

MOST_STEPS = 12
PRECISE = 5e-4  # of a logarithm
SHARED = 3  # pairs: an effect of fewer is that of their links
DISTINGUISHED = 4  # nodes or groups: with fewer, a slow one is not distinguished from its links
MANY = 8  # pairs: fewer of a route are not judged
FAR = 3.0  # standard errors: a smaller effect of a route or group counts as scatter
MEDIAN_ERROR = 1.2533  # the standard error of a median, relative to that of a mean


class Level(NamedTuple):
    """The effects of groups in logarithms; nan: cannot be known."""

    labels: Indices  # the group of each node
    inside: Floats  # of each group: pairs within it and in no smaller group
    uplinks: Floats  # of each group: pairs with one end in it
    first: Indices  # groups of each route
    second: Indices
    routes: Floats  # of pairs between the two groups


class Expected(NamedTuple):
    """The values of pairs of groups."""

    labels: Indices  # the group of each node
    inside: Floats  # of pairs within each group
    upper: "Fit"  # of the groups
    keys: Indices  # of routes with an effect of their own, sorted
    routes: Floats

    def of(self, first: Indices, second: Indices) -> Floats:
        """The values between nodes that are usual."""
        one, other = self.labels[first], self.labels[second]
        values = np.where(one == other, self.inside[one], self.upper.expected(one, other))
        if len(self.keys):
            numbers = _keys(one, other, len(self.inside))
            places = np.minimum(np.searchsorted(self.keys, numbers), len(self.keys) - 1)
            values += np.where(self.keys[places] == numbers, self.routes[places], 0.0)
        return np.asarray(values, dtype=float)


class Fit(NamedTuple):
    """The parts of the values, as logarithms."""

    means: Floats  # by distance: within the smallest groups, ..., beyond all; nan: of no pair
    nodes: Floats  # relative to the middle one of their group; nan: measured in no pair
    links: Floats  # residual of each value
    levels: tuple[Level, ...] = ()  # from the smallest groups to the widest
    groups: Expected | None = None  # None: there are none

    def expected(self, first: Indices, second: Indices) -> Floats:
        """The values of pairs with usual links."""
        usual = self.means[-1] if self.groups is None else self.groups.of(first, second)
        return np.asarray(self.nodes[first] + self.nodes[second] + usual, dtype=float)

    def residuals(self, first: Indices, second: Indices, values: Numbers) -> Floats:
        """The residuals of other values."""
        return np.asarray(values - self.expected(first, second), dtype=float)


class Design(NamedTuple):
    """The pairs of nodes and of groups: the same for all metrics."""

    pairs: additive.Design
    blocks: "_Blocks | None"  # None: there are no groups


class _Blocks(NamedTuple):
    """The values of each pair of groups."""

    labels: Indices  # the group of each node
    groups: int
    wider: tuple[Indices, ...]  # the group of each group, and so on
    order: Indices  # values, block by block
    starts: Indices  # the place of each block in that order
    sizes: Indices  # values of each block
    of: NDArray[np.int32]  # the block of each value
    first: Indices  # the groups of each block
    second: Indices
    members: Indices  # nodes of each group that have values
    between: Indices  # blocks of two groups
    upper: Design  # of these


def distances(first: Indices, second: Indices, groups: Sequence[Indices]) -> Indices:
    """The distance of each pair: 0 within a smallest group; the number of levels beyond all.
    `groups`: the number of each node's group, by level, the smallest groups first."""
    levels = np.full(len(first), len(groups))
    for level in reversed(range(len(groups))):
        levels[groups[level][first] == groups[level][second]] = level
    return np.asarray(levels, dtype=np.intp)


def design(first: Indices, second: Indices, count: int, groups: Sequence[Indices] = ()) -> Design:
    """Indexes values between the nodes `first` and `second` of `count`."""
    if not len(first):  # without values there is nothing to index
        rows = np.zeros((count, 0), dtype=np.int32)
        return Design(additive.Design(first, second, rows, np.zeros(count, dtype=np.intp)), None)
    pairs = additive.design(first, second, count)
    return Design(pairs, _blocks(pairs, groups) if len(groups) else None)


def _blocks(pairs: additive.Design, groups: Sequence[Indices]) -> _Blocks:
    labels, number = groups[0], int(groups[0].max()) + 1
    keys = _keys(labels[pairs.first], labels[pairs.second], number)
    order = np.argsort(keys, kind="stable")
    names, starts, sizes = np.unique(keys[order], return_index=True, return_counts=True)
    of = np.empty(len(keys), dtype=np.int32)
    of[order] = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
    first, second = names // number, names % number
    between = np.flatnonzero(first != second)
    wider = tuple(_wider(labels, group, number) for group in groups[1:])
    return _Blocks(
        labels=labels,
        groups=number,
        wider=wider,
        order=order,
        starts=starts,
        sizes=sizes,
        of=of,
        first=first,
        second=second,
        members=np.bincount(labels[pairs.numbers > 0], minlength=number),
        between=between,
        upper=design(first[between], second[between], number, wider),
    )


def _keys(one: Indices, other: Indices, number: int) -> Indices:
    """A number for each pair of groups, in whichever order."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    return np.asarray(low.astype(np.int64) * number + high)


def _wider(labels: Indices, group: Indices, number: int) -> Indices:
    labels_above = np.zeros(number, dtype=np.intp)
    labels_above[labels] = group
    return labels_above


def fit(pairs: Design, values: Numbers) -> Fit:
    """Fits values (logarithms); without values all is nan."""
    if pairs.blocks is None:
        flat = additive.fit(pairs.pairs, values)
        return Fit(np.array([flat.mean]), flat.nodes, flat.links)
    return _fit(pairs.pairs, pairs.blocks, values)


def _fit(pairs: additive.Design, blocks: _Blocks, values: Numbers) -> Fit:
    """Changes nodes and pairs of groups in turns, until no node changes."""
    used = pairs.numbers > 0
    step = 1.0 if int(pairs.numbers[used].min()) >= additive.MANY else 0.5
    nodes = np.zeros(len(used))
    for _ in range(MOST_STEPS):
        alike = (values - nodes[pairs.first] - nodes[pairs.second]).astype(np.float32)
        above = _above(blocks, alike)
        left = alike - above.expected.astype(np.float32)[blocks.of]
        change = step * np.where(used, additive.medians(left, pairs), 0.0)
        moved = _centred(nodes + change, blocks, above.upper.nodes, used)
        largest = float(np.abs(moved - nodes).max())
        nodes = moved
        if largest < PRECISE:
            break
    alike = np.asarray(values - nodes[pairs.first] - nodes[pairs.second], dtype=float)
    above = _above(blocks, alike.astype(np.float32))
    routes = _routes(blocks, above)
    return Fit(
        means=np.array([above.mean, *above.upper.means]),
        nodes=np.where(used, nodes, np.nan),
        links=alike - above.expected[blocks.of],
        levels=_levels(blocks, above),
        groups=Expected(blocks.labels, above.inside, above.upper, *routes),
    )


class _Above(NamedTuple):
    """The effects of groups, of one step."""

    medians: Floats  # of each block
    mean: float  # within a usual group
    inside: Floats  # of each group, the usual one if its own is scatter
    upper: Fit
    expected: Floats  # of each block


def _above(blocks: _Blocks, alike: NDArray[np.float32]) -> _Above:
    """Separates the medians of blocks. `alike`: values without their nodes."""
    medians = _block_medians(alike, blocks)
    scatter = spread(alike - medians.astype(np.float32)[blocks.of])
    least = np.where(
        blocks.sizes >= SHARED,
        FAR * MEDIAN_ERROR * scatter / np.sqrt(blocks.sizes),
        np.inf,
    )
    upper = fit(blocks.upper, medians[blocks.between])
    within = np.flatnonzero(blocks.first == blocks.second)
    mean = float(lower_median(medians[within])) if len(within) else math.nan
    expected = np.empty(len(medians))
    expected[within] = mean
    expected[blocks.between] = medians[blocks.between] - upper.links
    distinct = np.abs(medians - expected) > least
    expected[distinct] = medians[distinct]
    inside = np.full(blocks.groups, mean)
    inside[blocks.first[within]] = expected[within]
    return _Above(medians, mean, inside, upper, expected)


def _block_medians(values: NDArray[np.float32], blocks: _Blocks) -> Floats:
    """The median of each block: at once for all blocks of a size."""
    ordered = values[blocks.order]
    medians = np.empty(len(blocks.sizes))
    for size in np.unique(blocks.sizes).tolist():
        which = np.flatnonzero(blocks.sizes == size)
        table = ordered[blocks.starts[which, None] + np.arange(size)]
        medians[which] = np.median(table, axis=1)
    return medians


def _centred(nodes: Floats, blocks: _Blocks, uplinks: Floats, used: Booleans) -> Floats:
    """Moves what all nodes of a group have in common to their group.

    That is their median. Of an even number it is any value between the middle two: the one that
    leaves the uplink as usual. A group of one node has nothing in common.
    """
    low, high = _middle(np.where(used, nodes, np.inf), blocks)
    uplinks = np.where(np.isfinite(uplinks), uplinks, 0.0)
    many = np.count_nonzero(blocks.members) >= DISTINGUISHED
    common = np.clip(-uplinks, low, high) if many else low
    common = np.where(blocks.members > 1, common, -uplinks)
    return np.where(used, nodes - common[blocks.labels], 0.0)


def _middle(nodes: Floats, blocks: _Blocks) -> tuple[Floats, Floats]:
    """The middle two values of the nodes of each group, without those that are infinite."""
    order = np.lexsort((nodes, blocks.labels))
    starts = np.searchsorted(blocks.labels[order], np.arange(blocks.groups))
    ordered, last = nodes[order], len(nodes) - 1
    low = ordered[np.minimum(starts + np.maximum(blocks.members - 1, 0) // 2, last)]
    high = ordered[np.minimum(starts + blocks.members // 2, last)]
    used = blocks.members > 0
    return np.where(used, low, 0.0), np.where(used, high, 0.0)


def _routes(blocks: _Blocks, above: _Above) -> tuple[Indices, Floats]:
    """The routes with an effect of their own."""
    routes = above.expected[blocks.between] - (above.medians[blocks.between] - above.upper.links)
    distinct = np.flatnonzero(routes)
    between = blocks.between[distinct]
    return _keys(blocks.first[between], blocks.second[between], blocks.groups), routes[distinct]


def _levels(blocks: _Blocks, above: _Above) -> tuple[Level, ...]:
    """The effects of these groups, as far as they can be known, and of wider ones."""
    within = np.flatnonzero((blocks.first == blocks.second) & (blocks.sizes >= SHARED))
    inside = np.full(blocks.groups, math.nan)
    if len(within) >= SHARED:  # of two groups, neither is usual
        inside[blocks.first[within]] = above.medians[within] - above.mean
    uplinks = np.where(blocks.members > 1, above.upper.nodes, math.nan)
    if np.isfinite(above.upper.nodes).sum() < DISTINGUISHED:
        uplinks[:] = math.nan
    several = np.minimum(blocks.members[blocks.first], blocks.members[blocks.second]) > 1
    judged = ((blocks.sizes >= MANY) & several)[blocks.between]
    between = blocks.between[judged]
    level = Level(
        labels=blocks.labels,
        inside=inside,
        uplinks=uplinks,
        first=blocks.first[between],
        second=blocks.second[between],
        routes=above.upper.links[judged],
    )
    wider = [one._replace(labels=one.labels[blocks.labels]) for one in above.upper.levels]
    return (level, *wider)
