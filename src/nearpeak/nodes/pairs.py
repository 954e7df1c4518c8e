# SPDX-License-Identifier: Apache-2.0
"""The times of pairs as logarithms, as the judgement takes them."""

from collections.abc import Iterator

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.nodes.found import Metric
from nearpeak.nodes.journal import Pairs, Singles, joined
from nearpeak.nodes.plan import keys
from nearpeak.statistics.additive import Numbers

METRICS: tuple[Metric, ...] = ("latency_us", "bandwidth_gbs")


def logarithms(pairs: Pairs) -> Iterator[tuple[Metric, Numbers]]:
    """Yields the logarithms of the times of a message, by metric."""
    yield "latency_us", np.log(pairs.latency_us)
    yield "bandwidth_gbs", -np.log(pairs.bandwidth_gbs)


def times(pairs: Pairs, metric: Metric) -> Floats:
    """Returns the logarithms of the times of a message."""
    return np.asarray(dict(logarithms(pairs))[metric], dtype=float)


def only(pairs: Pairs, *, together: bool) -> Pairs:
    """Returns the pairs with values that were measured at the same time as others, or those
    measured alone."""
    positive = (pairs.latency_us > 0) & (pairs.bandwidth_gbs > 0)
    which = (pairs.together == together) & positive
    return picked(pairs, which)


def picked(pairs: Pairs, which: Booleans) -> Pairs:
    """Returns the marked ones of the pairs."""
    if which.all():
        return pairs
    return Pairs(
        pairs.first[which],
        pairs.second[which],
        pairs.latency_us[which],
        pairs.bandwidth_gbs[which],
        pairs.together[which],
        pairs.rail[which],
    )


def select_rail(pairs: Pairs, rail: int) -> Pairs:
    """Returns the values of a rail."""
    return picked(pairs, pairs.rail == rail)


def over_rails(pairs: Pairs, count: int) -> Pairs:
    """Returns each pair once, by the median of its rails and rounds."""
    return once(pairs._replace(rail=np.zeros_like(pairs.rail)), count)


def numbers(pairs: Pairs, count: int) -> Indices:
    """Returns the number of each pair of nodes."""
    return keys(np.stack([pairs.first, pairs.second], axis=1), count)


def once(pairs: Pairs, count: int) -> Pairs:
    """Returns each pair of a rail once: its median of the rounds of a launch, together and
    alone."""
    return joined([_once(only(pairs, together=mode), count) for mode in (True, False)])


def _once(pairs: Pairs, count: int) -> Pairs:
    every = pairs.rail.astype(np.int64) * count**2 + numbers(pairs, count)
    _, firsts, place = np.unique(every, return_index=True, return_inverse=True)
    if len(firsts) == len(every):
        return pairs
    latency, bandwidth = (
        medians(values, place) for values in (pairs.latency_us, pairs.bandwidth_gbs)
    )
    ends = pairs.first[firsts], pairs.second[firsts]
    return Pairs(*ends, latency, bandwidth, pairs.together[firsts], pairs.rail[firsts])


def medians(values: Numbers, places: Indices) -> Singles:
    """Returns the median of the values of each number from 0 in `places`."""
    order = np.lexsort((values, places))
    ordered, counts = values[order], np.bincount(places)
    starts = np.cumsum(counts) - counts
    middle = (ordered[starts + (counts - 1) // 2] + ordered[starts + counts // 2]) / 2
    return np.asarray(middle, dtype=np.float32)


def table(pairs: Pairs, metric: Metric, count: int, *, together: bool) -> Floats:
    """Returns the logarithms of times between all nodes, in both directions; nan: not measured, and
    the shortest one on the diagonal. Of several rails it is the median."""
    measured = only(over_rails(pairs, count) if pairs.rail.any() else pairs, together=together)
    values = np.full((count, count), np.nan, dtype=np.float32)
    logs = dict(logarithms(measured))[metric]
    values[measured.first, measured.second] = logs
    values[measured.second, measured.first] = logs
    if len(logs):
        np.fill_diagonal(values, logs.min())
    return np.asarray(values)
