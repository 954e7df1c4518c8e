# SPDX-License-Identifier: Apache-2.0
"""The groups that a run is judged by: those of its plan, else those that its figures show."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.nodes.journal import Pairs, Recorded
from nearpeak.nodes.pairs import METRICS, table
from nearpeak.nodes.topology import GROUP, NONE, Level, Topology
from nearpeak.statistics import clusters

FIGURES = "figures"  # the source of groups that nobody named
MOST_LACKING = 0.1  # of all pairs: with fewer values nodes are not compared
ALIKE = 0.95  # of all pairs, that two divisions into groups treat alike: they are the same


def topology(recorded: Recorded) -> Topology:
    """Returns the groups of a run; none if its nodes are alike."""
    chosen = recorded.begin.chosen
    if chosen.levels or chosen.levels_from == NONE:
        return Topology(chosen.levels, chosen.levels_from)
    labels = _of_figures(recorded)
    groups = int(labels.max(initial=0)) + 1
    if groups == 1:
        return Topology([], "")
    names = [str(number + 1) for number in range(groups)]
    return Topology([Level(kind=GROUP, names=names, of=labels.tolist())], FIGURES)


def _of_figures(recorded: Recorded) -> Indices:
    """The group of each node by the first launches; by later ones, which measure suspects, the
    groups stay as they are."""
    count = len(recorded.begin.chosen.nodes)
    labels = np.zeros(count, dtype=np.intp)
    launches = [one.pairs for one in recorded.launches if one.launch.stage in ("whole", "survey")]
    for halves in _curves(launches, count):
        partition = clusters.find(*halves)
        if _alike(partition, labels) < ALIKE:
            labels = np.unique(labels * count + partition, return_inverse=True)[1].astype(np.intp)
    return labels


def _alike(one: Indices, other: Indices) -> float:
    together = (one[:, None] == one[None]) == (other[:, None] == other[None])
    return float(together.mean())


def _curves(launches: Sequence[Pairs], count: int) -> Iterator[tuple[Floats, Floats]]:
    """Yields the times of each metric, in both modes and in each: of every other launch, and of the
    others. Of a single launch, as a survey is, the first ones are the profiles of its nodes."""
    halves = [launches[::2], launches[1::2] or launches]
    for metric in METRICS:
        modes = []
        for together in (False, True):
            tables = [
                [table(pairs, metric, count, together=together) for pairs in half]
                for half in halves
            ]
            if launches and not any(map(_lacks, itertools.chain(*tables))):
                modes.append([_complete(half) for half in tables])
        if len(modes) > 1:
            yield (modes[0][0] + modes[1][0]) / 2, (modes[0][1] + modes[1][1]) / 2
        for first, second in modes:
            yield (first if len(launches) > 1 else clusters.profiles(second)), second


def _lacks(values: Floats) -> bool:
    return float(np.isnan(values).mean()) > MOST_LACKING


def _complete(tables: Sequence[Floats]) -> Floats:
    """The median of the tables, and the median of all where none has a value."""
    values = tables[0] if len(tables) == 1 else _median(tables)
    return np.asarray(np.where(np.isnan(values), np.nanmedian(values), values))


def _median(tables: Sequence[Floats]) -> Floats:
    ordered = np.sort(np.stack(tables), axis=0)  # nan last
    numbers = np.isfinite(ordered).sum(axis=0)[None]
    low = np.take_along_axis(ordered, np.maximum(numbers - 1, 0) // 2, axis=0)
    high = np.take_along_axis(ordered, np.minimum(numbers // 2, len(tables) - 1), axis=0)
    return np.asarray((low + high)[0] / 2)
