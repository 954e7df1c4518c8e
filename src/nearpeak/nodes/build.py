# SPDX-License-Identifier: Apache-2.0
"""Builds nodes.json from the records of a run."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from nearpeak import grouping
from nearpeak.arrays import Floats, Indices
from nearpeak.nodes import grouped, judge, plan, rail_maps, required, suspects, topology
from nearpeak.nodes.found import (
    BETWEEN,
    SCHEMA,
    UNITS,
    Curve,
    Distance,
    Found,
    Group,
    Launched,
    Level,
    Map,
    Metric,
    Mode,
    NodesAlike,
    Pair,
    Rail,
)
from nearpeak.nodes.inside import Within, kinds_of
from nearpeak.nodes.journal import LaunchEnd, Pairs, Recorded
from nearpeak.nodes.pairs import METRICS, logarithms, once, only, select_rail
from nearpeak.nodes.rail_maps import MOST_CELLS
from nearpeak.nodes.suspects import MARGINS
from nearpeak.nodes.tested import Fits, Fitted, Tested, rail_tests, tests
from nearpeak.nodes.tested import fits as fits_of
from nearpeak.statistics.additive import spread
from nearpeak.statistics.levels import ERROR_RATE
from nearpeak.statistics.nested import Fit, distances
from nearpeak.terms.buffers import on_host

MOST_LISTED = 16  # nodes whose pairs are listed one by one


def build(recorded: Recorded, require: Sequence[str] = ()) -> Found:
    """Builds the report from all launches that have ended well. `require`: replaces the run's
    requirements."""
    begin, chosen = recorded.begin, recorded.begin.chosen
    count = len(chosen.nodes)
    is_whole = plan.is_whole(chosen)
    launches = recorded.launches
    measured = [once(launch.pairs, count) if is_whole else launch.pairs for launch in launches]
    judging = [
        pairs
        for launch, pairs in zip(launches, measured, strict=True)
        if is_whole or launch.launch.stage == "again"
    ]
    topology_used = grouped.topology(recorded)
    groups = [level.labels for level in topology_used.levels]
    order = np.lexsort([np.arange(count), *groups])  # the widest groups first
    chosen_ones = None
    if not is_whole and launches and launches[0].launch.stage == "survey":
        chosen_ones = suspects.find(recorded, groups)
    rails = chosen.per_node
    fits: Fits = {
        (metric, mode): [
            [*fits_of(_of_rail(judging, rail), metric, mode, count, groups, chosen_ones)]
            for rail in range(rails)
        ]
        for metric in METRICS
        for mode in (BETWEEN if is_whole else BETWEEN[:1])
    }
    kinds = kinds_of(recorded.gpus, count)
    within = Within([launch.inside for launch in launches], count, rails, kinds)
    distinguished = judge.distinguished(count)
    tested: list[Tested] = []
    most = _distance_of_most(measured, groups)
    for (metric, mode), fitted in fits.items():
        if not any(len(launched) > 1 for launched in fitted):
            continue
        of_all = fitted
        if chosen_ones is not None and rails > 1:
            # Rails are not chosen by a survey, which may thus test them, too.
            earlier = measured[: len(measured) - len(judging)]
            of_all = [*_with_survey(earlier, fitted, metric, groups, chosen_ones)]
        tested += rail_tests(metric, mode, of_all, most)
        if distinguished:
            tested += tests(metric, mode, fitted, count, groups, chosen_ones)
    if distinguished:
        tested += within.tests()
    if topology_used.source == grouped.FIGURES:  # without wider ones; those of a survey are rough
        safe = {"rail", "node", "memory"} | ({"group", "link"} if is_whole else set())
        tested = [test for test in tested if test.kind in safe]
    verdicts = judge.verdicts(
        tested,
        chosen.nodes,
        topology_used.levels,
        None if is_whole else judging,
        rails,
        with_host=any(on_host(chosen.buffers)),
    )
    unclear = topology_used.source in ("", grouped.FIGURES) and judge.looks_grouped(
        fits, verdicts, chosen.nodes
    )
    planned = plan.planned(chosen)
    seconds = sum(launch.end.seconds for launch in launches) + sum(
        e.seconds for e in recorded.failed
    )
    complete = len(launches) == len(planned)
    well = {launch.launch.launch for launch in launches}
    failed = [end for end in recorded.failed if end.launch not in well]
    curves = [
        *_curves(fits, tested, groups, chosen_ones, distinguished=distinguished),
        *within.curves(),
    ]
    return Found(
        schema=SCHEMA,
        nearpeak=begin.nearpeak,
        started=begin.started,
        host=begin.host,
        library=begin.library,
        settings=begin.settings,
        version=begin.version,
        nodes=chosen.nodes,
        small_bytes=chosen.small_bytes,
        large_bytes=chosen.large_bytes,
        window=chosen.window,
        slot_ms=chosen.slot_ms,
        complete=complete,
        failed=_failure_text(failed[-1]) if failed else None,
        launches=[
            Launched(
                stage=launch.launch.stage,
                rounds=launch.launch.rounds,
                pairs=len(launch.pairs.first),
                seconds=launch.end.seconds,
            )
            for launch in launches
        ],
        pairs_measured=_covered(launches[0].pairs, count) if launches else 0,
        pairs_of_all=math.comb(count, 2),
        node_hours=seconds * count / 3600,
        margin=MARGINS["link"],
        node_margin=MARGINS["node"],
        distinguished=distinguished,
        tests=sum(len(test.subjects) for test in tested),
        level=ERROR_RATE,
        curves=curves,
        verdicts=judge.beyond_groups(fits, verdicts, chosen.nodes) if unclear else verdicts,
        wrong_pairs=len({frozenset((wrong.rank, wrong.sender)) for wrong in recorded.wrong}),
        wrong=[_wrong(wrong.message, chosen, wrong.rank, wrong.sender) for wrong in recorded.wrong],
        pairs=[
            pair
            for rail in range(rails if is_whole and count <= MOST_LISTED else 0)
            for pair in _pairs(
                [*_of_rail(judging, rail)], chosen.nodes, rail if chosen.rails else None
            )
        ],
        maps=[*_maps(measured[: None if is_whole else 1], rails, order)],
        order=order.tolist(),
        levels=[_level(level) for level in topology_used.levels],
        levels_from=topology_used.source,
        unclear=unclear,
        requirements=required.judge(require or chosen.require, curves),
        buffers=chosen.buffers,
        rails=[Rail(gpu=rail.gpu, adapter=rail.adapter) for rail in chosen.rails],
        kinds=[*_kinds(recorded.gpus, kinds)] if kinds.any() else [],
        rail_maps=[*rail_maps.build(fits, within, rails, order)] if distinguished else [],
    )


def _kinds(gpus: Sequence[str], kinds: Indices) -> Iterator[NodesAlike]:
    """Yields each kind of nodes, the most frequent one first."""
    rails = len(gpus) // len(kinds)
    for kind in np.argsort(-np.bincount(kinds), kind="stable").tolist():
        nodes = np.flatnonzero(kinds == kind).tolist()
        names = gpus[nodes[0] * rails : (nodes[0] + 1) * rails]
        yield NodesAlike(gpus=[*dict.fromkeys(names)], nodes=nodes)


def _distance_of_most(measured: Sequence[Pairs], groups: Sequence[Indices]) -> int:
    """Returns the distance that most pairs of the first launch have, which all rails have."""
    if not measured:
        return 0
    first = select_rail(measured[0], 0)
    return int(np.bincount(distances(first.first, first.second, groups), minlength=1).argmax())


def _of_rail(launches: Sequence[Pairs], rail: int) -> Iterator[Pairs]:
    """Yields the values of a rail, launch by launch: those of all rails would fill the memory."""
    return (select_rail(pairs, rail) for pairs in launches)


def _with_survey(
    earlier: Sequence[Pairs],
    judged: Sequence[Sequence[Fitted]],
    metric: Metric,
    groups: Sequence[Indices],
    chosen: suspects.Suspects,
) -> Iterator[list[Fitted]]:
    """Yields the fits of each rail in all launches. The first is the survey, whose many pairs are
    left out. `earlier`: the launches before those that are judged."""
    none, no_values = np.zeros(0, dtype=np.intp), np.zeros(0)
    for rail, (model, of_it) in enumerate(zip(chosen.fits[metric], judged, strict=True)):
        sifted = _of_rail(earlier[1:], rail)
        count = len(model.nodes)
        yield [
            Fitted(0, none, none, no_values, model),
            *(
                fitted._replace(launch=1 + fitted.launch)
                for fitted in fits_of(sifted, metric, "together", count, groups, chosen)
            ),
            *(fitted._replace(launch=len(earlier) + fitted.launch) for fitted in of_it),
        ]


def to_json(report: Found) -> str:
    """Returns the text of nodes.json."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


def _failure_text(last: LaunchEnd) -> str:
    return f"launch {last.launch + 1} {last.status}: {last.message}"


def _wrong(message: str, chosen: plan.Chosen, rank: int, sender: int) -> str:
    return f"{_of_rank(chosen, sender)} to {_of_rank(chosen, rank)}: {message}"


def _of_rank(chosen: plan.Chosen, rank: int) -> str:
    """`node7`, or `node7, GPU 2`."""
    node, rail = divmod(rank, chosen.per_node)
    gpu = f", GPU {chosen.rails[rail].gpu}" if chosen.rails else ""
    return f"{chosen.nodes[node]}{gpu}"


def _covered(pairs: Pairs, count: int) -> int:
    """Counts the different pairs."""
    together = only(pairs, together=True)
    covered = np.zeros((count, count), dtype=bool)
    covered[together.first, together.second] = True
    return int(covered.sum())


def _level(level: topology.Level) -> Level:
    groups = [
        Group(name=name, nodes=np.flatnonzero(level.labels == number).tolist())
        for number, name in enumerate(level.names)
    ]
    return Level(kind=level.kind, groups=groups)


def _curves(
    fits: Fits,
    tested: Sequence[Tested],
    groups: Sequence[Indices],
    chosen: suspects.Suspects | None,
    *,
    distinguished: bool,
) -> Iterator[Curve]:
    """Returns the curves, of several rails the medians. `distinguished`: true if there are enough
    nodes to distinguish slow nodes from slow links."""
    for (metric, mode), by_rail in fits.items():
        usual = [
            _usual_of_rail(
                metric,
                fitted,
                [launch.fit for launch in fitted]
                if chosen is None
                else [chosen.fits[metric][rail]],
                groups,
                distinguished=distinguished,
            )
            for rail, fitted in enumerate(by_rail)
        ]
        measured = [of_it for of_it in usual if of_it is not None]
        if not measured:
            continue
        noise = [
            test.excess.noise
            for test in tested
            if (test.kind, test.metric, test.mode, test.rails is None)
            == ("link", metric, mode, True)
        ]
        scatter = np.concatenate(noise) if noise else np.zeros(0)
        yield Curve(
            metric=metric,
            mode=mode,
            unit=UNITS[metric],
            usual=float(np.median([of_it.usual for of_it in measured])),
            nodes=float(np.median([of_it.nodes for of_it in measured])) if distinguished else None,
            links=float(np.median([of_it.links for of_it in measured])) if distinguished else None,
            launches=spread(scatter) if len(scatter) else None,
            distances=_together([of_it.distances for of_it in measured]) if groups else [],
            rails=[of_it and of_it.usual for of_it in usual] if len(usual) > 1 else [],
        )


class _UsualOfRail(NamedTuple):
    """The usual pair of a rail, and how far nodes and links are from it."""

    usual: float
    nodes: float
    links: float
    distances: list[Distance]


def _usual_of_rail(
    metric: Metric,
    fitted: Sequence[Fitted],
    models: Sequence[Fit],
    groups: Sequence[Indices],
    *,
    distinguished: bool,
) -> _UsualOfRail | None:
    """Returns what is usual on a rail; None without values."""
    if not fitted:
        return None
    far = [*_distances(metric, fitted[0], [model.means for model in models], groups)]
    every = np.concatenate([launch.values for launch in fitted])
    most = max(far, key=lambda distance: distance.pairs, default=None)
    return _UsualOfRail(
        most.usual if distinguished and most else _value(metric, float(np.median(every))),
        float(np.median([spread(model.nodes) for model in models])),
        float(np.median([spread(model.links) for model in models])),
        far,
    )


def _together(rails: Sequence[Sequence[Distance]]) -> list[Distance]:
    """Returns the distances of all rails, each by the median."""
    levels = grouping.grouped(itertools.chain(*rails), lambda distance: distance.level)
    return [
        Distance(
            level=level,
            usual=float(np.median([distance.usual for distance in alike])),
            pairs=sum(distance.pairs for distance in alike),
        )
        for level, alike in sorted(levels.items())
    ]


def _distances(
    metric: Metric, launch: Fitted, means: Sequence[Floats], groups: Sequence[Indices]
) -> Iterator[Distance]:
    """Yields the usual pair of each distance that has any."""
    numbers = np.bincount(distances(launch.first, launch.second, groups), minlength=len(means[0]))
    for level, mean in enumerate(np.median(np.stack(means), axis=0).tolist()):
        if numbers[level] and math.isfinite(mean):
            yield Distance(level=level, usual=_value(metric, mean), pairs=int(numbers[level]))


def _value(metric: Metric, logarithm: float) -> float:
    """Returns a value in the unit of the metric."""
    return math.exp(logarithm if metric == "latency_us" else -logarithm)


def _pairs(launches: Sequence[Pairs], nodes: Sequence[str], rail: int | None) -> Iterator[Pair]:
    tables = {
        (metric, mode): _table(launches, metric, mode, len(nodes))
        for metric in METRICS
        for mode in BETWEEN
    }

    def value(metric: Metric, mode: Mode, first: int, other: int) -> float | None:
        logarithm = float(tables[metric, mode][first, other])
        if math.isnan(logarithm):
            return None
        return _value(metric, logarithm)

    for first in range(len(nodes)):
        for other in range(first + 1, len(nodes)):
            yield Pair(
                nodes=(nodes[first], nodes[other]),
                latency_us=value("latency_us", "together", first, other),
                bandwidth_gbs=value("bandwidth_gbs", "together", first, other),
                latency_alone_us=value("latency_us", "alone", first, other),
                bandwidth_alone_gbs=value("bandwidth_gbs", "alone", first, other),
                rail=rail,
            )


def _table(launches: Sequence[Pairs], metric: Metric, mode: Mode, count: int) -> Floats:
    """Returns the median logarithms of the launches: nodes x nodes, above the diagonal."""
    # Without a launch all values are nan.
    values = np.full((max(1, len(launches)), count, count), np.nan, dtype=np.float32)
    for number, pairs in enumerate(launches):
        measured = only(pairs, together=mode == "together")
        values[number, measured.first, measured.second] = dict(logarithms(measured))[metric]
    if len(values) == 1:
        return np.asarray(values[0])
    ordered = np.sort(values, axis=0)  # nan last
    counts = np.isfinite(values).sum(axis=0)
    low, high = np.maximum((counts - 1) // 2, 0), np.minimum(counts // 2, len(values) - 1)
    ends = [np.take_along_axis(ordered, index[None], axis=0)[0] for index in (low, high)]
    return np.asarray((ends[0] + ends[1]) / 2)


def _maps(launches: Sequence[Pairs], rails: int, order: Indices) -> Iterator[Map]:
    count = len(order)
    side = -(-count // MOST_CELLS)
    cells = -(-count // side)
    for metric in METRICS:
        for mode in BETWEEN:
            if not launches:
                continue
            table = _slowest(
                [
                    _table([select_rail(pairs, rail) for pairs in launches], metric, mode, count)
                    for rail in range(rails)
                ]
            )
            if not np.isfinite(table).any():
                continue
            table = np.fmax(table, table.T)[np.ix_(order, order)]
            worst = _worst(table, side, cells)
            rows = np.exp(np.fmax(worst, worst.T))
            yield Map(
                metric=metric,
                mode=mode,
                side=side,
                rows=[
                    [None if math.isnan(x) else round(x, 3) for x in rows[row, : row + 1].tolist()]
                    for row in range(cells)
                ],
            )


def _slowest(tables: Sequence[Floats]) -> Floats:
    """The slowest rail of each pair, each relative to the median pair of its rail."""
    slowest = np.full_like(tables[0], np.nan)
    for table in tables:
        if np.isfinite(table).any():
            slowest = np.fmax(slowest, table - float(np.nanmedian(table)))
    return np.asarray(slowest)


def _worst(table: Floats, side: int, cells: int) -> Floats:
    """Returns the slowest pair of each cell; nan for a cell without any."""
    padded = np.full((cells * side, cells * side), -np.inf, dtype=np.float32)
    padded[: len(table), : len(table)] = np.where(np.isfinite(table), table, -np.inf)
    worst = padded.reshape(cells, side, cells, side).max(axis=(1, 3))
    return np.where(np.isfinite(worst), worst, np.nan)
