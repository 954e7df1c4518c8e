# SPDX-License-Identifier: Apache-2.0
"""Finds groups of nodes from the times between them: within a group they are shorter.

Clusters by average linkage are cut where the distance between merged clusters jumps most. Values
that had no part in it decide: the groups count only if pairs within them take less time than
others there, too.
"""

import math

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from nearpeak.arrays import Floats, Indices
from nearpeak.statistics.additive import spread

LEAST_NODES = 4
LEAST_PAIRS = 3  # within groups: fewer show nothing
LEAST_RATIO = math.log(1.04)  # of times between groups to those within
LEAST_ORDER = 0.9  # of all comparisons of a pair within with one between, whose pair is slower
CLEAR = 0.98  # of all comparisons: no other cut is tried
MOST_CUTS = 8  # the greatest jumps, of which the best one counts
FAR = 3.0  # standard deviations of most times
MOST_COMPARED = 20_000  # pairs of each kind


def find(first: Floats, second: Floats) -> Indices:
    """Returns the group of each node; a single group if none can be told apart. `second`: the
    logarithms of times, symmetric, which decide; `first`: those of other launches, or of `second`
    their `profiles`."""
    labels = np.zeros(len(first), dtype=np.intp)
    _split(first, second, np.arange(len(first)), labels)
    partition = np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp)
    return _refined(partition, second)


def profiles(times: Floats) -> Floats:
    """Distances of nodes by their times with all others: 1 less the correlation of their rows. The
    time between two nodes is no part of their own distance, so that it can confirm it."""
    rows = _without_disturbed(times).astype(np.float32)
    np.fill_diagonal(rows, np.nan)
    rows -= np.nanmean(rows, axis=1, keepdims=True)
    np.fill_diagonal(rows, 0.0)
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True)) + np.finfo(np.float32).tiny
    return np.asarray(1.0 - rows @ rows.T, dtype=float)


def _split(first: Floats, second: Floats, nodes: Indices, labels: Indices) -> None:
    """Divides these nodes, and the nodes of each part."""
    if len(nodes) < LEAST_NODES:
        return
    block = np.ix_(nodes, nodes)
    parts = _best(first[block], second[block])
    if parts is None:
        return
    start = int(labels.max()) + 1
    labels[nodes] = start + parts
    for part in range(int(parts.max()) + 1):
        _split(first, second, nodes[parts == part], labels)


def _best(first: Floats, second: Floats) -> Indices | None:
    """The best division of all nodes into groups; None if none is good enough."""
    distances = squareform(_without_disturbed(first), checks=False)
    tree = hierarchy.linkage(distances, "average")
    partition, best = None, LEAST_ORDER
    for height in _cuts(tree, len(first)):
        clusters = hierarchy.fcluster(tree, height, "distance").astype(np.intp) - 1
        parts = _attached(clusters, first)
        if not _is_nearer_inside(parts, second):
            continue
        order = _order(parts, second - _nodes(parts, second))
        if order > best:
            partition, best = parts, order
        if order > CLEAR:
            break
    return partition


def _without_disturbed(values: Floats) -> Floats:
    """Times beyond the shortest one, of which those that are far out are less so: averages of
    clusters are of all pairs."""
    middle, deviation = float(np.median(values)), spread(values)
    clipped = np.clip(values, middle - FAR * deviation, middle + FAR * deviation)
    return np.asarray(clipped - clipped.min(), dtype=float)


def _cuts(tree: Floats, count: int) -> list[float]:
    """Heights between merges of two clusters of several nodes, at the greatest jumps. A slow node
    is merged late and by itself: it is no group."""
    sizes = np.concatenate([np.ones(count), tree[:, 3]])
    ends = tree[:, :2].astype(np.intp)
    several = np.flatnonzero((sizes[ends] > 1).all(axis=1))
    heights = np.sort(tree[several, 2])
    lowest = tree[:, 2][: max(count // 2, 1)].max(initial=0.0)
    steps = np.concatenate([[min(lowest, heights[0])] if len(heights) else [], heights])
    jumps = np.diff(steps)
    order = np.argsort(-jumps, kind="stable")[:MOST_CUTS]
    return [float(steps[at] + jumps[at] / 2) for at in order if jumps[at] > 0]


def _attached(parts: Indices, values: Floats) -> Indices:
    """Puts each node that is alone into the group that it is the nearest to."""
    sizes = np.bincount(parts)
    groups = np.flatnonzero(sizes > 1)
    if not len(groups):
        return np.zeros(len(parts), dtype=np.intp)
    alone = np.flatnonzero(sizes[parts] == 1)
    means = np.stack([values[np.ix_(alone, np.flatnonzero(parts == g))].mean(1) for g in groups])
    parts = parts.copy()
    parts[alone] = groups[means.argmin(axis=0)]
    return np.asarray(np.unique(parts, return_inverse=True)[1], dtype=np.intp)


def _is_nearer_inside(parts: Indices, times: Floats) -> bool:
    """True if the usual time within each part is shorter than that to the others. Slow nodes are no
    group: a message between two of them takes no longer than one to a healthy node."""
    for part in range(int(parts.max()) + 1):
        mine = parts == part
        inside = times[np.ix_(mine, mine)][np.triu_indices(int(mine.sum()), 1)]
        outside = times[np.ix_(mine, ~mine)]
        if not inside.size or not outside.size:
            continue
        if np.median(outside) - np.median(inside) < LEAST_RATIO / 2:
            return False
    return True


def _refined(labels: Indices, times: Floats) -> Indices:
    """Moves each node that is much nearer to another group than to its own."""
    groups = int(labels.max()) + 1
    if groups == 1:
        return labels
    rows, columns = np.triu_indices(len(labels), 1)
    same = labels[rows] == labels[columns]
    within, between = (float(np.median(times[rows, columns][which])) for which in (same, ~same))
    members = (labels[:, None] == np.arange(groups)).astype(times.dtype)
    others = members.sum(axis=0)[None] - members  # of each group, without the node
    sums = times @ members - np.diag(times)[:, None] * members
    means = np.where(others > 0, sums / np.maximum(others, 1), between)
    own_means = means[np.arange(len(labels)), labels]
    nearer = own_means - means.min(axis=1) > (between - within) / 2
    moved = np.where(nearer, means.argmin(axis=1), labels)
    return np.asarray(np.unique(moved, return_inverse=True)[1], dtype=np.intp)


def _order(parts: Indices, values: Floats) -> float:
    """The share of comparisons in which a pair between groups takes longer than one within; 0 where
    there is too little of either, or too little difference."""
    rows, columns = np.triu_indices(len(parts), 1)
    same = parts[rows] == parts[columns]
    times = values[rows, columns]
    within, between = _sample(times[same]), _sample(times[~same])
    if len(within) < LEAST_PAIRS or len(between) < LEAST_PAIRS:
        return 0.0
    if np.median(between) - np.median(within) < LEAST_RATIO:
        return 0.0
    below = np.searchsorted(np.sort(within), between)
    return float(below.mean() / len(within))


def _nodes(parts: Indices, values: Floats) -> Floats:
    """The time that both nodes add to each pair: a slow node is slow within its group, too."""
    same = parts[:, None] == parts[None]
    rows, columns = np.triu_indices(len(parts), 1)
    of_same, of_others = same[rows, columns], ~same[rows, columns]
    times = values[rows, columns]
    usual = [np.median(times[which]) if which.any() else 0.0 for which in (of_others, of_same)]
    left = values - np.where(same, usual[1], usual[0])
    np.fill_diagonal(left, np.nan)
    nodes = np.nanmedian(left, axis=1)
    return np.asarray(nodes[:, None] + nodes[None], dtype=float)


def _sample(values: Floats) -> Floats:
    return values[:: max(len(values) // MOST_COMPARED, 1)]
