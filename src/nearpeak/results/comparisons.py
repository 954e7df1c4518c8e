# SPDX-License-Identifier: Apache-2.0
"""Two alternatives side by side: the ratio in each block that both ran in, and a verdict."""

from collections import defaultdict
from itertools import combinations

import numpy as np

from nearpeak.results import statistics
from nearpeak.results.model import Cell, Comparison
from nearpeak.study.precision import goal, interval

Who = tuple[str, str]  # library, settings
Pairs = list[tuple[Cell, Cell, statistics.Floats]]  # and the ratio in each block


def compare(cells: list[Cell]) -> tuple[list[Comparison], list[statistics.Floats]]:
    """Every pair of alternatives in every cell; and the log ratios that each rests on.

    The p-values of one pair of alternatives are adjusted together, over all its cells.
    """
    places: dict[tuple[object, ...], dict[Who, Cell]] = defaultdict(dict)
    for cell in cells:
        if cell.median is not None and (cell.size_bytes > 0 or cell.better == "lower"):
            axes = tuple(sorted(cell.axes.items()))
            what = (cell.benchmark, cell.metric, axes)
            places[cell.path, what, cell.buffers, cell.size_bytes][cell.library, cell.settings] = (
                cell
            )
    families: dict[tuple[Who, Who], Pairs] = defaultdict(list)
    for alternatives in places.values():
        for first, second in combinations(alternatives, 2):
            ratios = paired(alternatives[first], alternatives[second])
            if len(ratios):
                pair = (alternatives[first], alternatives[second], ratios)
                families[first, second].append(pair)
    comparisons = [c for pairs in families.values() for c in _judge(pairs)]
    return comparisons, [np.log(pair[2]) for pairs in families.values() for pair in pairs]


def paired(first: Cell, second: Cell) -> statistics.Floats:
    """second / first of each block that both ran in, turned so that above 1 is better."""
    own = dict(zip(first.blocks, first.launch_medians, strict=True))
    other = dict(zip(second.blocks, second.launch_medians, strict=True))
    values = [(own[b], other[b]) for b in own if b in other and own[b] > 0 and other[b] > 0]
    return np.array([b / a if first.better == "higher" else a / b for a, b in values])


def _judge(pairs: Pairs) -> list[Comparison]:
    p = statistics.p_values([np.log(ratios) for _, _, ratios in pairs])
    judged = []
    for (first, second, ratios), p_value, p_holm in zip(
        pairs, p.tolist(), statistics.holm(p).tolist(), strict=True
    ):
        ci95 = interval(ratios)
        judged.append(
            Comparison(
                first=(first.library, first.settings),
                second=(second.library, second.settings),
                path=first.path,
                benchmark=first.benchmark,
                metric=first.metric,
                size_bytes=first.size_bytes,
                buffers=first.buffers,
                axes=first.axes,
                ratio=float(np.exp(np.median(np.log(ratios)))),
                ci95=ci95,
                p_value=p_value,
                p_holm=p_holm,
                verdict=verdict(ci95, p_holm, first.better),
            )
        )
    return judged


def verdict(ci95: tuple[float, float] | None, p_holm: float, better: str) -> str:
    """What may be said of the second against the first.

    Equivalent: the whole interval of the ratio lies within the margin (2 % for rates, 3 % for
    times), however sure a smaller difference may be. Faster or slower: the adjusted test says so
    and the interval, which assumes no distribution, leaves 1 out. Otherwise undecided.
    """
    if ci95 is None:
        return "undecided"
    low, high = ci95
    margin = 1 + goal(better)
    if 1 / margin <= low and high <= margin:
        return "equivalent"
    if p_holm < statistics.LEVEL and low > 1:
        return "faster"
    if p_holm < statistics.LEVEL and high < 1:
        return "slower"
    return "undecided"
