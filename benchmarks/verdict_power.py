# SPDX-License-Identifier: Apache-2.0
"""Simulates studies to see how often a verdict is false, and found: a table of docs/methodology.md.

Usage: python benchmarks/verdict_power.py

Three libraries, compared in pairs on 4 curves of 12 sizes. Launches deviate by 2 %, or by 1 %
where a curve stops at the first of the looks that finds all its cells precise; half of that
variance is shared by all sizes of a launch. Beside it stands the simpler procedure that was there
before: a t-test at each size, Holm's adjustment over each pair of libraries, intervals between
order statistics. Nothing is measured; the seed is fixed.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearpeak.statistics.comparisons import p_value
from nearpeak.statistics.intervals import precise, weights
from nearpeak.statistics.verdicts import FASTER, MIXED, SLOWER, Curve, judge

Floats = NDArray[np.float64]

STUDIES = 200
LIBRARIES, CURVES, SIZES = 3, 4, 12
NOISE = 0.02
LOOKS, QUIET = (6, 9, 12), 0.01  # so much noise, where looks decide: of 2 %, few would stop
JUDGED = (FASTER, SLOWER)
SHAPES = ("normal", "heavy tails", "two modes", "two narrow modes")
MARGIN = 1.02


class Counted(NamedTuple):
    """Shares of a study's comparisons; `false` is whether one that is alike was judged."""

    sizes: float  # judged, of those that differ
    curves: float  # judged, of those that differ somewhere
    false: bool
    old_sizes: float
    old_false: bool


def draw(generator: np.random.Generator, shape: str, size: tuple[int, ...]) -> Floats:
    """Launch effects in units of the deviation."""
    if shape == "normal":
        return np.asarray(generator.normal(0, 1, size))
    if shape == "heavy tails":
        return np.asarray(generator.standard_t(3, size) / np.sqrt(3))
    share, width = (0.3, 0.2) if shape == "two modes" else (0.5, 0.02)
    modes = 5.0 * (generator.random(size) < share) + generator.normal(0, width, size)
    return np.asarray(modes)


def effects(what: str) -> Floats:
    """Log effect of the last library: curves x sizes. The other libraries are alike."""
    found = np.zeros((CURVES, SIZES))
    if what == "all sizes, 10 %":
        found[:] = 0.1
    if what == "all sizes, 3 %":
        found[:] = 0.03
    if what == "all sizes of one curve, 10 %":
        found[0] = 0.1
    if what == "one size of each curve, 20 %":
        found[:, 5] = 0.2
    if what == "half of the sizes +10 %, half -10 %":
        found[:, ::2], found[:, 1::2] = 0.1, -0.1
    return found


def launches(
    generator: np.random.Generator, shape: str, what: str, count: int, noise: float
) -> Floats:
    """Log launch medians: libraries x curves x sizes x launches."""
    shared = draw(generator, shape, (LIBRARIES, CURVES, 1, count))
    own = draw(generator, shape, (LIBRARIES, CURVES, SIZES, count))
    values = np.asarray(noise * np.sqrt(0.5) * (shared + own))
    values[-1] += effects(what)[:, :, None]
    return values


def stopped(values: Floats) -> list[int]:
    """At which look each curve has only precise cells, or the last one."""
    medians = np.exp(values)
    return [
        next(
            (
                n
                for n in LOOKS
                if all(precise(m[c, s, :n], "higher") for m in medians for s in range(SIZES))
            ),
            LOOKS[-1],
        )
        for c in range(CURVES)
    ]


def before(rows: list[Floats]) -> list[bool]:
    """Which comparisons of one pair of libraries the simpler procedure judges."""
    p = np.array([p_value(row) for row in rows])
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    passed = np.empty(len(p), dtype=bool)
    passed[order] = adjusted < 0.05
    return [bool(ok) and _outside(row) for ok, row in zip(passed, rows, strict=True)]


def _outside(row: Floats) -> bool:
    """Whether the interval between order statistics leaves out 1, and is not within the margin."""
    found = weights(len(row))
    assert found is not None
    ordered = np.exp(np.sort(row))
    low, high = ordered[found[0] - 1], ordered[-found[0]]
    return bool((low > 1 or high < 1) and not (low >= 1 / MARGIN and high <= MARGIN))


def count(values: Floats, what: str, stop: list[int]) -> Counted:
    """Judges one study."""
    pairs = list(combinations(range(LIBRARIES), 2))
    curves = [
        Curve(values[b, c, :, : stop[c]] - values[a, c, :, : stop[c]], "higher")
        for a, b in pairs
        for c in range(CURVES)
    ]
    found = judge(curves)
    old = [
        verdict
        for i in range(len(pairs))
        for verdict in before(
            [row for curve in curves[i * CURVES : (i + 1) * CURVES] for row in curve.log_ratios]
        )
    ]
    true = effects(what) != 0
    differs = np.concatenate([true if b == LIBRARIES - 1 else ~true & False for _, b in pairs])
    sizes = np.array([[s.verdict in JUDGED for s in one.sizes] for one in found])
    whole = np.array([one.curve.verdict in (*JUDGED, MIXED) for one in found])
    any_size = differs.any(axis=1)
    flat = np.array(old).reshape(differs.shape)
    return Counted(
        float(sizes[differs].mean()) if differs.any() else 0.0,
        float(whole[any_size].mean()) if differs.any() else 0.0,
        bool(sizes[~differs].any() or whole[~any_size].any()),
        float(flat[differs].mean()) if differs.any() else 0.0,
        bool(flat[~differs].any()),
    )


def row(shape: str, what: str, number: int | None) -> str:
    """One row of the table; `number` of launches, or None where looks decide."""
    generator = np.random.default_rng(1)
    counted, spent = [], []
    for _ in range(STUDIES):
        noise = QUIET if number is None else NOISE
        values = launches(generator, shape, what, number or LOOKS[-1], noise)
        stop = stopped(values) if number is None else [number] * CURVES
        counted.append(count(values, what, stop))
        spent += stop
    means = 100 * np.array(counted, dtype=float).mean(axis=0)
    sizes, curves, false, old_sizes, old_false = (f"{value:.0f} %" for value in means)
    if what == "nothing":
        sizes = curves = old_sizes = ""
    name = f"looks, {np.mean(spent):.1f} in the mean" if number is None else str(number)
    return (
        f"| {name} | {shape} | {what} | {curves} | {sizes} | {false} | {old_sizes} | {old_false} |"
    )


def main() -> None:
    """Prints the table."""
    columns = ("Launches", "Launch effects", "What differs", "Curves", "Sizes", "False")
    print("| " + " | ".join((*columns, "Sizes before", "False before")) + " |")
    print("|---|---|---|---|---|---|---|---|")
    for number in (6, 12, None):
        for shape in SHAPES:
            print(row(shape, "nothing", number), flush=True)
        for what in (
            "all sizes, 3 %",
            "all sizes, 10 %",
            "all sizes of one curve, 10 %",
            "one size of each curve, 20 %",
            "half of the sizes +10 %, half -10 %",
        ):
            print(row("normal", what, number), flush=True)
        print(row("heavy tails", "all sizes, 10 %", number), flush=True)
        print(row("two modes", "all sizes, 10 %", number), flush=True)


if __name__ == "__main__":
    main()
