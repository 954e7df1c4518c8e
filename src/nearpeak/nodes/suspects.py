# SPDX-License-Identifier: Apache-2.0
"""Suspects: nodes and links that look slow in the survey and are measured again. A choice, and no
verdict."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.nodes import grouped
from nearpeak.nodes.found import Kind, Metric
from nearpeak.nodes.journal import Pairs, Recorded
from nearpeak.nodes.pairs import METRICS, logarithms, numbers, only, select_rail
from nearpeak.nodes.plan import MARGIN, NODE_MARGIN, keys
from nearpeak.statistics.additive import Numbers, spread
from nearpeak.statistics.nested import Fit, design, distances, fit

# Times as long: smaller excesses do not count as slow.
MARGINS: dict[Kind, float] = {
    "rail": MARGIN,
    "group": MARGIN,
    "uplink": MARGIN,
    "route": MARGIN,
    "node": NODE_MARGIN,
    "memory": NODE_MARGIN,
    "link": MARGIN,
}
FAR = 3.0  # standard deviations of most: smaller deviations are usual
MOST_SHARE = 0.02  # of all pairs: the most that are measured again, the slowest ones


class Suspects(NamedTuple):
    """The suspects of a run."""

    pairs: Indices  # pairs x 2, each once
    nodes: dict[Metric, Indices]
    links: dict[Metric, Indices]  # pairs x 2
    fits: dict[Metric, list[Fit]]  # of each rail
    labels: Indices | None  # the smallest group of each node; None: there are no groups


def find(recorded: Recorded, groups: Sequence[Indices] | None = None) -> Suspects:
    """Returns the suspects of a run: those of the survey, or, once the launch after it has measured
    these again, those that look slow in both. `groups`: of each node, by level; None: those by
    which the run is judged."""
    if groups is None:
        groups = [level.labels for level in grouped.topology(recorded).levels]
    survey, *others = recorded.launches
    count = len(recorded.begin.chosen.nodes)
    rails = recorded.begin.chosen.per_node
    first = _by_survey(survey.pairs, count, rails, groups)
    sift = next((launch.pairs for launch in others if launch.launch.stage == "sift"), None)
    return first if sift is None else _sifted(first, sift, count, rails, groups)


def _by_survey(every: Pairs, count: int, rails: int, groups: Sequence[Indices]) -> Suspects:
    """Returns the suspects of all rails: a node or a link that looks slow on one of them."""
    parts = [
        _rail_suspects(select_rail(every, rail), count, rails, groups) for rail in range(rails)
    ]
    nodes = {
        metric: np.unique(np.concatenate([part.nodes[metric] for part in parts]))
        for metric in METRICS
    }
    links = {metric: np.concatenate([part.links[metric] for part in parts]) for metric in METRICS}
    if rails > 1:
        links = {metric: _once({metric: pairs}, count) for metric, pairs in links.items()}
    fits = {metric: [part.fits[metric][0] for part in parts] for metric in METRICS}
    return Suspects(_once(links, count), nodes, links, fits, groups[0] if groups else None)


def _rail_suspects(every: Pairs, count: int, rails: int, groups: Sequence[Indices]) -> Suspects:
    pairs = only(every, together=True)
    matrix = design(pairs.first, pairs.second, count, groups)
    far = distances(pairs.first, pairs.second, groups)
    nodes, links, fits = {}, {}, {}
    for metric, values in logarithms(pairs):
        fitted = fit(matrix, values)
        fits[metric] = [fitted]
        per_node = max(2 * len(values) / count, 1)  # values of a node
        error = 1.2533 * spread(fitted.links) / math.sqrt(per_node)  # of a median
        nodes[metric] = np.flatnonzero(fitted.nodes > least("node", error))
        slow = np.flatnonzero(_look_slow(fitted.links, far, np.ones(len(values), dtype=bool)))
        most = max(int(MOST_SHARE * len(values) / rails), 1)
        if len(slow) > most:
            slow = slow[np.argsort(-fitted.links[slow], kind="stable")[:most]]
        links[metric] = np.stack([pairs.first[slow], pairs.second[slow]], axis=1).astype(np.intp)
    return Suspects(_once(links, count), nodes, links, fits, groups[0] if groups else None)


def _look_slow(links: Floats, far: Indices, others: Booleans) -> Booleans:
    """Marks the links that are slower than the scatter of `others` of their distance explains."""
    slow = np.zeros(len(links), dtype=bool)
    for distance in range(int(far.max(initial=0)) + 1):
        near = far == distance
        slow[near] = links[near] > least("link", spread(links[near & others]))
    return slow


def _sifted(
    before: Suspects, every: Pairs, count: int, rails: int, groups: Sequence[Indices]
) -> Suspects:
    slow: dict[Metric, set[int]] = {metric: set() for metric in METRICS}
    for rail in range(rails):
        pairs = only(select_rail(every, rail), together=True)
        names = numbers(pairs, count)
        others = ~np.isin(names, keys(before.pairs, count))
        far = distances(pairs.first, pairs.second, groups)
        for metric, values in logarithms(pairs):
            left = fitted(pairs, values, before.pairs, count, groups).links
            slow[metric].update(names[_look_slow(left, far, others)].tolist())
    links = {
        metric: earlier[np.isin(keys(earlier, count), sorted(slow[metric]))]
        for metric, earlier in before.links.items()
    }
    return before._replace(pairs=_once(links, count), links=links)


def fitted(
    pairs: Pairs, values: Numbers, suspected: Indices, count: int, groups: Sequence[Indices]
) -> Fit:
    """Fits a launch that measures suspects (pairs x 2). Groups and nodes come from the other pairs,
    as half of a node's pairs may be suspects; the residuals are those of all pairs."""
    others = ~np.isin(numbers(pairs, count), keys(suspected, count))
    pattern = design(pairs.first[others], pairs.second[others], count, groups)
    model = fit(pattern, values[others])
    return model._replace(links=model.residuals(pairs.first, pairs.second, values))


def _once(links: dict[Metric, Indices], count: int) -> Indices:
    """Returns the pairs of both metrics, each once."""
    every = np.concatenate(list(links.values()))
    _, once = np.unique(keys(every, count), return_index=True)
    return every[once]


def least(kind: Kind, deviation: float) -> float:
    """Returns the logarithm from which a time looks slow: at least half the margin, so that luck in
    the survey hides nothing beyond it, and beyond the usual scatter."""
    return max(math.log(MARGINS[kind]) / 2, FAR * deviation)
