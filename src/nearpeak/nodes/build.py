# SPDX-License-Identifier: Apache-2.0
"""From the records of a run to what they say, and to JSON.

All that is tested shares one error rate. Of few nodes every launch measures every pair, and every
node and link is tested. Of many, those that looked slow in the survey are, by launches of their
own: what was chosen by luck is not confirmed by the same luck.
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

LEAST_TOLD_APART = 5  # nodes: with fewer, a slow node is as likely as slow links of all its pairs
MOST_LISTED = 16  # nodes whose pairs are listed one by one
MOST_CELLS = 192  # in a row of a map: a cell stands for several nodes from there on
MODES: tuple[Mode, ...] = ("together", "alone")


class _Fitted(NamedTuple):
    """A metric in one mode, in one launch."""

    first: Indices
    second: Indices
    values: Floats  # logarithms of what messages took, of each pair
    fit: Fit


class _Tested(NamedTuple):
    """What is tested of a metric in one mode."""

    kind: Kind
    metric: Metric
    mode: Mode
    subjects: Indices  # nodes, or pairs x 2
    values: Floats  # subjects x launches: how much longer than usual, as logarithms
    excess: Excess


def build(recorded: Recorded, require: Sequence[str] = ()) -> Found:
    """Of all launches that have ended well. `require`: in the place of the run's requirements."""
    begin, chosen = recorded.begin, recorded.begin.chosen
    count = len(chosen.nodes)
    whole = plan.is_whole(chosen)
    launches = recorded.launches
    judging = [one.pairs for one in launches if whole or one.launch.stage == "again"]
    chosen_ones = None
    if not whole and launches and launches[0].launch.stage == "survey":
        chosen_ones = suspects.found(recorded)
    fits = {
        (metric, mode): [*_fits(judging, metric, mode, count, chosen_ones)]
        for metric in suspects.METRICS
        for mode in (MODES if whole else MODES[:1])
    }
    told_apart = count >= LEAST_TOLD_APART
    tested = []
    for (metric, mode), fitted in fits.items():
        if told_apart and len(fitted) > 1:
            tested += [*_tested(metric, mode, fitted, count, chosen_ones)]
    tests = sum(len(one.subjects) for one in tested)
    planned = plan.planned(chosen)
    seconds = sum(one.end.seconds for one in launches) + sum(e.seconds for e in recorded.failed)
    complete = len(launches) == len(planned)
    well = {one.launch.launch for one in launches}
    failed = [end for end in recorded.failed if end.launch not in well]
    curves = [*_curves(fits, tested, chosen_ones, told_apart=told_apart)]
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
        failed=_words(failed[-1]) if failed else None,
        launches=[
            Launched(
                stage=one.launch.stage,
                rounds=one.launch.rounds,
                pairs=len(one.pairs.first),
                seconds=one.end.seconds,
            )
            for one in launches
        ],
        pairs_measured=_covered(launches[0].pairs, count) if launches else 0,
        pairs_of_all=math.comb(count, 2),
        node_hours=seconds * count / 3600,
        margin=MARGIN,
        told_apart=told_apart,
        tests=tests,
        level=ERROR_RATE,
        curves=curves,
        verdicts=_verdicts(tested, tests, chosen.nodes, None if whole else judging),
        wrong_pairs=len({frozenset((one.rank, one.sender)) for one in recorded.wrong}),
        wrong=[_wrong(one.message, chosen.nodes, one.rank, one.sender) for one in recorded.wrong],
        pairs=[*_pairs(judging, chosen.nodes)] if whole and count <= MOST_LISTED else [],
        maps=[*_maps([one.pairs for one in launches[: None if whole else 1]], count)],
        requirements=required.judge(require or chosen.require, curves),
    )


def to_json(found: Found) -> str:
    """nodes.json."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n"


def _words(last: LaunchEnd) -> str:
    return f"launch {last.launch + 1} {last.status}: {last.message}"


def _wrong(message: str, nodes: Sequence[str], rank: int, sender: int) -> str:
    return f"{nodes[sender]} to {nodes[rank]}: {message}"


def _covered(pairs: Pairs, count: int) -> int:
    """Different ones."""
    together = only(pairs, together=True)
    there = np.zeros((count, count), dtype=bool)
    there[together.first, together.second] = True
    return int(there.sum())


def _values(pairs: Pairs, metric: Metric) -> Floats:
    return np.asarray(dict(logarithms(pairs))[metric], dtype=float)


def _fits(
    launches: Sequence[Pairs],
    metric: Metric,
    mode: Mode,
    count: int,
    chosen: suspects.Suspects | None,
) -> Iterator[_Fitted]:
    """Of each launch that has any."""
    for pairs in launches:
        own = only(pairs, together=mode == "together")
        if len(own.first):
            values = _values(own, metric)
            if chosen is None:
                fitted = fit(design(own.first, own.second, count), values)
            else:
                fitted = suspects.fitted(own, values, chosen.pairs, count)
                if math.isnan(fitted.mean):  # suspects alone have values
                    continue
            yield _Fitted(own.first, own.second, values, fitted)


def _tested(
    metric: Metric,
    mode: Mode,
    fitted: Sequence[_Fitted],
    count: int,
    chosen: suspects.Suspects | None,
) -> Iterator[_Tested]:
    """Nodes and links of a metric in one mode; where suspects were chosen, these alone. All nodes,
    and all links that several launches have measured, tell how launches scatter."""
    margin = math.log(MARGIN)
    nodes = np.stack([one.fit.nodes for one in fitted], axis=1)
    found = excess(nodes, margin)
    which = np.arange(count) if chosen is None else chosen.nodes[metric]
    yield _Tested("node", metric, mode, which, nodes[which], _of(found, which))
    subjects, links = _links(fitted, count)
    found = excess(links, margin)
    index = np.arange(len(subjects))
    if chosen is not None:
        wanted = plan.keys(chosen.links[metric], count)
        index = np.flatnonzero(np.isin(plan.keys(subjects, count), wanted))
    yield _Tested("link", metric, mode, subjects[index], links[index], _of(found, index))


def _of(found: Excess, which: Indices) -> Excess:
    return Excess(found.middle[which], found.p_values[which], found.noise)


def _links(fitted: Sequence[_Fitted], count: int) -> tuple[Indices, Floats]:
    """The pairs that two launches or more have measured (pairs x 2), and what each launch has left
    of them, the median where it measured one several times."""
    every = [plan.keys(np.stack([one.first, one.second], axis=1), count) for one in fitted]
    once = [np.unique(keys) for keys in every]
    shared, times = np.unique(np.concatenate(once), return_counts=True)
    shared = shared[times > 1]
    table = np.full((len(shared), len(fitted)), np.nan)
    for number, (keys, one) in enumerate(zip(every, fitted, strict=True)):
        mine = np.isin(keys, shared)
        order = np.lexsort((one.fit.links[mine], keys[mine]))
        ordered, values = keys[mine][order], one.fit.links[mine][order]
        names, starts, counts = np.unique(ordered, return_index=True, return_counts=True)
        middle = (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2
        table[np.searchsorted(shared, names), number] = middle
    return np.stack([shared // count, shared % count], axis=1), table


def _verdicts(
    tested: Sequence[_Tested], tests: int, nodes: Sequence[str], again: Sequence[Pairs] | None
) -> list[Verdict]:
    """All that are slow; `again`: launches that also measured some of them alone."""
    if not tested:
        return []
    p_values = np.concatenate([one.excess.p_values for one in tested])
    adjusted = np.split(
        holm(p_values, tests), np.cumsum([len(one.subjects) for one in tested])[:-1]
    )
    found = []
    for one, own in zip(tested, adjusted, strict=True):
        slow = np.flatnonzero(own < ERROR_RATE)
        counts = np.isfinite(one.values).sum(axis=1)
        reach = {n: one.excess.reach(n) for n in sorted(set(counts[slow].tolist()))}
        alone = _alone(again, one.metric, len(nodes)) if again and one.kind == "link" else {}
        for index, launches in zip(slow.tolist(), counts[slow].tolist(), strict=True):
            ends = np.atleast_1d(one.subjects[index]).tolist()
            found.append(
                Verdict(
                    kind=one.kind,
                    nodes=[nodes[end] for end in ends],
                    metric=one.metric,
                    mode=one.mode,
                    times=math.exp(float(one.excess.middle[index])),
                    ci95=_interval(float(one.excess.middle[index]), reach[launches]),
                    p_value=float(own[index]),
                    launches=launches,
                    alone=alone.get((ends[0], ends[-1])),
                )
            )
    return sorted(found, key=lambda verdict: (verdict.kind == "link", -verdict.times))


def _interval(middle: float, reach: Interval | None) -> Interval | None:
    """Of a median, as a ratio."""
    return None if reach is None else (math.exp(middle - reach[1]), math.exp(middle - reach[0]))


def _alone(launches: Sequence[Pairs], metric: Metric, count: int) -> dict[tuple[int, int], float]:
    """How many times as long a message of a pair takes as is usual, when nobody else talks: the
    median of the launches, of which each is held against its own median. Half of the pairs that are
    measured so are no suspects."""
    ratios: dict[int, list[float]] = {}
    for pairs in launches:
        own = only(pairs, together=False)
        if not len(own.first):
            continue
        values = _values(own, metric)
        numbers = plan.keys(np.stack([own.first, own.second], axis=1), count)
        for number, value in zip(numbers.tolist(), values - np.median(values), strict=True):
            ratios.setdefault(number, []).append(float(value))
    return {
        divmod(number, count): math.exp(float(np.median(found))) for number, found in ratios.items()
    }


def _curves(
    fits: dict[tuple[Metric, Mode], list[_Fitted]],
    tested: Sequence[_Tested],
    chosen: suspects.Suspects | None,
    *,
    told_apart: bool,
) -> Iterator[Curve]:
    """`told_apart`: whether there are nodes enough for it."""
    for (metric, mode), fitted in fits.items():
        ones = [one.fit for one in fitted] if chosen is None else [chosen.fits[metric]]
        if not ones:
            continue
        means = np.array([one.mean for one in ones])
        values = means if told_apart else np.concatenate([one.values for one in fitted])
        mean = float(np.median(values))
        noise = [t.excess.noise for t in tested if (t.metric, t.mode) == (metric, mode)]
        yield Curve(
            metric=metric,
            mode=mode,
            unit=UNITS[metric],
            usual=math.exp(mean if metric == "latency_us" else -mean),
            nodes=float(np.median([spread(one.nodes) for one in ones])) if told_apart else None,
            links=float(np.median([spread(one.links) for one in ones])) if told_apart else None,
            launches=spread(noise[1]) if len(noise) > 1 and len(noise[1]) else None,
        )


def _pairs(launches: Sequence[Pairs], nodes: Sequence[str]) -> Iterator[Pair]:
    tables = {
        (metric, mode): _table(launches, metric, mode, len(nodes))
        for metric in suspects.METRICS
        for mode in MODES
    }

    def value(metric: Metric, mode: Mode, one: int, other: int) -> float | None:
        logarithm = float(tables[metric, mode][one, other])
        if math.isnan(logarithm):
            return None
        return math.exp(logarithm if metric == "latency_us" else -logarithm)

    for one in range(len(nodes)):
        for other in range(one + 1, len(nodes)):
            yield Pair(
                nodes=(nodes[one], nodes[other]),
                latency_us=value("latency_us", "together", one, other),
                bandwidth_gbs=value("bandwidth_gbs", "together", one, other),
                latency_alone_us=value("latency_us", "alone", one, other),
                bandwidth_alone_gbs=value("bandwidth_gbs", "alone", one, other),
            )


def _table(launches: Sequence[Pairs], metric: Metric, mode: Mode, count: int) -> Floats:
    """nodes x nodes, above the diagonal: the median logarithm of the launches."""
    # Of no launch nothing is known.
    found = np.full((max(1, len(launches)), count, count), np.nan, dtype=np.float32)
    for number, pairs in enumerate(launches):
        own = only(pairs, together=mode == "together")
        found[number, own.first, own.second] = dict(logarithms(own))[metric]
    if len(found) == 1:
        return np.asarray(found[0])
    ordered = np.sort(found, axis=0)  # nan last
    counts = np.isfinite(found).sum(axis=0)
    low, high = np.maximum((counts - 1) // 2, 0), np.minimum(counts // 2, len(found) - 1)
    ends = [np.take_along_axis(ordered, at[None], axis=0)[0] for at in (low, high)]
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
    """Of each cell the slowest pair; nan of one without any."""
    whole = np.full((cells * side, cells * side), -np.inf, dtype=np.float32)
    whole[: len(table), : len(table)] = np.where(np.isfinite(table), table, -np.inf)
    worst = whole.reshape(cells, side, cells, side).max(axis=(1, 3))
    return np.where(np.isfinite(worst), worst, np.nan)
