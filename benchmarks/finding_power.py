# SPDX-License-Identifier: Apache-2.0
"""Simulates how often a sure finding is false, and found: a table of benchmarks/RESULTS.md.

Usage: python benchmarks/finding_power.py [--studies N]

Each study asks 100 questions. Where none is true, the median of every question is at its limit or
just below it; else five questions lie beyond it, and the others far below. Nothing is measured; the
seed is fixed.
"""

import argparse
from collections.abc import Callable

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.statistics.sequential import surely_above

QUESTIONS, TRUE = 100, 5
BLOCKS = (6, 7, 9, 12, 24)
SCATTER = 0.1  # of the ratio in each block
Shape = Callable[[np.random.Generator, int, int], Floats]


def normal(generator: np.random.Generator, rows: int, blocks: int) -> Floats:
    """All blocks alike on both sides of the limit."""
    return np.asarray(generator.normal(0, SCATTER, (rows, blocks)))


def skewed(generator: np.random.Generator, rows: int, blocks: int) -> Floats:
    """Exponential, its median at the limit."""
    return np.asarray(SCATTER * (generator.exponential(size=(rows, blocks)) - np.log(2)))


def modes(generator: np.random.Generator, rows: int, blocks: int) -> Floats:
    """40 % of the blocks far beyond the limit, the others just below."""
    high = generator.random((rows, blocks)) < 0.4
    return np.asarray(0.5 * high - 0.02 + generator.normal(0, 0.005, (rows, blocks)))


def shared_modes(generator: np.random.Generator, rows: int, blocks: int) -> Floats:
    """The same, of all questions in the same blocks."""
    high = generator.random((1, blocks)) < 0.4
    return np.asarray(0.5 * high - 0.02 + generator.normal(0, 0.005, (rows, blocks)))


def beyond(ratio: float) -> Shape:
    """Five questions whose ratio is so many times the limit, the others at half of it."""

    def rows(generator: np.random.Generator, number: int, blocks: int) -> Floats:
        found = normal(generator, number, blocks) + np.log(0.5)
        found[:TRUE] += np.log(ratio) - np.log(0.5)
        return np.asarray(found)

    return rows


FALSE = {
    "none: normal, median at the limit": normal,
    "none: skewed, median at the limit": skewed,
    "none: 40 % of the blocks far beyond": modes,
    "none: the same, in the same blocks": shared_modes,
}
FOUND = {f"5 of 100, {ratio} times the limit": beyond(ratio) for ratio in (1.1, 1.2, 1.5)}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    print("| Beyond the limit |" + "".join(f" {n} blocks |" for n in BLOCKS))
    print("|---|" + "---|" * len(BLOCKS))
    for name, shape in (FALSE | FOUND).items():
        shares = []
        for blocks in BLOCKS:
            generator = np.random.default_rng(1)
            sure = [surely_above(shape(generator, QUESTIONS, blocks)) for _ in range(studies)]
            if name in FALSE:
                shares.append(np.mean([row.any() for row in sure]))
            else:
                shares.append(np.mean([row[:TRUE].mean() for row in sure]))
        print(f"| {name} |" + "".join(f" {100 * share:.1f} % |" for share in shares), flush=True)


if __name__ == "__main__":
    main()
