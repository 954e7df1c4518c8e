# SPDX-License-Identifier: Apache-2.0
"""Builds nodes.json from the records of a run.

All tests share one error rate. If the nodes are few, every launch measures every pair, and every
node and link is tested. If they are many, the survey selects those that look slow, and only
launches after it test them: luck that selected one cannot also confirm it.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.nodes import plan, required, suspects
from nearpeak.nodes.found import (
    SCHEMA,
    UNITS,
    Curve,
    Found,
    Kind,
    Launched,
    Map,
    Metric,
    Mode,
    Pair,
    Verdict,
)
from nearpeak.nodes.journal import LaunchEnd, Pairs, Recorded
from nearpeak.nodes.suspects import MARGIN, logarithms, only
from nearpeak.statistics.additive import Excess, Fit, design, excess, fit, holm, spread
from nearpeak.statistics.intervals import Interval
from nearpeak.statistics.levels import ERROR_RATE

LEAST_DISTINGUISHED = 5  # nodes: with fewer, a slow node cannot be distinguished from slow links
MOST_LISTED = 16  # nodes whose pairs are listed one by one
MOST_CELLS = 192  # in a row of a map: with more nodes, a cell stands for several
MODES: tuple[Mode, ...] = ("together", "alone")


class _Fitted(NamedTuple):
    """A metric in one mode, in one launch."""

    first: Indices
    second: Indices
    values: Floats  # logarithms of times, of each pair
    fit: Fit


class _Tested(NamedTuple):
    """The tests of a metric in one mode."""

    kind: Kind
    metric: Metric
    mode: Mode
    subjects: Indices  # nodes, or pairs x 2
    values: Floats  # subjects x launches: how much longer than usual, as logarithms
    excess: Excess


def build(recorded: Recorded, require: Sequence[str] = ()) -> Found:
    """Builds the report from all launches that have ended well. `require`: replaces the run's
    requirements."""
    begin, chosen = recorded.begin, recorded.begin.chosen
    count = len(chosen.nodes)
    is_whole = plan.is_whole(chosen)
    launches = recorded.launches
    judging = [launch.pairs for launch in launches if is_whole or launch.launch.stage == "again"]
    chosen_ones = None
    if not is_whole and launches and launches[0].launch.stage == "survey":
        chosen_ones = suspects.find(recorded)
    fits = {
        (metric, mode): [*_fits(judging, metric, mode, count, chosen_ones)]
        for metric in suspects.METRICS
        for mode in (MODES if is_whole else MODES[:1])
    }
    distinguished = count >= LEAST_DISTINGUISHED
    tested = []
    for (metric, mode), fitted in fits.items():
        if distinguished and len(fitted) > 1:
            tested += [*_tested(metric, mode, fitted, count, chosen_ones)]
    tests = sum(len(test.subjects) for test in tested)
    planned = plan.planned(chosen)
    seconds = sum(launch.end.seconds for launch in launches) + sum(
        e.seconds for e in recorded.failed
    )
    complete = len(launches) == len(planned)
    well = {launch.launch.launch for launch in launches}
    failed = [end for end in recorded.failed if end.launch not in well]
    curves = [*_curves(fits, tested, chosen_ones, distinguished=distinguished)]
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
        margin=MARGIN,
        distinguished=distinguished,
        tests=tests,
        level=ERROR_RATE,
        curves=curves,
        verdicts=_verdicts(tested, tests, chosen.nodes, None if is_whole else judging),
        wrong_pairs=len({frozenset((wrong.rank, wrong.sender)) for wrong in recorded.wrong}),
        wrong=[
            _wrong(wrong.message, chosen.nodes, wrong.rank, wrong.sender)
            for wrong in recorded.wrong
        ],
        pairs=[*_pairs(judging, chosen.nodes)] if is_whole and count <= MOST_LISTED else [],
        maps=[*_maps([launch.pairs for launch in launches[: None if is_whole else 1]], count)],
        requirements=required.judge(require or chosen.require, curves),
    )


def to_json(report: Found) -> str:
    """Returns the text of nodes.json."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


def _failure_text(last: LaunchEnd) -> str:
    return f"launch {last.launch + 1} {last.status}: {last.message}"


def _wrong(message: str, nodes: Sequence[str], rank: int, sender: int) -> str:
    return f"{nodes[sender]} to {nodes[rank]}: {message}"


def _covered(pairs: Pairs, count: int) -> int:
    """Counts the different pairs."""
    together = only(pairs, together=True)
    covered = np.zeros((count, count), dtype=bool)
    covered[together.first, together.second] = True
    return int(covered.sum())


def _values(pairs: Pairs, metric: Metric) -> Floats:
    return np.asarray(dict(logarithms(pairs))[metric], dtype=float)


def _fits(
    launches: Sequence[Pairs],
    metric: Metric,
    mode: Mode,
    count: int,
    chosen: suspects.Suspects | None,
) -> Iterator[_Fitted]:
    """Fits each launch that has values."""
    for pairs in launches:
        measured = only(pairs, together=mode == "together")
        if len(measured.first):
            values = _values(measured, metric)
            if chosen is None:
                fitted = fit(design(measured.first, measured.second, count), values)
            else:
                fitted = suspects.fitted(measured, values, chosen.pairs, count)
                if math.isnan(fitted.mean):  # only suspects have values
                    continue
            yield _Fitted(measured.first, measured.second, values, fitted)


def _tested(
    metric: Metric,
    mode: Mode,
    fitted: Sequence[_Fitted],
    count: int,
    chosen: suspects.Suspects | None,
) -> Iterator[_Tested]:
    """Tests the nodes and links of a metric in one mode, or only the suspects if some were chosen.
    The scatter of launches comes from all nodes, and from all links that several launches have
    measured."""
    margin = math.log(MARGIN)
    nodes = np.stack([launch.fit.nodes for launch in fitted], axis=1)
    slowness = excess(nodes, margin)
    which = np.arange(count) if chosen is None else chosen.nodes[metric]
    yield _Tested("node", metric, mode, which, nodes[which], _selected(slowness, which))
    subjects, links = _links(fitted, count)
    slowness = excess(links, margin)
    index = np.arange(len(subjects))
    if chosen is not None:
        wanted = plan.keys(chosen.links[metric], count)
        index = np.flatnonzero(np.isin(plan.keys(subjects, count), wanted))
    yield _Tested("link", metric, mode, subjects[index], links[index], _selected(slowness, index))


def _selected(slowness: Excess, which: Indices) -> Excess:
    return Excess(slowness.middle[which], slowness.p_values[which], slowness.noise)


def _links(fitted: Sequence[_Fitted], count: int) -> tuple[Indices, Floats]:
    """Returns the pairs that two launches or more have measured (pairs x 2), and the residual of
    each in each launch: the median if a launch measured it several times."""
    every = [plan.keys(np.stack([launch.first, launch.second], axis=1), count) for launch in fitted]
    once = [np.unique(keys) for keys in every]
    shared, times = np.unique(np.concatenate(once), return_counts=True)
    shared = shared[times > 1]
    table = np.full((len(shared), len(fitted)), np.nan)
    for number, (keys, launch) in enumerate(zip(every, fitted, strict=True)):
        mine = np.isin(keys, shared)
        order = np.lexsort((launch.fit.links[mine], keys[mine]))
        ordered, values = keys[mine][order], launch.fit.links[mine][order]
        names, starts, counts = np.unique(ordered, return_index=True, return_counts=True)
        middle = (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2
        table[np.searchsorted(shared, names), number] = middle
    return np.stack([shared // count, shared % count], axis=1), table


def _verdicts(
    tested: Sequence[_Tested], tests: int, nodes: Sequence[str], again: Sequence[Pairs] | None
) -> list[Verdict]:
    """Returns the slow nodes and links. `again`: launches that also measured some of them alone."""
    if not tested:
        return []
    p_values = np.concatenate([test.excess.p_values for test in tested])
    adjusted = np.split(
        holm(p_values, tests), np.cumsum([len(test.subjects) for test in tested])[:-1]
    )
    verdicts = []
    for test, p_adjusted in zip(tested, adjusted, strict=True):
        slow = np.flatnonzero(p_adjusted < ERROR_RATE)
        counts = np.isfinite(test.values).sum(axis=1)
        reach = {n: test.excess.reach(n) for n in sorted(set(counts[slow].tolist()))}
        alone = _alone(again, test.metric, len(nodes)) if again and test.kind == "link" else {}
        for index, launches in zip(slow.tolist(), counts[slow].tolist(), strict=True):
            ends = np.atleast_1d(test.subjects[index]).tolist()
            verdicts.append(
                Verdict(
                    kind=test.kind,
                    nodes=[nodes[end] for end in ends],
                    metric=test.metric,
                    mode=test.mode,
                    times=math.exp(float(test.excess.middle[index])),
                    ci95=_interval(float(test.excess.middle[index]), reach[launches]),
                    p_value=float(p_adjusted[index]),
                    launches=launches,
                    alone=alone.get((ends[0], ends[-1])),
                )
            )
    return sorted(verdicts, key=lambda verdict: (verdict.kind == "link", -verdict.times))


def _interval(middle: float, reach: Interval | None) -> Interval | None:
    """Returns the interval of a median, as a ratio."""
    return None if reach is None else (math.exp(middle - reach[1]), math.exp(middle - reach[0]))


def _alone(launches: Sequence[Pairs], metric: Metric, count: int) -> dict[tuple[int, int], float]:
    """Returns how many times as long as usual a message of each pair takes when no other pair
    communicates: the median over the launches, each relative to its own median. Half of the pairs
    that are measured alone are no suspects."""
    ratios: dict[int, list[float]] = {}
    for pairs in launches:
        measured = only(pairs, together=False)
        if not len(measured.first):
            continue
        values = _values(measured, metric)
        numbers = plan.keys(np.stack([measured.first, measured.second], axis=1), count)
        for number, value in zip(numbers.tolist(), values - np.median(values), strict=True):
            ratios.setdefault(number, []).append(float(value))
    return {
        divmod(number, count): math.exp(float(np.median(pair_ratios)))
        for number, pair_ratios in ratios.items()
    }


def _curves(
    fits: dict[tuple[Metric, Mode], list[_Fitted]],
    tested: Sequence[_Tested],
    chosen: suspects.Suspects | None,
    *,
    distinguished: bool,
) -> Iterator[Curve]:
    """Returns the curves. `distinguished`: true if there are enough nodes to distinguish slow nodes
    from slow links."""
    for (metric, mode), fitted in fits.items():
        models = [launch.fit for launch in fitted] if chosen is None else [chosen.fits[metric]]
        if not models:
            continue
        means = np.array([model.mean for model in models])
        values = means if distinguished else np.concatenate([launch.values for launch in fitted])
        mean = float(np.median(values))
        noise = [t.excess.noise for t in tested if (t.metric, t.mode) == (metric, mode)]
        yield Curve(
            metric=metric,
            mode=mode,
            unit=UNITS[metric],
            usual=math.exp(mean if metric == "latency_us" else -mean),
            nodes=float(np.median([spread(model.nodes) for model in models]))
            if distinguished
            else None,
            links=float(np.median([spread(model.links) for model in models]))
            if distinguished
            else None,
            launches=spread(noise[1]) if len(noise) > 1 and len(noise[1]) else None,
        )


def _pairs(launches: Sequence[Pairs], nodes: Sequence[str]) -> Iterator[Pair]:
    tables = {
        (metric, mode): _table(launches, metric, mode, len(nodes))
        for metric in suspects.METRICS
        for mode in MODES
    }

    def value(metric: Metric, mode: Mode, first: int, other: int) -> float | None:
        logarithm = float(tables[metric, mode][first, other])
        if math.isnan(logarithm):
            return None
        return math.exp(logarithm if metric == "latency_us" else -logarithm)

    for first in range(len(nodes)):
        for other in range(first + 1, len(nodes)):
            yield Pair(
                nodes=(nodes[first], nodes[other]),
                latency_us=value("latency_us", "together", first, other),
                bandwidth_gbs=value("bandwidth_gbs", "together", first, other),
                latency_alone_us=value("latency_us", "alone", first, other),
                bandwidth_alone_gbs=value("bandwidth_gbs", "alone", first, other),
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


def _maps(launches: Sequence[Pairs], count: int) -> Iterator[Map]:
    side = -(-count // MOST_CELLS)
    cells = -(-count // side)
    for metric in suspects.METRICS:
        for mode in MODES:
            if not launches:
                continue
            table = _table(launches, metric, mode, count)
            if not np.isfinite(table).any():
                continue
            worst = _worst(table, side, cells) - float(np.nanmedian(table))
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


def _worst(table: Floats, side: int, cells: int) -> Floats:
    """Returns the slowest pair of each cell; nan for a cell without any."""
    padded = np.full((cells * side, cells * side), -np.inf, dtype=np.float32)
    padded[: len(table), : len(table)] = np.where(np.isfinite(table), table, -np.inf)
    worst = padded.reshape(cells, side, cells, side).max(axis=(1, 3))
    return np.where(np.isfinite(worst), worst, np.nan)
