# SPDX-License-Identifier: Apache-2.0
"""Bimodal samples of one method: one border between two modes for all launches of a study.

Output and documents call a mode within launches a pace. docs/methods/statistics.md has the power.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.statistics.intervals import weights

GAP = 0.05  # modes nearer than this count as one
SHARE = 0.25  # of the samples of a launch: a mode has at least this share on average
SAMPLES = 10  # launches of fewer are ignored
END = 0.05  # of the samples: at either end they are taken for outliers
POINTS = 24  # of each launch, however many samples it has: all launches weigh the same
DRAWS = 100
DOUBT = 0.05  # of the draws: an answer that more of them give is not ruled out
SEED = 1


def borders(launches: Sequence[Floats], better: str) -> list[float | None]:
    """The border of the better mode, as a factor from the best of a launch.

    None where there is only one mode. "The best" is the value that a twentieth of the samples of
    the launch reach, so that launches may differ. `launches`: the samples of each launch of one
    method and case; `better`: "higher" or "lower".

    The first entry is the answer of all launches. Launches are also resampled with replacement: an
    answer (one mode or two) that differs in more than 5 % of the draws follows, with the median of
    its borders. Fewer launches than an interval needs are not resampled. Launches of fewer than 10
    samples are ignored.
    """
    samples = [np.asarray(launch, dtype=float) for launch in launches if len(launch) >= SAMPLES]
    if not samples or min(launch.min() for launch in samples) <= 0:
        return [None]
    points = np.array([_points(_worse(launch, better)) for launch in samples])
    if not _may_part(points):
        return [None]
    count = len(samples)
    (decided,) = _borders(points, np.ones((1, count)))
    if weights(count) is None:
        return [decided]
    draws = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), DRAWS)
    drawn = _borders(points, draws.astype(float))
    others = [border for border in drawn if (border is None) != (decided is None)]
    if len(others) <= DOUBT * DRAWS:
        return [decided]
    return [decided, None if decided else float(np.median([border for border in others if border]))]


def in_better_mode(samples: ArrayLike, border: float | None, better: str) -> Booleans:
    """True for each sample of a launch (above 0) in its better mode.

    All of them where there is only one mode, or fewer than 10 samples.
    """
    values = np.asarray(samples, dtype=float)
    if border is None or len(values) < SAMPLES:
        return np.ones(len(values), dtype=bool)
    return np.asarray(_worse(values, better) <= border)


def _worse(samples: Floats, better: str) -> Floats:
    """Each sample as a factor from the best of its launch; above 1: worse."""
    if better == "higher":
        return np.asarray(np.quantile(samples, 1 - END, method="inverted_cdf") / samples)
    return np.asarray(samples / np.quantile(samples, END, method="inverted_cdf"))


def _points(values: Floats) -> Floats:
    """Evenly spread order statistics of a launch; interpolation would fill a valley."""
    ranks = np.ceil((np.arange(POINTS) + 0.5) / POINTS * len(values)).astype(int)
    return np.asarray(np.sort(values)[ranks - 1])


def _may_part(points: Floats) -> bool:
    """False if no draw of these launches can have a border; a cheap test.

    A valley has at most 1/20 of all points in it. With a mean of p (1 - p) of 3/16 or more there is
    a launch with p (1 - p) - 2 x (its share of points in the valley) >= 3/16 - 2/20. Of 24 points
    this leaves at most one in the valley, and at least three on either side.
    """
    inner = points[:, 2:-2]
    return bool((inner[:, 2:] > (1 + GAP) * inner[:, :-2]).any())


def _borders(points: Floats, counts: Floats) -> list[float | None]:
    """The border of the points (launches x points) for each draw (draws x launches), if any.

    The points are split where the variance of the logarithms within both sides is least (Otsu, IEEE
    SMC 9 (1979) 62). The split is a border if

    - the valley between its sides (from the 95th percentile of the better one to the 5th of the
      other) is wider than 5 % and than both sides together (each from its 5th to its 95th), and
    - launches have both modes, rather than one mode each: with p the share of the better mode in a
      launch, the mean of p (1 - p) is at least its value for a quarter.
    """
    order = np.argsort(points, axis=None, kind="stable")
    values = np.log(points.ravel()[order])
    owners = np.repeat(np.arange(len(points)), POINTS)[order]
    weight = counts[:, owners]
    lower = np.cumsum(weight, axis=1)
    cuts = np.argmin(_within(values, weight, lower), axis=1)  # the last point of the better side

    below, total = lower[np.arange(len(counts)), cuts], lower[:, -1]
    first, low = (values[_reaching(lower, share * below)] for share in (END, 1 - END))
    high, last = (
        values[_reaching(lower, below + share * (total - below))] for share in (END, 1 - END)
    )
    valley, sides = high - low, (low - first) + (last - high)
    shares = np.cumsum(owners == np.arange(len(points))[:, None], axis=1)[:, cuts] / POINTS
    mixed = (counts * (shares * (1 - shares)).T).sum(axis=1) / counts.sum(axis=1)
    bimodal = (valley > np.maximum(np.log1p(GAP), sides)) & (mixed >= SHARE * (1 - SHARE))
    middles = np.exp((low + high) / 2)
    return [float(middle) if two else None for middle, two in zip(middles, bimodal, strict=True)]


def _within(values: Floats, weight: Floats, lower: Floats) -> Floats:
    """The sum of squares within both sides of a cut after each value, up to a constant.

    For each draw; infinite where a side has less than its share. `lower`: weight up to each value.
    """
    sums = np.cumsum(weight * values, axis=1)
    total = lower[:, -1:]
    inside = (lower >= SHARE * total) & (lower <= (1 - SHARE) * total)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = sums**2 / lower + (sums[:, -1:] - sums) ** 2 / (total - lower)
    return np.asarray(np.where(inside, -between, np.inf))


def _reaching(cumulated: Floats, target: Floats) -> Indices:
    """The first point of each draw at which the weights reach the target."""
    return np.asarray(np.argmax(cumulated >= target[:, None], axis=1))
