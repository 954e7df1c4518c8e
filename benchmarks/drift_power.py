# SPDX-License-Identifier: Apache-2.0
"""Simulates studies to see which changes of a machine are found: tables of
benchmarks/RESULTS.md.

Usage: python benchmarks/drift_power.py

A place deviates by so much from block to block, and in some studies by a step of +30 % from the
middle block on, or by a single block of -30 %. Nothing is measured; the seed is fixed.
"""

import numpy as np
from numpy.typing import NDArray

from nearpeak.statistics.drift import changes

Floats = NDArray[np.float64]

STUDIES = 400
NOISES = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12)


def draw(generator: np.random.Generator, heavy: bool, size: tuple[int, ...]) -> Floats:
    """Noise of deviation 1: normal, or of Student's t with 3 degrees of freedom."""
    if heavy:
        return np.asarray(generator.standard_t(3, size) / np.sqrt(3))
    return np.asarray(generator.normal(0, 1, size))


def found(studies: Floats, first_only: bool) -> str:
    """Share of studies (x places x blocks) with a change: at the first place, or at any."""
    hits = [changes(list(study)) for study in studies]
    share = np.mean([h[0] is not None if first_only else any(h) for h in hits])
    return f"{100 * float(share):.0f} %"


def table(heavy: bool) -> None:
    """One kind of noise: a row for each number of blocks and places."""
    print("| Blocks | Places | Of | " + " | ".join(f"{100 * s:.0f} %" for s in NOISES) + " |")
    print("|---" * (len(NOISES) + 3) + "|")
    generator = np.random.default_rng(1)
    for blocks in (4, 6, 9, 12):
        for places in (1, 2, 8):
            rows: dict[str, list[str]] = {}
            for noise in NOISES:
                quiet = noise * draw(generator, heavy, (STUDIES, places, blocks))
                step, everywhere, single = quiet.copy(), quiet.copy(), quiet.copy()
                step[:, 0, blocks // 2 :] += np.log(1.3)
                everywhere[:, :, blocks // 2 :] += np.log(1.3)
                single[:, 0, blocks // 2] += np.log(0.7)
                rows.setdefault("nothing", []).append(found(quiet, False))
                rows.setdefault("a step", []).append(found(step, True))
                if places > 1:
                    rows.setdefault("a step at all places", []).append(found(everywhere, False))
                rows.setdefault("one block", []).append(found(single, True))
            for what, row in rows.items():
                print(f"| {blocks} | {places} | {what} | " + " | ".join(row) + " |")


def main() -> None:
    """Prints the tables."""
    print("Normal noise:\n")
    table(heavy=False)
    print("\nHeavy tails (t, 3 degrees of freedom):\n")
    table(heavy=True)


if __name__ == "__main__":
    main()
