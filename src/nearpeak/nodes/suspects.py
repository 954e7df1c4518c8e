# SPDX-License-Identifier: Apache-2.0
"""Suspects: nodes and links that look slow in the survey and are measured again. A choice, and no
verdict."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Indices
from nearpeak.nodes.found import Metric
from nearpeak.nodes.journal import Pairs, Recorded
from nearpeak.nodes.plan import keys
from nearpeak.statistics.additive import Fit, Numbers, design, fit, spread

METRICS: tuple[Metric, ...] = ("latency_us", "bandwidth_gbs")
MARGIN = 1.1  # times as long: smaller excesses do not count as slow
FAR = 3.0  # standard deviations of most: smaller deviations are usual
MOST_SHARE = 0.02  # of all pairs: the most that are measured again, the slowest ones


class Suspects(NamedTuple):
    """The suspects of a run."""

    pairs: Indices  # pairs x 2, each once
    nodes: dict[Metric, Indices]
    links: dict[Metric, Indices]  # pairs x 2
    fits: dict[Metric, Fit]


def logarithms(pairs: Pairs) -> Iterator[tuple[Metric, Numbers]]:
    """Yields the logarithms of the times of a message, by metric."""
    yield "latency_us", np.log(pairs.latency_us)
    yield "bandwidth_gbs", -np.log(pairs.bandwidth_gbs)


def only(pairs: Pairs, *, together: bool) -> Pairs:
    """Returns the pairs with values that were measured at the same time as others, or those
    measured alone."""
    positive = (pairs.latency_us > 0) & (pairs.bandwidth_gbs > 0)
    which = (pairs.together == together) & positive
    if which.all():
        return pairs
    return Pairs(*(column[which] for column in pairs))


def find(recorded: Recorded) -> Suspects:
    """Returns the suspects of a run: those of the survey, or, once the launch after it has measured
    these again, those that look slow in both."""
    survey, *others = recorded.launches
    count = len(recorded.begin.chosen.nodes)
    first = _by_survey(survey.pairs, count)
    sift = next((launch.pairs for launch in others if launch.launch.stage == "sift"), None)
    return first if sift is None else _sifted(first, sift, count)


def _by_survey(every: Pairs, count: int) -> Suspects:
    pairs = only(every, together=True)
    matrix = design(pairs.first, pairs.second, count)
    nodes, links, fits = {}, {}, {}
    for metric, values in logarithms(pairs):
        fitted = fits[metric] = fit(matrix, values)
        per_node = max(2 * len(values) / count, 1)  # values of a node
        error = 1.2533 * spread(fitted.links) / math.sqrt(per_node)  # of a median
        nodes[metric] = np.flatnonzero(fitted.nodes > least(error))
        slow = np.flatnonzero(fitted.links > least(spread(fitted.links)))
        most = max(int(MOST_SHARE * len(values)), 1)
        if len(slow) > most:
            slow = slow[np.argsort(-fitted.links[slow], kind="stable")[:most]]
        links[metric] = np.stack([pairs.first[slow], pairs.second[slow]], axis=1).astype(np.intp)
    return Suspects(_once(links, count), nodes, links, fits)


def _sifted(before: Suspects, every: Pairs, count: int) -> Suspects:
    pairs = only(every, together=True)
    numbers = keys(np.stack([pairs.first, pairs.second], axis=1), count)
    links = {}
    for metric, values in logarithms(pairs):
        left = fitted(pairs, values, before.pairs, count).links
        others = ~np.isin(numbers, keys(before.pairs, count))
        slow = np.unique(numbers[left > least(spread(left[others]))])
        earlier = before.links[metric]
        links[metric] = earlier[np.isin(keys(earlier, count), slow)]
    return before._replace(pairs=_once(links, count), links=links)


def fitted(pairs: Pairs, values: Numbers, suspected: Indices, count: int) -> Fit:
    """Fits a launch that measures suspects (pairs x 2). Mean and nodes come from the other pairs,
    as half of a node's pairs may be suspects; the residuals are those of all pairs."""
    numbers = keys(np.stack([pairs.first, pairs.second], axis=1), count)
    others = ~np.isin(numbers, keys(suspected, count))
    model = fit(design(pairs.first[others], pairs.second[others], count), values[others])
    return model._replace(links=model.residuals(pairs.first, pairs.second, values))


def _once(links: dict[Metric, Indices], count: int) -> Indices:
    """Returns the pairs of both metrics, each once."""
    every = np.concatenate(list(links.values()))
    _, once = np.unique(keys(every, count), return_index=True)
    return every[once]


def least(deviation: float) -> float:
    """Returns the logarithm from which a time looks slow: at least half the margin, so that luck in
    the survey hides no pair beyond it, and beyond the usual scatter."""
    return max(math.log(MARGIN) / 2, FAR * deviation)
