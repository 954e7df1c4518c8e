# SPDX-License-Identifier: Apache-2.0
"""Whether a place stayed the same throughout a study: a run of blocks that differs from the rest.

A series holds one value per block: how far the block was off at that place, as a logarithm.
benchmarks/drift_power.py simulates what is found.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearpeak.arrays import Floats
from nearpeak.statistics.levels import ERROR_RATE, FEWEST_FOR_SCATTER

LEAST_CHANGE = 0.05  # of a logarithm: a smaller change is let be

# What is known of the noise before a place is measured: as if it had been estimated from two
# blocks more. Places of real machines deviate by 0.3 to 4 % from block to block.
PRIOR_NOISE, PRIOR_FREEDOM = 0.03, 2
# ERROR_RATE holds up to this much noise: normal, and with heavy tails (Student's t of 3 degrees of
# freedom). Of less noise, the prior makes the false alarms fewer.
NORMAL_NOISE, HEAVY_NOISE = 0.10, 0.05
# How steps, other runs of blocks, and single blocks share the level: steps are few, and what one
# most wants to know; tails make single blocks look like changes.
STEP, RUN, SINGLE = range(3)
SHARES = np.array([0.55, 0.15, 0.3])
DRAWS = 40_000  # series without a change behind the thresholds, of each kind of noise
CHUNK = 4_000  # of them at once
PART = 500_000  # numbers of them that are looked through at once: what a cache holds
FEWER = 0.9  # of the series still in question are left: then they are looked through alone
SEED = 20


class Change(NamedTuple):
    """Blocks `first` to `last` of a series, both included, differ from its other blocks."""

    first: int
    last: int
    effect: float  # their mean less that of the others: a logarithm


class _Runs(NamedTuple):
    """All ways to part n blocks into a run and the rest."""

    first: NDArray[np.int_]
    last: NDArray[np.int_]
    kind: NDArray[np.int_]  # STEP: one change for good, with two blocks or more on either side

    @property
    def length(self) -> NDArray[np.int_]:
        return self.last - self.first + 1


def changes(series: Sequence[ArrayLike]) -> list[Change | None]:
    """The change of each place of a study, its strongest; None where there is none to be seen.

    The statistic is that of circular binary segmentation (Olshen and others, Biostatistics 5 (2004)
    557): the largest t of any run of blocks against the rest, with the noise of the place moderated
    by what is known before (Smyth, Statistical Applications in Genetics and Molecular Biology 3
    (2004) 3). Thresholds are those of simulated noise, normal or with heavy tails, whichever is
    the larger; all places of the study share the level.

    A series shorter than FEWEST_FOR_SCATTER tells nothing: the caller has to say so.
    """
    return [None if judged is None else _change(*judged) for judged in _judged(series)]


def least_steps(series: Sequence[ArrayLike]) -> list[float | None]:
    """The least step half-way, a logarithm, that would be found at each place in half of studies,
    if its noise is what its series shows; None of a series that is too short."""
    return [None if judged is None else _least_step(*judged) for judged in _judged(series)]


def _judged(series: Sequence[ArrayLike]) -> list[tuple[Floats, float] | None]:
    """The series that are long enough, and the level of each."""
    found = [np.asarray(values, dtype=float) for values in series]
    places = sum(len(values) >= FEWEST_FOR_SCATTER for values in found)
    level = 1 - (1 - ERROR_RATE) ** (1 / max(places, 1))
    return [(values, level) if len(values) >= FEWEST_FOR_SCATTER else None for values in found]


def _least_step(values: Floats, level: float) -> float:
    n = len(values)
    # Without the one degree of freedom that a step takes, as in `_against_rest`.
    left = float(np.sum((values - values.mean()) ** 2)) * (n - 2) / (n - 1)
    noise = (left + PRIOR_FREEDOM * PRIOR_NOISE**2) / (n - 2 + PRIOR_FREEDOM)
    scale = 1 / (n // 2) + 1 / (n - n // 2)
    return max(LEAST_CHANGE, float(_limits(n, level)[STEP]) * math.sqrt(noise * scale))


def _change(values: Floats, level: float) -> Change | None:
    runs = _runs(len(values))
    effects, t = _against_rest(values[None, :], runs)
    limits = _limits(len(values), level)[runs.kind]
    excess = np.where(np.abs(effects[0]) > LEAST_CHANGE, t[0] / limits, 0)
    best = int(excess.argmax())
    if excess[best] <= 1:
        return None
    return Change(int(runs.first[best]), int(runs.last[best]), float(effects[0, best]))


@lru_cache
def _runs(n: int) -> _Runs:
    """Each parting once. Of a step the shorter side is the run; the later one, of two alike."""
    first, last = np.triu_indices(n)
    length = last - first + 1
    inner = (first > 0) & (last < n - 1)
    early, late = (first == 0) & (2 * length < n), (last == n - 1) & (2 * length <= n)
    kept = inner | early | late
    single = (length == 1) | (length == n - 1)
    kind = np.where(single, SINGLE, np.where(inner, RUN, STEP))
    return _Runs(first[kept], last[kept], kind[kept])


def _against_rest(values: Floats, runs: _Runs) -> tuple[Floats, Floats]:
    """Of each series (rows) and run (columns): the effect, and its size in standard errors."""
    n = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    sums = np.cumsum(np.pad(centred, ((0, 0), (1, 0))), axis=1)
    scale = 1 / runs.length + 1 / (n - runs.length)
    effects = (sums[:, runs.last + 1] - sums[:, runs.first]) * scale
    left = np.maximum(np.sum(centred**2, axis=1, keepdims=True) - effects**2 / scale, 0)
    noise = (left + PRIOR_FREEDOM * PRIOR_NOISE**2) / (n - 2 + PRIOR_FREEDOM)
    return effects, np.abs(effects) / np.sqrt(noise * scale)


@lru_cache
def _limits(n: int, level: float) -> Floats:
    """Of each kind of run, the t that noise exceeds in its share of `level` of series."""
    return np.array(
        [
            max(float(np.quantile(drawn[kind], 1 - level * share)) for drawn in _null(n))
            for kind, share in enumerate(SHARES)
        ]
    )


@lru_cache
def _null(n: int) -> tuple[Floats, Floats]:
    """The largest t of each kind of run (rows) in series without a change, by the two noises."""
    generator = np.random.default_rng([SEED, n])
    normal, heavy = [], []
    for _ in range(DRAWS // CHUNK):
        normal.append(_largest(generator.normal(0, NORMAL_NOISE, (CHUNK, n))))
        tails = generator.standard_t(3, (CHUNK, n)) / math.sqrt(3)  # of deviation 1
        heavy.append(_largest(HEAVY_NOISE * tails))
    return np.concatenate(normal, axis=1), np.concatenate(heavy, axis=1)


def _largest(values: Floats) -> Floats:
    """The largest t of each kind of run (rows) in each series (rows of `values`).

    The same as of all `_runs` by `_against_rest`, whose number grows with the square of the blocks,
    while these arrays grow with the blocks: t grows with z, the effect in standard errors of noise
    1, so that the run with the largest z is the one.
    """
    n = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    sums = np.cumsum(centred, axis=1).T[: n - 1]  # up to each parting of the series in two
    steps = np.abs(sums[1:-1]) * _standard(np.arange(2, n - 1), n)[:, None]
    z = np.zeros((3, len(values)))
    z[STEP] = steps.max(axis=0)
    z[SINGLE] = np.abs(centred).max(axis=1) * _standard(1, n)
    width = max(PART // n, 1)
    for first in range(0, len(values), width):
        part = slice(first, first + width)
        z[RUN, part] = _largest_inner(np.ascontiguousarray(sums[:, part]), n)
    left = np.maximum(np.sum(centred**2, axis=1) - z**2, 0)
    noise = (left + PRIOR_FREEDOM * PRIOR_NOISE**2) / (n - 2 + PRIOR_FREEDOM)
    return np.asarray(z / np.sqrt(noise))


def _largest_inner(sums: Floats, n: int) -> Floats:
    """The largest z of a run of two blocks or more that is at neither end, by sums up to each
    parting (rows) of each series (columns)."""
    found = np.zeros(sums.shape[1])
    reach = np.ptp(sums, axis=0)
    rows, left = np.arange(len(found)), sums
    for shorter in range(2, n // 2 + 1):
        # No run of this length or a more even parting can have more than this.
        hopeful = reach[rows] * _standard(shorter, n) > found[rows]
        if np.count_nonzero(hopeful) < FEWER * len(rows):
            rows, left = rows[hopeful], left[:, hopeful]
        if not len(rows):
            break
        for length in {shorter, n - shorter} - {n - 1}:
            change = left[length:] - left[:-length]
            if len(change):
                widest = np.maximum(change.max(axis=0), -change.min(axis=0))
                found[rows] = np.maximum(found[rows], widest * _standard(length, n))
    return found


def _standard(length: ArrayLike, n: int) -> Floats:
    """What makes the sum over a run of so many of n blocks a z, of noise 1."""
    blocks = np.asarray(length, dtype=float)
    return np.asarray(np.sqrt(n / (blocks * (n - blocks))))
