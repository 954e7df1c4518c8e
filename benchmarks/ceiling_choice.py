# SPDX-License-Identifier: Apache-2.0
"""Shows what choosing the best method does to a ceiling: prints the table of benchmarks/RESULTS.md.

Usage: python benchmarks/ceiling_choice.py [STUDIES]

Simulated rates of several methods, one value for each method and block, with logarithms that
scatter around 0 for the best of them. Nothing is measured; the seed is fixed.
"""

import sys
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.observations.observed import Block
from nearpeak.results.ceilings import Methods, Reached, find_envelope, summed_up
from nearpeak.statistics.intervals import Interval, interval

SCATTER = 0.10  # the deviation of a value of one method from block to block
SHORT = 0.05  # and how far its short trial is off the same block's value
FULL = 2  # methods that a launch measures in full; the others keep their trial


class Kind(NamedTuple):
    """Methods, as simulated."""

    what: str
    methods: int
    behind: float = 0.0  # all but the best, relative
    heavy: bool = False  # tails: Student's t, 3 degrees of freedom
    shared: float = 0.0  # of the variance: the same for all methods of a block
    trials: bool = False  # all but two have a short trial alone
    disturbed: float = 0.0  # the share of trials that reach a quarter of it


KINDS = [
    Kind("1 method", 1),
    Kind("2 equal", 2),
    Kind("5 equal", 5),
    Kind("8 equal", 8),
    Kind("8 equal, heavy tails", 8, heavy=True),
    Kind("8 equal, half of the variance shared", 8, shared=0.5),
    Kind("8 equal, six of them with trials alone", 8, trials=True),
    Kind("the same, one in ten trials a quarter of it", 8, trials=True, disturbed=0.1),
    *(Kind(f"5, four of them {100 * gap:.0f} % behind", 5, gap) for gap in (0.02, 0.05, 0.20)),
    Kind("2, one of them 5 % behind", 2, 0.05),
]


def draw(kind: Kind, blocks: int, generator: np.random.Generator) -> Methods:
    """What the methods reach in one study; 1 is the true value of the best."""

    def effects(methods: int) -> Floats:
        size = (blocks, methods)
        if kind.heavy:
            return np.asarray(generator.standard_t(3, size) / np.sqrt(3))
        return generator.normal(0, 1, size)

    own = np.sqrt(1 - kind.shared) * effects(kind.methods) + np.sqrt(kind.shared) * effects(1)
    logs = SCATTER * own
    logs[:, 1:] += np.log1p(-kind.behind)
    tried = logs + SHORT * generator.normal(0, 1, logs.shape)
    if kind.disturbed:
        tried -= (generator.random(logs.shape) < kind.disturbed) * np.log(4)
    ahead = np.argsort(-tried, axis=1)[:, : FULL if kind.trials else kind.methods]
    return {
        f"m{number}": {
            Block(0, block): Reached(
                value=float(np.exp(logs[block, number] if full else tried[block, number])),
                otherwise=float(np.exp(logs[block, number] if full else tried[block, number])),
                trial=not full,
            )
            for block in range(blocks)
            for full in [number in ahead[block]]
        }
        for number in range(kind.methods)
    }


def by_all_blocks(methods: Methods) -> list[float]:
    """The values of the method that is the best over the same blocks."""
    values = [[known.value for known in reached.values()] for reached in methods.values()]
    return max(values, key=lambda own: float(np.median(own)))


def covers(bounds: Interval | None) -> bool:
    """Whether the true value of the best lies in an interval."""
    return bounds is not None and bounds[0] <= 1 <= bounds[1]


def row(kind: Kind, blocks: int, studies: int) -> str:
    """A line of the table."""
    generator = np.random.default_rng(1)
    found: list[tuple[float, bool, float]] = []
    before: list[tuple[float, bool, float]] = []
    for _ in range(studies):
        methods = draw(kind, blocks, generator)
        envelope = find_envelope(methods, "higher")
        carried = summed_up(envelope.blocks, envelope.values, envelope.otherwise)
        same = by_all_blocks(methods)
        for values, bounds, into in (
            (envelope.values, carried["ci95"], found),
            (same, interval(same, positive=True), before),
        ):
            assert bounds is not None
            width = (bounds[1] - bounds[0]) / 2
            into.append((float(np.median(values)), covers(bounds), width))
    cells = []
    for some in (found, before):
        medians, held, widths = (np.array(column) for column in zip(*some, strict=True))
        bias = 100 * float(np.exp(np.mean(np.log(medians))) - 1)
        cells += [
            f"{bias:+.1f} %",
            f"{100 * np.mean(held):.1f} %",
            f"{100 * np.median(widths):.1f} %",
        ]
    return f"| {kind.what} | {blocks} | " + " | ".join(cells) + " |"


def main() -> None:
    """Prints the table."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(
        "| Methods | Blocks | Bias | Covered | Half width"
        " | Bias, by all blocks | Covered | Half width |"
    )
    print("|---" * 8 + "|")
    for blocks in (6, 12, 24):
        for kind in KINDS:
            print(row(kind, blocks, studies), flush=True)


if __name__ == "__main__":
    main()
