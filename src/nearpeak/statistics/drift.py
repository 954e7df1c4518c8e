# SPDX-License-Identifier: Apache-2.0
"""Finds the change of a place within a study: a run of blocks that differs from the rest.

A series holds one value per block: how far the block was off at that place, as a logarithm.
benchmarks/drift_power.py simulates the power.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearpeak.arrays import Floats
from nearpeak.statistics.levels import ERROR_RATE, FEWEST_FOR_SCATTER

LEAST_CHANGE = 0.05  # of a logarithm: smaller changes are ignored

# The prior of the noise of a place, which counts as two more blocks. Places of real machines
# deviate by 0.3 to 4 % from block to block.
PRIOR_NOISE, PRIOR_FREEDOM = 0.03, 2
# ERROR_RATE holds up to this much noise: normal, and with heavy tails (Student's t of 3 degrees of
# freedom). With less noise, the prior makes false alarms rarer.
NORMAL_NOISE, HEAVY_NOISE = 0.10, 0.05
# The shares of the level: of steps, other runs of blocks, and single blocks. Steps are few and
# matter most; heavy tails make single blocks look like changes.
STEP, RUN, SINGLE = range(3)
SHARES = np.array([0.55, 0.15, 0.3])
DRAWS = 40_000  # series without a change behind the thresholds, of each kind of noise
CHUNK = 4_000  # series at once
PART = 500_000  # numbers scanned at once: they fit into a cache
FEWER = 0.9  # with less than this share of the series left, only these are copied on
SEED = 20


class Change(NamedTuple):
    """Blocks `first` to `last` of a series, both included, differ from its other blocks."""

    first: int
    last: int
    effect: float  # their mean less that of the others: a logarithm


class _Runs(NamedTuple):
    """All ways to split n blocks into a run and the rest."""

    first: NDArray[np.int_]
    last: NDArray[np.int_]
    kind: NDArray[np.int_]  # STEP: one change for good, with two blocks or more on either side

    @property
    def length(self) -> NDArray[np.int_]:
        return self.last - self.first + 1


def changes(series: Sequence[ArrayLike]) -> list[Change | None]:
    """The strongest change of each place of a study; None where none is significant.

    The statistic is that of circular binary segmentation (Olshen and others, Biostatistics 5 (2004)
    557): the largest t of any run of blocks against the rest, with the noise of the place moderated
    by a prior (Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004) 3).
    Thresholds are those of simulated noise, normal or with heavy tails, whichever is the larger;
    all places of the study share the level.

    A series shorter than FEWEST_FOR_SCATTER has no answer: the caller has to say so.
    """
    return [None if judged is None else _change(*judged) for judged in _judged(series)]


def least_steps(series: Sequence[ArrayLike]) -> list[float | None]:
    """The least step half-way (logarithm) that half of studies would find, for each place.

    The noise is that of its series. None for a series that is too short.
    """
    return [None if judged is None else _least_step(*judged) for judged in _judged(series)]


def _judged(series: Sequence[ArrayLike]) -> list[tuple[Floats, float] | None]:
    """The series that are long enough, and the level of each."""
    arrays = [np.asarray(values, dtype=float) for values in series]
    places = sum(len(values) >= FEWEST_FOR_SCATTER for values in arrays)
    level = 1 - (1 - ERROR_RATE) ** (1 / max(places, 1))
    return [(values, level) if len(values) >= FEWEST_FOR_SCATTER else None for values in arrays]


def _least_step(values: Floats, level: float) -> float:
    n = len(values)
    # Less the one degree of freedom that a step takes, as in `_against_rest`.
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
    """Each split once. The run of a step is its shorter side; of two equal sides the later one."""
    first, last = np.triu_indices(n)
    length = last - first + 1
    inner = (first > 0) & (last < n - 1)
    early, late = (first == 0) & (2 * length < n), (last == n - 1) & (2 * length <= n)
    kept = inner | early | late
    single = (length == 1) | (length == n - 1)
    kind = np.where(single, SINGLE, np.where(inner, RUN, STEP))
    return _Runs(first[kept], last[kept], kind[kept])


def _against_rest(values: Floats, runs: _Runs) -> tuple[Floats, Floats]:
    """The effect of each run (columns) in each series (rows), and its size in standard errors."""
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
    """The t of each kind of run that noise exceeds in its share of `level` of series."""
    return np.array([_limit(n, kind, level * share) for kind, share in enumerate(SHARES)])


def _limit(n: int, kind: int, level: float) -> float:
    return max(float(np.quantile(drawn[kind], 1 - level)) for drawn in _null(n))


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

    The result equals that of `_against_rest` over all `_runs`. But the number of runs grows with
    the square of the blocks, and these arrays grow with the blocks. t grows with z, the effect in
    standard errors of noise 1, so that the run with the largest z has the largest t.
    """
    n = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    sums = np.cumsum(centred, axis=1).T[: n - 1]  # up to each split of the series in two
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
    """The largest z of a run of two blocks or more that is at neither end of its series.

    `sums`: up to each split (rows) of each series (columns).
    """
    largest = np.zeros(sums.shape[1])
    reach = np.ptp(sums, axis=0)
    rows, left = np.arange(len(largest)), sums
    for shorter in range(2, n // 2 + 1):
        # No run of this length, nor a more even split, can exceed this.
        hopeful = reach[rows] * _standard(shorter, n) > largest[rows]
        if np.count_nonzero(hopeful) < FEWER * len(rows):
            rows, left = rows[hopeful], left[:, hopeful]
        if not len(rows):
            break
        for length in {shorter, n - shorter} - {n - 1}:
            change = left[length:] - left[:-length]
            if len(change):
                widest = np.maximum(change.max(axis=0), -change.min(axis=0))
                largest[rows] = np.maximum(largest[rows], widest * _standard(length, n))
    return largest


def _standard(length: ArrayLike, n: int) -> Floats:
    """The factor from the sum over a run of `length` of n blocks to z, for noise 1."""
    blocks = np.asarray(length, dtype=float)
    return np.asarray(np.sqrt(n / (blocks * (n - blocks))))
