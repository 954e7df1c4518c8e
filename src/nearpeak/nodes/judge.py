# SPDX-License-Identifier: Apache-2.0
"""Judges nodes, links, groups, uplinks, routes and rails.

All tests share one error rate. If the nodes are few, every launch measures every pair, and all are
tested. If they are many, the survey selects the nodes and links that look slow, and only launches
after it test them: luck that selected one cannot also confirm it.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.nodes.found import BETWEEN, Kind, Metric, Verdict
from nearpeak.nodes.journal import Pairs
from nearpeak.nodes.pairs import medians, numbers, only, select_rail, times
from nearpeak.nodes.parts import Parts
from nearpeak.nodes.tested import Fits, Fitted, Tested
from nearpeak.nodes.topology import Level
from nearpeak.statistics.additive import holm
from nearpeak.statistics.intervals import Interval
from nearpeak.statistics.levels import ERROR_RATE
from nearpeak.statistics.nested import DISTINGUISHED

ORDER: tuple[Kind, ...] = ("rail", "group", "uplink", "route", "node", "memory", "link")
# Each of these families has half of the error rate: links are so many that all would pay for them.
FAMILIES: tuple[tuple[Kind, ...], ...] = (
    ("rail", "group", "uplink", "node", "memory"),
    ("route", "link"),
)
# Of the pairs of a slow node, as many are less than half as slow as more than one and a half times:
# the greatest share that may be more, and the greatest excess in standard deviations.
MOST_UNTOUCHED, MOST_DEVIATIONS = 0.1, 1.6
USUAL = 0.95  # of the pairs of others: a node beyond them stands apart from all groups
Subject = tuple[int, ...]


def verdicts(
    tested: Sequence[Tested],
    nodes: Sequence[str],
    levels: Sequence[Level],
    again: Sequence[Pairs] | None,
    rails: int = 1,
    *,
    with_host: bool = False,
) -> list[Verdict]:
    """Returns all that is slow. `again`: launches that also measured some pairs alone; `with_host`:
    messages between GPUs' nodes have host memory at one end."""
    slow = [
        one
        for family in FAMILIES
        for one in _of_family(
            [test for test in tested if test.kind in family], nodes, levels, again
        )
    ]
    in_order = sorted(slow, key=lambda verdict: (ORDER.index(verdict.kind), -verdict.times))
    return [*Parts(in_order, tested, nodes, rails, with_host=with_host).named(in_order)]


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
        alone = _Alone(again or [], test.metric, len(nodes))
        for index in slow.tolist():
            ends, middle = test.subjects[index].tolist(), float(test.excess.middle[index])
            rail = None if test.rails is None else int(test.rails[index])
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
                alone=alone.ratio(ends, rail) if test.kind == "link" else None,
                level=test.level,
                groups=[]
                if test.level is None
                else [levels[test.level].names[end] for end in ends],
                rail=rail,
            )


def _interval(middle: float, reach: Interval | None) -> Interval | None:
    """Returns the interval of a median, as a ratio."""
    return None if reach is None else (math.exp(middle - reach[1]), math.exp(middle - reach[0]))


class _Alone:
    """The times as long as usual that a message of each pair takes when no other pair
    communicates: the median over the launches, each relative to its own median. Half of the pairs
    that are measured alone are no suspects."""

    def __init__(self, launches: Sequence[Pairs], metric: Metric, count: int) -> None:
        self._launches, self._metric, self._count = launches, metric, count
        self._of: dict[int | None, dict[Subject, float]] = {}

    def ratio(self, ends: Sequence[int], rail: int | None) -> float | None:
        """The ratio of a pair on a rail, or on all; None if it was not measured."""
        if rail not in self._of:
            self._of[rail] = self._ratios(rail)
        return self._of[rail].get((ends[0], ends[-1]))

    def _ratios(self, rail: int | None) -> dict[Subject, float]:
        ratios: dict[int, list[float]] = {}
        for pairs in self._launches:
            measured = only(pairs if rail is None else select_rail(pairs, rail), together=False)
            if not len(measured.first):
                continue
            values = times(measured, self._metric)
            for number, value in zip(
                numbers(measured, self._count).tolist(), values - np.median(values), strict=True
            ):
                ratios.setdefault(number, []).append(float(value))
        return {
            divmod(number, self._count): math.exp(float(np.median(pair_ratios)))
            for number, pair_ratios in ratios.items()
        }


def looks_grouped(fits_of: Fits, verdicts: Sequence[Verdict], nodes: Sequence[str]) -> bool:
    """True if a node is called slow, but not with all of its partners: then it is only far away
    from most of them, in a group that nobody has named."""
    between = (verdict for verdict in verdicts if _of_node(verdict))
    return any(_is_far(_fitted(fits_of, verdict), _node(verdict, nodes)) for verdict in between)


def beyond_groups(
    fits_of: Fits, verdicts: Sequence[Verdict], nodes: Sequence[str]
) -> list[Verdict]:
    """Returns the verdicts that hold whatever groups the nodes are in: of rails, within nodes, and
    of nodes and GPUs that are slower with their nearest partner than most other pairs are."""
    return [
        verdict
        for verdict in verdicts
        if verdict.kind in ("rail", "memory")
        or (verdict.kind == "node" and verdict.mode not in BETWEEN)
        or (_of_node(verdict) and _stands_apart(fits_of, verdict, verdicts, nodes))
    ]


def _of_node(verdict: Verdict) -> bool:
    """True of a node, or a GPU, with other nodes."""
    return verdict.kind == "node" and verdict.mode in BETWEEN


def _node(verdict: Verdict, nodes: Sequence[str]) -> int:
    return nodes.index(verdict.nodes[0])


def _fitted(fits_of: Fits, verdict: Verdict) -> list[Fitted]:
    """Returns the launches of the rail of a verdict, or of all rails."""
    by_rail = fits_of[verdict.metric, verdict.mode]
    if verdict.rail is not None:
        by_rail = [by_rail[verdict.rail]]
    return [launch for of_rail in by_rail for launch in of_rail]


def _stands_apart(
    fits_of: Fits, verdict: Verdict, verdicts: Sequence[Verdict], nodes: Sequence[str]
) -> bool:
    as_slow = {
        _node(other, nodes)
        for other in verdicts
        if _of_node(other) and other.times > math.sqrt(verdict.times)
    }
    node = _node(verdict, nodes)
    nearest, others = [], []
    for launch in _fitted(fits_of, verdict):
        mine = (launch.first == node) | (launch.second == node)
        touched = np.isin(launch.first, [*as_slow]) | np.isin(launch.second, [*as_slow])
        if mine.any() and not touched.all():
            nearest.append(float(launch.values[mine].min()))
            others.append(float(np.quantile(launch.values[~touched], USUAL)))
    return bool(nearest) and float(np.median(np.array(nearest) - others)) > 0


def _is_far(fitted: Sequence[Fitted], node: int) -> bool:
    excess = float(np.nanmedian([launch.fit.nodes[node] for launch in fitted]))
    return _is_far_away(_with_partners(fitted, node), excess)


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
