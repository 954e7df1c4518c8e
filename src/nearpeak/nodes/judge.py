# SPDX-License-Identifier: Apache-2.0
"""Judges nodes, links, groups, uplinks and routes.

All tests share one error rate. If the nodes are few, every launch measures every pair, and all are
tested. If they are many, the survey selects the nodes and links that look slow, and only launches
after it test them: luck that selected one cannot also confirm it.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.nodes import plan, suspects
from nearpeak.nodes.found import Kind, Metric, Mode, Verdict
from nearpeak.nodes.journal import Pairs
from nearpeak.nodes.pairs import medians, numbers, only, times
from nearpeak.nodes.suspects import MARGINS
from nearpeak.nodes.topology import Level
from nearpeak.statistics.additive import Excess, excess, holm
from nearpeak.statistics.intervals import Interval
from nearpeak.statistics.levels import ERROR_RATE
from nearpeak.statistics.nested import DISTINGUISHED, Design, Fit, design, distances, fit

ORDER: tuple[Kind, ...] = ("group", "uplink", "route", "node", "link")
# Each of these families has half of the error rate: links are so many that all would pay for them.
FAMILIES: tuple[tuple[Kind, ...], ...] = (("group", "uplink", "node"), ("route", "link"))
# Of the pairs of a slow node, as many are less than half as slow as more than one and a half times:
# the greatest share that may be more, and the greatest excess in standard deviations.
MOST_UNTOUCHED, MOST_DEVIATIONS = 0.1, 1.6
Subject = tuple[int, ...]


class Fitted(NamedTuple):
    """A metric in one mode, in one launch."""

    first: Indices
    second: Indices
    values: Floats  # logarithms of times, of each pair
    fit: Fit


class Tested(NamedTuple):
    """The tests of a metric in one mode, of subjects that scatter alike."""

    kind: Kind
    metric: Metric
    mode: Mode
    level: int | None  # of groups
    subjects: Indices  # nodes or groups x 1, or pairs of them x 2
    values: Floats  # subjects x launches: how much longer than usual, as logarithms
    excess: Excess


Fits = dict[tuple[Metric, Mode], list[Fitted]]


def fits(
    launches: Sequence[Pairs],
    metric: Metric,
    mode: Mode,
    count: int,
    groups: Sequence[Indices],
    chosen: suspects.Suspects | None,
) -> Iterator[Fitted]:
    """Fits each launch that has values."""
    pattern: tuple[Indices, Design] | None = None
    for pairs in launches:
        measured = only(pairs, together=mode == "together")
        if not len(measured.first):
            continue
        values = times(measured, metric)
        if chosen is None:
            names = numbers(measured, count)
            if pattern is None or not np.array_equal(names, pattern[0]):
                pattern = names, design(measured.first, measured.second, count, groups)
            fitted = fit(pattern[1], values)
        else:
            fitted = suspects.fitted(measured, values, chosen.pairs, count, groups)
            if np.isnan(fitted.means).all():  # only suspects have values
                continue
        yield Fitted(measured.first, measured.second, values, fitted)


def tests(
    metric: Metric,
    mode: Mode,
    fitted: Sequence[Fitted],
    count: int,
    groups: Sequence[Indices],
    chosen: suspects.Suspects | None,
) -> Iterator[Tested]:
    """Tests all subjects of a metric in one mode; of nodes and links only the suspects if some were
    chosen. The scatter of launches comes from all subjects of a kind, level and distance that
    several launches have measured."""

    def tested(
        kind: Kind, subjects: Indices, values: Floats, which: Indices, level: int | None = None
    ) -> Tested:
        slowness = excess(values, math.log(MARGINS[kind]))
        return Tested(
            kind, metric, mode, level, subjects[which], values[which], _selected(slowness, which)
        )

    nodes = np.stack([launch.fit.nodes for launch in fitted], axis=1)
    which = np.arange(count) if chosen is None else chosen.nodes[metric]
    yield tested("node", np.arange(count)[:, None], nodes, which)
    wanted = None if chosen is None else plan.keys(chosen.links[metric], count)
    subjects, links = _links(fitted, count)
    far = distances(subjects[:, 0], subjects[:, 1], groups)
    for distance in range(len(groups) + 1):
        indices = np.flatnonzero(far == distance)
        which = np.arange(len(indices))
        if wanted is not None:
            which = np.flatnonzero(np.isin(plan.keys(subjects[indices], count), wanted))
        yield tested("link", subjects[indices], links[indices], which)
    for level in range(len(groups)):
        yield from (tested(*one, level) for one in _of_groups(fitted, level))


def _of_groups(
    fitted: Sequence[Fitted], level: int
) -> Iterator[tuple[Kind, Indices, Floats, Indices]]:
    levels = [launch.fit.levels[level] for launch in fitted]
    inside, uplinks = (
        np.stack(columns, axis=1)
        for columns in ([one.inside for one in levels], [one.uplinks for one in levels])
    )
    kinds: tuple[tuple[Kind, Floats], ...] = (("group", inside), ("uplink", uplinks))
    for kind, values in kinds:
        subjects = np.arange(len(values))[:, None]
        yield kind, subjects, values, np.flatnonzero(_several(values))
    number = len(inside)
    routes = [
        Fitted(one.first, one.second, one.routes, launch.fit)
        for one, launch in zip(levels, fitted, strict=True)
    ]
    ends, values = _table(routes, [route.values for route in routes], number)
    yield "route", ends, values, np.arange(len(ends))


def _several(values: Floats) -> Booleans:
    """Marks the subjects that two launches or more have measured."""
    return np.asarray(np.isfinite(values).sum(axis=1) > 1)


def _selected(slowness: Excess, which: Indices) -> Excess:
    return Excess(slowness.middle[which], slowness.p_values[which], slowness.noise)


def _links(fitted: Sequence[Fitted], count: int) -> tuple[Indices, Floats]:
    return _table(fitted, [launch.fit.links for launch in fitted], count)


def _table(
    fitted: Sequence[Fitted], residuals: Sequence[Floats], count: int
) -> tuple[Indices, Floats]:
    """Returns the pairs that two launches or more have measured (pairs x 2), and the residual of
    each in each launch: the median if a launch measured it several times."""
    every = [plan.keys(np.stack([launch.first, launch.second], axis=1), count) for launch in fitted]
    once = [np.unique(keys) for keys in every]
    shared, launches = np.unique(np.concatenate(once), return_counts=True)
    shared = shared[launches > 1]
    table = np.full((len(shared), len(fitted)), np.nan)
    for number, (keys, values) in enumerate(zip(every, residuals, strict=True)):
        mine = np.isin(keys, shared)
        names, numbers_of = np.unique(keys[mine], return_inverse=True)
        if len(names):
            table[np.searchsorted(shared, names), number] = medians(values[mine], numbers_of)
    return np.stack([shared // count, shared % count], axis=1), table


def verdicts(
    tested: Sequence[Tested],
    nodes: Sequence[str],
    levels: Sequence[Level],
    again: Sequence[Pairs] | None,
) -> list[Verdict]:
    """Returns all that is slow. `again`: launches that also measured some pairs alone."""
    slow = [
        one
        for family in FAMILIES
        for one in _of_family(
            [test for test in tested if test.kind in family], nodes, levels, again
        )
    ]
    return sorted(slow, key=lambda verdict: (ORDER.index(verdict.kind), -verdict.times))


def _of_family(
    tested: Sequence[Tested],
    nodes: Sequence[str],
    levels: Sequence[Level],
    again: Sequence[Pairs] | None,
) -> Iterator[Verdict]:
    if not tested:
        return
    p_values = np.concatenate([test.excess.p_values for test in tested])
    adjusted = np.minimum(len(FAMILIES) * holm(p_values, len(p_values)), 1.0)
    parts = np.split(adjusted, np.cumsum([len(test.subjects) for test in tested])[:-1])
    for test, p_adjusted in zip(tested, parts, strict=True):
        slow = np.flatnonzero(p_adjusted < ERROR_RATE)
        counts = np.isfinite(test.values).sum(axis=1)
        reach = {n: test.excess.reach(n) for n in sorted(set(counts[slow].tolist()))}
        alone = _alone(again, test.metric, len(nodes)) if again and test.kind == "link" else {}
        for index in slow.tolist():
            ends, middle = test.subjects[index].tolist(), float(test.excess.middle[index])
            of_groups = test.level is not None
            yield Verdict(
                kind=test.kind,
                nodes=[] if of_groups else [nodes[end] for end in ends],
                metric=test.metric,
                mode=test.mode,
                times=math.exp(middle),
                ci95=_interval(middle, reach[int(counts[index])]),
                p_value=float(p_adjusted[index]),
                launches=int(counts[index]),
                alone=alone.get((ends[0], ends[-1])),
                level=test.level,
                groups=[]
                if test.level is None
                else [levels[test.level].names[end] for end in ends],
            )


def _interval(middle: float, reach: Interval | None) -> Interval | None:
    """Returns the interval of a median, as a ratio."""
    return None if reach is None else (math.exp(middle - reach[1]), math.exp(middle - reach[0]))


def _alone(launches: Sequence[Pairs], metric: Metric, count: int) -> dict[Subject, float]:
    """Returns how many times as long as usual a message of each pair takes when no other pair
    communicates: the median over the launches, each relative to its own median. Half of the pairs
    that are measured alone are no suspects."""
    ratios: dict[int, list[float]] = {}
    for pairs in launches:
        measured = only(pairs, together=False)
        if not len(measured.first):
            continue
        values = times(measured, metric)
        for number, value in zip(
            numbers(measured, count).tolist(), values - np.median(values), strict=True
        ):
            ratios.setdefault(number, []).append(float(value))
    return {
        divmod(number, count): math.exp(float(np.median(pair_ratios)))
        for number, pair_ratios in ratios.items()
    }


def looks_grouped(fits_of: Fits, verdicts: Sequence[Verdict], nodes: Sequence[str]) -> bool:
    """True if a node is called slow, but not with all of its partners: then it is only far away
    from most of them, in a group that nobody has named."""
    index = {name: number for number, name in enumerate(nodes)}
    for verdict in verdicts:
        if verdict.kind != "node":
            continue
        fitted = fits_of[verdict.metric, verdict.mode]
        if _is_far_away(_with_partners(fitted, index[verdict.nodes[0]]), math.log(verdict.times)):
            return True
    return False


def _is_far_away(values: Floats, excess_of_node: float) -> bool:
    """True if many partners are untouched by the excess of a node, more than scatter explains."""
    below = int((values < excess_of_node / 2).sum())
    above = int((values > 1.5 * excess_of_node).sum())
    more = below - above
    return more > max(MOST_UNTOUCHED * len(values), MOST_DEVIATIONS * math.sqrt(below + above))


def _with_partners(fitted: Sequence[Fitted], node: int) -> Floats:
    """The logarithms of the times of a node with each of its partners, relative to its group: their
    medians over the launches."""
    partners, values = [], []
    for launch in fitted:
        mine = (launch.first == node) | (launch.second == node)
        partners.append((launch.first + launch.second)[mine] - node)
        others = np.fmax(launch.fit.nodes[partners[-1]], 0.0)  # a partner may be slow, too
        values.append(launch.fit.links[mine] + launch.fit.nodes[node] + others)
    _, places = np.unique(np.concatenate(partners), return_inverse=True)
    return np.asarray(medians(np.concatenate(values), places), dtype=float)


def distinguished(count: int) -> bool:
    """True if a slow node can be distinguished from slow links of all its pairs."""
    return count >= DISTINGUISHED
