# SPDX-License-Identifier: Apache-2.0
"""Simulates studies to choose the test behind the verdicts: prints a table of docs/methodology.md.

Usage: python benchmarks/verdict_power.py

Two alternatives, 8 curves of so many sizes, paired by block. Launches deviate by 2 %; half of the
variance is shared by all sizes of a launch. Nothing is measured; the seed is fixed.
"""

import numpy as np
from scipy import stats

from nearpeak.results.comparisons import verdict
from nearpeak.results.statistics import LEVEL, Floats, holm, p_values
from nearpeak.study.precision import interval

STUDIES, CURVES, NOISE = 100, 8, 0.02
SHAPES = ("normal", "heavy tails", "two modes", "two narrow modes")


def draw(generator: np.random.Generator, shape: str, size: tuple[int, ...]) -> Floats:
    """Launch effects in units of the deviation."""
    if shape == "normal":
        return np.asarray(generator.normal(0, 1, size))
    if shape == "heavy tails":
        return np.asarray(generator.standard_t(3, size) / np.sqrt(3))
    share, width = (0.3, 0.2) if shape == "two modes" else (0.5, 0.02)
    modes = generator.random(size) < share
    return np.asarray(5.0 * modes + generator.normal(0, width, size))


def simulate(
    generator: np.random.Generator, shape: str, launches: int, cells: int, effect: float
) -> Floats:
    """Log ratios of one study: cells x launches."""

    def alternative() -> Floats:
        shared = draw(generator, shape, (CURVES, 1, launches))
        own = draw(generator, shape, (CURVES, cells // CURVES, launches))
        return np.asarray(NOISE * np.sqrt(0.5) * (shared + own).reshape(cells, launches))

    return np.asarray(alternative() - alternative() + np.log1p(effect))


def judged(log_ratios: Floats) -> tuple[float, float]:
    """Shares of cells called faster or slower: by the verdicts of Nearpeak, and by Wilcoxon's."""
    adjusted = holm(p_values(list(log_ratios)))
    count = 0
    for values, p in zip(log_ratios, adjusted, strict=True):
        bounds = interval(values)
        assert bounds is not None
        ci95 = (float(np.exp(bounds[0])), float(np.exp(bounds[1])))
        count += verdict(ci95, p, "higher") in ("faster", "slower")
    by_rank = holm(stats.wilcoxon(log_ratios, axis=1).pvalue)
    return count / len(log_ratios), float((by_rank < LEVEL).mean())


def main() -> None:
    """Prints the table."""
    generator = np.random.default_rng(1)
    print("| Launches | Cells | Launch effects | True difference | Verdicts | Wilcoxon | Studies |")
    print("|---|---|---|---|---|---|---|")
    for launches in (6, 12):
        for cells in (96, 400):
            for shape in SHAPES:
                for effect in (0.0, 0.1):
                    shares = np.array(
                        [
                            judged(simulate(generator, shape, launches, cells, effect))
                            for _ in range(STUDIES)
                        ]
                    )
                    own, rank = 100 * shares.mean(axis=0)
                    studies = 100 * (shares[:, 0] > 0).mean()
                    print(
                        f"| {launches} | {cells} | {shape} | {effect:.0%} "
                        f"| {own:.2f} % | {rank:.2f} % | {studies:.0f} % |"
                    )


if __name__ == "__main__":
    main()
