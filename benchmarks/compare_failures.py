# SPDX-License-Identifier: Apache-2.0
"""Simulates failures in `nearpeak compare`: the table of benchmarks/RESULTS.md.

Usage: python benchmarks/compare_failures.py

A comparison asks so many libraries at so many places; each is launched equally often on both
sides. All fail equally often on both sides, or one more often on the new side. What fails three
times in a row is not launched any more, as in a study. Nothing is measured; the seed is fixed.
"""

from typing import NamedTuple

import numpy as np

from nearpeak.statistics.counts import RUN, Counts, judge

ASKED = {50: 1000, 500: 400}  # libraries at places, and how many comparisons are simulated
RATES = (0.001, 0.01, 0.03, 0.1)  # of launches that fail, on both sides
LAUNCHES = (6, 9, 12, 24)  # of each side
MORE = (0.1, 0.3, 1.0)  # of the launches of one of them fail on the new side


class Tries(NamedTuple):
    """Of one of them, on one side."""

    failed: int
    tried: int
    run: bool  # the last three failed


def launched(chance: np.random.Generator, rate: float, launches: int) -> Tries:
    """Until it is given up."""
    fails = chance.random(launches) < rate
    runs = fails[2:] & fails[1:-1] & fails[:-2]
    tried = int(runs.argmax()) + RUN if runs.any() else launches
    return Tries(int(fails[:tried].sum()), tried, bool(fails[tried - RUN : tried].all()))


def counts(chance: np.random.Generator, old: float, new: float, launches: int) -> Counts:
    """Of one of them."""
    before, now = launched(chance, old, launches), launched(chance, new, launches)
    return Counts(before.failed, before.tried, now.failed, now.tried, now.run)


def row(asked: int, studies: int, rate: float, launches: int) -> str:
    """One row of the table."""
    chance = np.random.default_rng(1)
    wrong = once = 0
    found = np.zeros(len(MORE))
    for _ in range(studies):
        alike = [counts(chance, rate, rate, launches) for _ in range(asked)]
        wrong += any(judged.more for judged in judge(alike))
        once += any(counts.new_failed and not counts.old_failed for counts in alike)
        for index, more in enumerate(MORE):
            other = counts(chance, rate, more, launches)
            found[index] += judge([other, *alike[1:]])[0].more
    shares = [100 * once / studies, 100 * wrong / studies, *(100 * found / studies)]
    figures = " | ".join(f"{share:.1f} %" for share in shares)
    return f"| {asked} | {100 * rate:g} % | {launches} | {figures} |"


def main() -> None:
    """Prints the table."""
    names = ["Asked", "Fail alike", "Launches of each side", "Alone"]
    names += ["False", *(f"Found: {100 * more:.0f} % fail now" for more in MORE)]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for asked, studies in ASKED.items():
        for rate in RATES:
            for launches in LAUNCHES:
                print(row(asked, studies, rate, launches), flush=True)


if __name__ == "__main__":
    main()
