# SPDX-License-Identifier: Apache-2.0
"""Simulates studies to see how often a verdict is false, and found: tables of
benchmarks/RESULTS.md.

Usage: python benchmarks/verdict_power.py [--studies N] [--processes N]

Studies of 12 to 300 pairs of curves, with 12 sizes each. Launches deviate by 3 %; half of that
variance is shared by all sizes of a launch. "Recorded" launches are drawn, whole launches of a
curve at a time, from the cells of examples/ and of tests/machines that have them. Sizes with two
modes are left to no verdict, as in a study. The last table is of studies that end a curve where all
libraries are precise, as those without --launches do. Nothing is measured; the seed is fixed.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats
from nearpeak.results.build import from_json
from nearpeak.statistics.blocks import blocks_needed
from nearpeak.statistics.intervals import all_precise
from nearpeak.statistics.modes import two_modes
from nearpeak.statistics.verdicts import FASTER, MIXED, SLOWER, Curve, Judged, judge

SIZES = 12
SCATTER = 0.03
MODES_APART = 0.15  # of two modes, each of which scatters by
NARROW = 0.003
JUDGED = (FASTER, SLOWER, MIXED)
SHAPES = (
    "normal",
    "heavy tails",
    "two modes 50/50",
    "two modes 30/70",
    "shared modes 50/50",
    "shared modes 30/70",
    "recorded",
)
STUDIES = ((2, 12), (3, 15), (3, 40), (4, 50))  # libraries, curves: 12, 45, 120, 300 pairs
BLOCKS = (6, 9, 12, 24)
LOOKS = (6, 9, 12)
SCATTERS = (0.15, 1.0)  # of curves that may end at a look: from .. to, as shares of SCATTER
EFFECTS = ("all sizes +10 %", "all sizes +3 %", "one size of each curve +20 %", "one curve +10 %")
POWER_CURVES = 30  # of two libraries: six on each of five paths
EXAMPLES = Path(__file__).parent.parent / "examples"


Shares = tuple[float, float, float]


class Question(NamedTuple):
    """One row of a table."""

    libraries: int
    curves: int
    blocks: int
    shape: str
    effect: str = ""  # of the last library; none: all are alike
    stops: bool = False  # whether curves end at looks, where all libraries are precise


class Answer(NamedTuple):
    """Of one study."""

    false: bool  # whether any verdict was
    curves: float  # the share of those that differ that had a verdict
    sizes: float


@lru_cache
def recorded() -> list[Floats]:
    """Curves of recorded studies: logarithms of launch medians, sizes x launches."""
    found = []
    for path in sorted(EXAMPLES.glob("*/results.json")):
        rows = defaultdict(list)
        for cell in from_json(path.read_bytes()).cells:
            if len(cell.launch_medians) >= 5 and min(cell.launch_medians) > 0:
                rows[cell.who, cell.place, cell.case.curve].append(cell)
        for cells in rows.values():
            blocks = sorted(set.intersection(*(set(cell.blocks) for cell in cells)))
            if len(blocks) >= 5:
                table = [[cell.by_block[block] for block in blocks] for cell in cells]
                found.append(np.log(np.array(table)))
    return found


def _launches(generator: np.random.Generator, asked: Question) -> Floats:
    """Logarithms of launch medians: libraries x curves x sizes x blocks, all libraries alike."""
    wide = (asked.libraries, asked.curves, SIZES, asked.blocks)
    common = (asked.libraries, asked.curves, 1, asked.blocks)
    if asked.shape == "recorded":
        return _drawn(generator, asked)
    if "modes" in asked.shape:
        share = 0.5 if "50/50" in asked.shape else 0.3
        upper = generator.random(common if "shared" in asked.shape else wide) < share
        return np.asarray(MODES_APART * upper + generator.normal(0, NARROW, wide))
    if asked.shape == "heavy tails":
        parts = [generator.standard_t(3, size) / np.sqrt(3) for size in (common, wide)]
    else:
        parts = [generator.normal(0, 1, size) for size in (common, wide)]
    return np.asarray(SCATTER * np.sqrt(0.5) * (parts[0] + parts[1]))


def _drawn(generator: np.random.Generator, asked: Question) -> Floats:
    found = np.empty((asked.libraries, asked.curves, SIZES, asked.blocks))
    pool = recorded()
    for curve in range(asked.curves):
        rows = pool[generator.integers(len(pool))]
        chosen = rows[np.sort(generator.choice(len(rows), SIZES, replace=len(rows) < SIZES))]
        launches = generator.integers(chosen.shape[1], size=(asked.libraries, asked.blocks))
        found[:, curve] = chosen[:, launches].transpose(1, 0, 2)
    return found


def _effects(asked: Question) -> Floats:
    """On the logarithms of the last library: curves x sizes."""
    found = np.zeros((asked.curves, SIZES))
    if asked.effect == "all sizes +10 %":
        found[:] = np.log(1.1)
    if asked.effect == "all sizes +3 %":
        found[:] = np.log(1.03)
    if asked.effect == "one size of each curve +20 %":
        found[:, 5] = np.log(1.2)
    if asked.effect == "one curve +10 %":
        found[0] = np.log(1.1)
    return found


def _study(generator: np.random.Generator, asked: Question) -> Answer:
    values, effects = _launches(generator, asked), _effects(asked)
    if asked.stops:
        values *= generator.uniform(*SCATTERS, (1, asked.curves, 1, 1))
        _stop(values)
    values[-1] += effects[:, :, None]
    modes = np.apply_along_axis(_has_two_modes, 3, values)
    pairs = list(combinations(range(asked.libraries), 2))
    found = judge(
        [
            [
                Curve(values[b, c] - values[a, c], "higher", list(modes[a, c] | modes[b, c]))
                for c in range(asked.curves)
            ]
            for a, b in pairs
        ]
    )
    differs = [(effects != 0) & (b == asked.libraries - 1) for _, b in pairs]
    return _answer(found, np.array(differs))


def _stop(values: Floats) -> None:
    """Takes away what a study would not have measured."""
    least = blocks_needed(math.comb(len(values), 2))
    for curve in range(values.shape[1]):
        for look in sorted({max(look, least) for look in LOOKS}):
            known = np.exp(values[:, curve, :, :look])
            sizes = (known[:, size].tolist() for size in range(SIZES))
            if all(all_precise(size, "higher", [0] * look) for size in sizes):
                values[:, curve, :, look:] = np.nan
                break


def _has_two_modes(row: Floats) -> bool:
    return two_modes(np.exp(row[~np.isnan(row)])) is not None


def _answer(found: list[list[Judged]], differs: Booleans) -> Answer:
    """`differs`: pairs of libraries x curves x sizes."""
    sizes = np.array([[[s.verdict in JUDGED for s in c.sizes] for c in of] for of in found])
    curves = np.array([[c.curve.verdict in JUDGED for c in of] for of in found])
    somewhere = differs.any(axis=2)
    return Answer(
        bool(sizes[~differs].any() or curves[~somewhere].any()),
        float(curves[somewhere].mean()) if somewhere.any() else 0.0,
        float(sizes[differs].mean()) if differs.any() else 0.0,
    )


def answer(asked: Question, studies: int) -> Shares:
    """The means over so many studies: false, power by curves, power by sizes."""
    generator = np.random.default_rng(1)
    means = np.mean([_study(generator, asked) for _ in range(studies)], axis=0)
    false, curves, sizes = (float(mean) for mean in means)
    return false, curves, sizes


def _false_questions() -> Iterator[Question]:
    for libraries, curves in STUDIES:
        for shape in SHAPES:
            for blocks in BLOCKS:
                yield Question(libraries, curves, blocks, shape)


def _power_questions() -> Iterator[Question]:
    for effect in EFFECTS:
        for shape in ("normal", "heavy tails", "recorded"):
            for blocks in BLOCKS:
                yield Question(2, POWER_CURVES, blocks, shape, effect)


def _stop_questions() -> Iterator[Question]:
    for libraries, curves in STUDIES[:2]:
        for shape in SHAPES:
            yield Question(libraries, curves, LOOKS[-1], shape, stops=True)


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:

        def rows(questions: list[Question]) -> Iterator[tuple[list[Question], list[Shares]]]:
            found = pool.map(answer, questions, [given.studies] * len(questions))
            for start in range(0, len(questions), len(BLOCKS)):
                yield questions[start : start + len(BLOCKS)], [next(found) for _ in BLOCKS]

        blocks = "".join(f" {n} blocks |" for n in BLOCKS)
        print(f"| What differs | Launches |{blocks}\n|---|---|{'---|' * len(BLOCKS)}")
        for asked, found in rows(list(_power_questions())):
            cells = "".join(f" {100 * c:.0f} / {100 * s:.0f} % |" for _, c, s in found)
            print(f"| {asked[0].effect} | {asked[0].shape} |{cells}", flush=True)
        print(f"\n| Pairs of curves | Launches |{blocks}\n|---|---|{'---|' * len(BLOCKS)}")
        for asked, found in rows(list(_false_questions())):
            pairs = asked[0].curves * asked[0].libraries * (asked[0].libraries - 1) // 2
            cells = "".join(f" {100 * false:.1f} % |" for false, _, _ in found)
            print(f"| {pairs} | {asked[0].shape} |{cells}", flush=True)
        questions = list(_stop_questions())
        print("\n| Pairs of curves | Launches | 6 to 12 blocks |\n|---|---|---|")
        answers = pool.map(answer, questions, [given.studies] * len(questions))
        for question, (false, _, _) in zip(questions, answers, strict=True):
            pairs = question.curves * question.libraries * (question.libraries - 1) // 2
            print(f"| {pairs} | {question.shape} | {100 * false:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
