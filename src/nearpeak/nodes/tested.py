# SPDX-License-Identifier: Apache-2.0
"""Tests of nodes, links, groups, uplinks, routes and rails.

Each rail is fitted by itself. With several, every part is what it has in common on all rails, and
what each rail has of its own: a slow node, or one slow GPU of it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.nodes import plan, rails, suspects
from nearpeak.nodes.found import Kind, Metric, Mode
from nearpeak.nodes.journal import Pairs
from nearpeak.nodes.pairs import medians, numbers, only, times
from nearpeak.nodes.suspects import MARGINS
from nearpeak.statistics.additive import Excess, excess, lower_median
from nearpeak.statistics.nested import Design, Fit, design, distances, fit


class Fitted(NamedTuple):
    """A metric in one mode, in one launch, on one rail."""

    launch: int  # its place among the launches
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
    subjects: Indices  # nodes or groups x 1, or pairs of them x 2; rails x 0
    values: Floats  # subjects x launches: how much longer than usual, as logarithms
    excess: Excess
    rails: Indices | None = None  # of each subject; None: what all rails have in common


Fits = dict[tuple[Metric, Mode], list[list[Fitted]]]  # by rail and launch


def fits(
    launches: Iterable[Pairs],
    metric: Metric,
    mode: Mode,
    count: int,
    groups: Sequence[Indices],
    chosen: suspects.Suspects | None,
) -> Iterator[Fitted]:
    """Fits each launch of a rail that has values."""
    pattern: tuple[Indices, Design] | None = None
    for launch, pairs in enumerate(launches):
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
        yield Fitted(launch, measured.first, measured.second, values, fitted)


class _Subjects(NamedTuple):
    """The subjects of a kind that scatter alike, with their values."""

    kind: Kind
    ends: Indices  # as Tested.subjects
    values: Floats  # subjects x launches x rails
    which: Indices  # those that are tested
    level: int | None = None


def tests(
    metric: Metric,
    mode: Mode,
    fitted: Sequence[Sequence[Fitted]],
    count: int,
    groups: Sequence[Indices],
    chosen: suspects.Suspects | None,
) -> Iterator[Tested]:
    """Tests all subjects of a metric in one mode; of nodes and links only the suspects if some were
    chosen. The scatter of launches comes from all subjects of a kind, level and distance that
    several launches have measured."""
    for group in _subjects(metric, fitted, count, groups, chosen):
        kind, level, which = group.kind, group.level, group.which
        common, apart = rails.parts(group.values)
        slowness = _selected(excess(common, math.log(MARGINS[kind])), which)
        yield Tested(kind, metric, mode, level, group.ends[which], common[which], slowness)
        if apart is not None:
            yield apart_tests(kind, metric, mode, group.ends, apart, which, level)


def rail_tests(
    metric: Metric, mode: Mode, by_rail: Sequence[Sequence[Fitted]], distance: int
) -> Iterator[Tested]:
    """Tests whether one of the rails is slow everywhere: its usual pair of a distance, compared
    with that of the usual rail. A few slow nodes of a rail touch most of its pairs, and do not
    change its usual one. Of two rails, neither is usual."""
    number = len(by_rail)
    if number < rails.LEAST:
        return
    usual = stacked(by_rail, lambda launch: launch.fit.means)[distance]  # launches x rails
    values = (usual - lower_median(usual)[:, None]).T
    if (np.isfinite(values).sum(axis=1) < 2).all():
        return
    slowness = excess(values, math.log(MARGINS["rail"]))
    no_ends = np.empty((number, 0), dtype=np.intp)
    yield Tested("rail", metric, mode, None, no_ends, values, slowness, np.arange(number))


def apart_tests(
    kind: Kind,
    metric: Metric,
    mode: Mode,
    ends: Indices,
    apart: Floats,
    which: Indices,
    level: int | None = None,
) -> Tested:
    """Tests what each rail of subjects has of its own: subjects x launches x rails."""
    subjects, launches, number = apart.shape
    values = np.moveaxis(apart, 2, 1).reshape(subjects * number, launches)
    subject, rail = np.divmod(np.arange(len(values)), number)
    tested = np.flatnonzero(np.isin(subject, which))
    slowness = _selected(excess(values, math.log(MARGINS[kind])), tested)
    chosen_ends, chosen_rails = ends[subject[tested]], rail[tested]
    return Tested(kind, metric, mode, level, chosen_ends, values[tested], slowness, chosen_rails)


def _subjects(
    metric: Metric,
    fitted: Sequence[Sequence[Fitted]],
    count: int,
    groups: Sequence[Indices],
    chosen: suspects.Suspects | None,
) -> Iterator[_Subjects]:
    nodes = stacked(fitted, lambda launch: launch.fit.nodes)
    which = np.arange(count) if chosen is None else chosen.nodes[metric]
    yield _Subjects("node", np.arange(count)[:, None], nodes, which)
    wanted = None if chosen is None else plan.keys(chosen.links[metric], count)
    ends, links = _paired(fitted, count, lambda launch: launch.fit.links)
    far = distances(ends[:, 0], ends[:, 1], groups)
    for distance in range(len(groups) + 1):
        indices = np.flatnonzero(far == distance)
        which = np.arange(len(indices))
        if wanted is not None:
            which = np.flatnonzero(np.isin(plan.keys(ends[indices], count), wanted))
        yield _Subjects("link", ends[indices], links[indices], which)
    for level in range(len(groups)):
        yield from _of_groups(fitted, level)


def _of_groups(fitted: Sequence[Sequence[Fitted]], level: int) -> Iterator[_Subjects]:
    inside = stacked(fitted, lambda launch: launch.fit.levels[level].inside)
    uplinks = stacked(fitted, lambda launch: launch.fit.levels[level].uplinks)
    kinds: tuple[tuple[Kind, Floats], ...] = (("group", inside), ("uplink", uplinks))
    for kind, values in kinds:
        ends = np.arange(len(values))[:, None]
        yield _Subjects(kind, ends, values, np.flatnonzero(_several(values)), level)
    routes = [
        [
            launch._replace(first=of_level.first, second=of_level.second, values=of_level.routes)
            for launch in of_rail
            for of_level in [launch.fit.levels[level]]
        ]
        for of_rail in fitted
    ]
    ends, values = _paired(routes, len(inside), lambda launch: launch.values)
    yield _Subjects("route", ends, values, np.arange(len(ends)), level)


def _several(values: Floats) -> Booleans:
    """Marks the subjects that two launches or more have measured."""
    return np.asarray((np.isfinite(values).any(axis=2)).sum(axis=1) > 1)


def _selected(slowness: Excess, which: Indices) -> Excess:
    return Excess(slowness.middle[which], slowness.p_values[which], slowness.noise)


def stacked(fitted: Sequence[Sequence[Fitted]], values_of: Callable[[Fitted], Floats]) -> Floats:
    """Returns values of every launch of every rail: values x launches x rails; nan: a launch
    without any."""
    launches = 1 + max(launch.launch for of_rail in fitted for launch in of_rail)
    size = next(len(values_of(launch)) for of_rail in fitted for launch in of_rail)
    table = np.full((size, launches, len(fitted)), np.nan)
    for rail, of_rail in enumerate(fitted):
        for launch in of_rail:
            table[:, launch.launch, rail] = values_of(launch)
    return table


def _paired(
    fitted: Sequence[Sequence[Fitted]], count: int, values_of: Callable[[Fitted], Floats]
) -> tuple[Indices, Floats]:
    """Returns the pairs of `count` that two launches or more of a rail have measured (pairs x 2),
    and the values of each: pairs x launches x rails, the median if a launch measured it several
    times."""
    launches = 1 + max(launch.launch for of_rail in fitted for launch in of_rail)
    keys = [[_keys(launch, count) for launch in of_rail] for of_rail in fitted]
    shared = np.unique(np.concatenate([_repeated(of_rail) for of_rail in keys]))
    table = np.full((len(shared), launches, len(fitted)), np.nan)
    for rail, (of_rail, names_of) in enumerate(zip(fitted, keys, strict=True)):
        for launch, every in zip(of_rail, names_of, strict=True):
            mine = np.isin(every, shared)
            names, places = np.unique(every[mine], return_inverse=True)
            if len(names):
                values = medians(values_of(launch)[mine], places)
                table[np.searchsorted(shared, names), launch.launch, rail] = values
    return np.stack([shared // count, shared % count], axis=1), table


def _keys(launch: Fitted, count: int) -> Indices:
    return plan.keys(np.stack([launch.first, launch.second], axis=1), count)


def _repeated(keys: Sequence[Indices]) -> Indices:
    """Returns the numbers that two launches or more have."""
    every = [np.unique(of_launch) for of_launch in keys]
    names, launches = np.unique(
        np.concatenate(every) if every else np.zeros(0, dtype=np.int64), return_counts=True
    )
    return np.asarray(names[launches > 1])
