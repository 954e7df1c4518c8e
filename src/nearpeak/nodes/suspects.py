# SPDX-License-Identifier: Apache-2.0
"""What looks slow in the survey, and is measured again: a choice, and no verdict."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Indices
from nearpeak.nodes.found import Metric
from nearpeak.nodes.journal import Pairs, Recorded
from nearpeak.nodes.plan import keys
from nearpeak.statistics.additive import Fit, Numbers, fit, spread

METRICS: tuple[Metric, ...] = ("latency", "bandwidth")
MARGIN = 1.1  # times as long: what is less is not called slow
FAR = 4.0  # standard deviations of most: what is nearer is usual
MOST_SHARE = 0.02  # of all pairs that are measured again at most, the slowest ones


class Suspects(NamedTuple):
    """Of one survey."""

    pairs: Indices  # pairs x 2, each once
    nodes: dict[Metric, Indices]
    links: dict[Metric, Indices]  # pairs x 2
    fits: dict[Metric, Fit]


def logarithms(pairs: Pairs) -> Iterator[tuple[Metric, Numbers]]:
    """Of the times of a message, by both metrics."""
    yield "latency", np.log(pairs.latency_us)
    yield "bandwidth", -np.log(pairs.bandwidth_gbs)


def only(pairs: Pairs, *, together: bool) -> Pairs:
    """Those that were measured at the same time as others, or those alone; with a value each."""
    known = (pairs.latency_us > 0) & (pairs.bandwidth_gbs > 0)
    which = (pairs.together == together) & known
    if which.all():
        return pairs
    return Pairs(*(column[which] for column in pairs))


def found(recorded: Recorded) -> Suspects:
    """Of the first launch of a run."""
    count = len(recorded.begin.chosen.nodes)
    pairs = only(recorded.launches[0].pairs, together=True)
    nodes, links, fits = {}, {}, {}
    for metric, values in logarithms(pairs):
        fitted = fits[metric] = fit(pairs.first, pairs.second, values, count)
        each = 2 * len(values) / count  # values of a node
        error = 1.2533 * spread(fitted.links) / math.sqrt(each)  # of a median
        nodes[metric] = np.flatnonzero(fitted.nodes > least(error))
        slow = np.flatnonzero(fitted.links > least(spread(fitted.links)))
        most = max(int(MOST_SHARE * len(values)), 1)
        if len(slow) > most:
            slow = slow[np.argsort(-fitted.links[slow], kind="stable")[:most]]
        both = np.stack([pairs.first[slow], pairs.second[slow]], axis=1).astype(np.intp)
        links[metric] = both
    every = np.concatenate(list(links.values()))
    _, once = np.unique(keys(every, count), return_index=True)
    return Suspects(every[once], nodes, links, fits)


def least(deviation: float) -> float:
    """The logarithm from which a time looks slow: half the margin, so that luck in the survey hides
    none that is beyond it, and beyond what is usual."""
    return max(math.log(MARGIN) / 2, FAR * deviation)
