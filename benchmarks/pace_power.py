# SPDX-License-Identifier: Apache-2.0
"""Shows how often two modes of a method are detected: prints the table of benchmarks/RESULTS.md.

Usage: python benchmarks/pace_power.py [STUDIES]

Simulated times of one method. Launches deviate by a normal effect; the faster pace is at 1. In a
launch the share of the faster pace is drawn anew around its mean (beta, deviation about 0.1).
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.statistics.bimodal import SHARE, borders, in_better_mode
from nearpeak.statistics.intervals import Interval, interval

Draw = Callable[[np.random.Generator, int], Floats]

WITHIN = 0.02  # the deviation of the samples of one pace
SHAPES: dict[str, Draw] = {
    "normal": lambda generator, count: generator.normal(0, 1, count),
    "heavy tails": lambda generator, count: generator.standard_t(3, count),
    "skewed": lambda generator, count: generator.exponential(1, count) - np.log(2),
}
CONCENTRATION = 20  # of the beta distribution of shares


class Kind(NamedTuple):
    """A method, as simulated."""

    what: str
    slower: float  # the slower pace
    share: float | None  # of the faster one, in the mean; None: each launch has one of both
    shape: str = "normal"


KINDS = [
    Kind("one pace", 1.0, 1.0),
    Kind("one pace", 1.0, 1.0, "heavy tails"),
    Kind("one pace", 1.0, 1.0, "skewed"),
    Kind("each launch one of two", 1.5, None),
    *(
        Kind(f"two, 30 % apart, {100 * share:.0f} % faster", 1.3, share)
        for share in (0.1, 0.2, 0.25, 0.3, 0.5, 0.7)
    ),
    Kind("two, 100 % apart, 30 % faster", 2.0, 0.3),
]


def launches(
    kind: Kind, count: int, samples: int, deviation: float, generator: np.random.Generator
) -> list[Floats]:
    """The samples of each launch."""
    if kind.share is None:
        shares = generator.integers(0, 2, count).astype(float)
    elif kind.share == 1:
        shares = np.ones(count)
    else:
        ends = kind.share * CONCENTRATION, (1 - kind.share) * CONCENTRATION
        shares = generator.beta(*ends, count)
    found = []
    for share, effect in zip(shares, generator.normal(0, deviation, count), strict=True):
        pace = np.where(generator.random(samples) < share, 0.0, np.log(kind.slower))
        found.append(np.exp(effect + pace + WITHIN * SHAPES[kind.shape](generator, samples)))
    return found


def truth(kind: Kind, samples: int) -> float:
    """What very many launches come to: the faster pace if it is one, else the median of medians."""
    if kind.share is None or kind.share == 1:
        # Of as many launches of either kind, the middle between both is the median.
        return 1.0 if kind.share else float(np.sqrt(kind.slower))
    # The mean of p (1 - p) of a beta distribution.
    mixed = kind.share * (1 - kind.share) * CONCENTRATION / (CONCENTRATION + 1)
    if mixed >= SHARE * (1 - SHARE):
        return 1.0
    many = launches(kind, 4000, samples, 0.0, np.random.default_rng(3))
    return float(np.median([np.median(row) for row in many]))


def figures(samples: list[Floats], border: float | None) -> list[float]:
    """What each launch counts with."""
    return [float(np.median(sample[in_better_mode(sample, border, "lower")])) for sample in samples]


def covers(values: list[list[float]], true: float) -> bool:
    """Whether the interval that spans those of all these figures holds the true value."""
    found: list[Interval] = [span for value in values if (span := interval(value)) is not None]
    return min(low for low, _ in found) <= true <= max(high for _, high in found)


def percent(value: float, how: str = ".0f") -> str:
    """As a table shows it."""
    return f"{100 * value:{how}} %"


def row(kind: Kind, count: int, samples: int, deviation: float, studies: int) -> str:
    """Of the table."""
    generator = np.random.default_rng(7)
    true = truth(kind, samples)
    two, unsure, covered, alone = 0, 0, 0, 0
    errors, errors_alone = [], []
    for _ in range(studies):
        drawn = launches(kind, count, samples, deviation, generator)
        found = borders(drawn, "lower")
        values = [figures(drawn, border) for border in found]
        each = [figures([row], borders([row], "lower")[0])[0] for row in drawn]
        two += found[0] is not None
        unsure += len(found) > 1
        covered += covers(values, true)
        alone += covers([each], true)
        errors.append(np.median(values[0]) / true - 1)
        errors_alone.append(np.median(each) / true - 1)
    cells = [
        kind.what + ("" if kind.shape == "normal" else f", {kind.shape}"),
        percent(deviation),
        str(count),
        str(samples),
        *(percent(number / studies) for number in (two, unsure)),
        percent(float(np.mean(errors)), "+.1f"),
        percent(covered / studies),
        percent(float(np.mean(errors_alone)), "+.1f"),
        percent(alone / studies),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print("| Paces | Deviation | Launches | Samples | Two | Unsure | Error | Covered |", end="")
    print(" Error, launches judged alone | Covered |")
    print("|" + "---|" * 10)
    for count, samples, deviation in (
        (6, 200, 0.02),
        (12, 200, 0.02),
        (12, 20, 0.02),
        (12, 200, 0.1),
    ):
        for kind in KINDS:
            print(row(kind, count, samples, deviation, studies), flush=True)


if __name__ == "__main__":
    main()
