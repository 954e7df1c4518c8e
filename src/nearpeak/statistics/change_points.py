# SPDX-License-Identifier: Apache-2.0
"""Finds when rows of a history changed, with one error rate for all rows and all times.

A row has one value for each session, such as a case, or the mean of a curve. Its statistic is the
largest likelihood ratio of a step between any two sessions (Worsley, JASA 74 (1979) 365). Where
nothing ever changed, sessions may as well have come in any other order. So whole sessions are
shuffled, in all rows at once, and a row changed where its statistic is larger than the largest of
all rows is in nearly every order (Westfall and Young, Resampling-Based Multiple Testing, 1993). The
test assumes no distribution. Rows may depend on one another in any way, as an effect of a session
on all of them makes them do. It errs more often than it says where neighbouring sessions are alike.

The error rate is divided equally over the families of rows, and over two questions: did a row
change in the newest `NEWEST` sessions, or before? So a change that is new has few rivals.

Rows that changed are divided there and both parts tested in the same way (Vostrikova, Soviet
Mathematics Doklady 24 (1981) 55; with shuffles: Matteson and James, JASA 109 (2014) 334). The parts
share another `LEVEL` by their length, so that all parts together err in no more than that.

p-values count the order that was measured among the shuffled ones (Phipson and Smyth, Statistical
Applications in Genetics and Molecular Biology 9 (2010) article 39). Shuffling ends as soon as no
row can be significant (Besag and Clifford, Biometrika 78 (1991) 301).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.grouping import firsts

LEVEL = 0.01  # that anything is found in a history without a change, at one look
PERSISTS = 3  # sessions for which a level has to hold
NEWEST = 10  # sessions that have a share of the error rate of their own
FEWEST = 12  # sessions of a row: with fewer, no order of sessions is rare enough
SHUFFLES = 3999
SEED = 0
OUTLIER = 4.0  # robust standard deviations from the median; a value beyond counts as at this limit
LIKELY = 20.0  # sessions at which a change is this many times less likely than at the best one
MOST_ALIKE = 0.9  # correlation of neighbouring sessions that is taken out
STEP = 2.5  # robust standard deviations of a difference: a larger one counts as at this limit
_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
_BARTLETT = 2.5  # values less, so that the likelihood ratio of short rows is comparable to others
_ROUNDING = 1e-9  # relative: statistics this near are the same on any CPU
_NUMBERS = 1 << 15  # orders x rows at once, for the caches of CPUs


class Step(NamedTuple):
    """A row that changed its level between two sessions."""

    row: int
    at: int  # the first session at the new level
    # sessions that may be the first at the new level: from this one to this one
    possible: tuple[int, int]
    p_adjusted: float  # for all rows and times; a step has at most `LEVEL`
    shift: float  # of the median, from the level before to the new one


class _Found(NamedTuple):
    """A step before its shift is known."""

    p_adjusted: float
    ratio: float  # of likelihoods, negative, so that the clearest of equal p-values comes first
    row: int
    at: int
    possible: tuple[int, int]


class _Part(NamedTuple):
    """Rows from one session to another, which are tested together."""

    rows: Indices
    start: int
    end: int
    level: float


def find(rows: Floats, families: Sequence[int]) -> list[Step]:
    """Returns every step of every row, in the order of rows and sessions.

    `rows`: rows x sessions in the order of time, logarithms, nan where a row lacks a session.
    `families`: a number for each row; those of a family compete for one share of the error rate.
    Steps of several rows that may be one are all where the clearest one is.
    """
    number, alike = np.asarray(families), correlation(rows)
    parts = [_Part(np.arange(len(rows)), 0, rows.shape[1], LEVEL)]
    candidates = []
    while parts:
        part = parts.pop()
        together = _together(_changed(rows, number, alike, part))
        candidates += [step for same in together for step in same]
        for same in together:
            parts += _divided(part, same, len(together))
    at_once = [step for same in _together(candidates) for step in same]
    return sorted(_measured(rows, step, at_once) for step in at_once)


def correlation(rows: Floats) -> float:
    """The correlation of sessions with the ones before them, beyond chance, of the median row; not
    below 0.

    From the differences of neighbours and of sessions two apart, which a step hardly changes (Hall
    and Van Keilegom, Journal of the Royal Statistical Society B 65 (2003) 443). Where a session
    keeps a share r of the deviation of the one before, their variances have the ratio 1 + r.
    """
    ratios = [_squares(row, 2) / _squares(row, 1) for row in map(_near, rows) if _squares(row, 1)]
    return min(max(float(np.median(ratios)) - 1, 0.0), MOST_ALIKE) if ratios else 0.0


def _near(row: Floats) -> Floats:
    """The measured values of a row, outliers at their limit, with a mean of 0."""
    off = row[~np.isnan(row)]
    off = off - np.median(off) if len(off) else off
    far = OUTLIER * _MAD * float(np.median(np.abs(off))) if len(off) else 0.0
    if far > 0:  # else most sessions have the same value
        off = np.clip(off, -far, far)
    return np.asarray(off - off.sum() / max(len(off), 1))


def _squares(values: Floats, apart: int) -> float:
    """The mean square of the differences of sessions so far apart, of which a step makes few large;
    0 where there are too few sessions."""
    if len(values) < FEWEST:
        return 0.0
    off = np.abs(values[apart:] - values[:-apart])
    limit = STEP * _MAD * float(np.median(off))
    return float(np.mean(np.minimum(off, limit) ** 2))


def _divided(part: _Part, same: Sequence[_Found], number: int) -> Iterator[_Part]:
    """Yields the parts before and after a step; `number`: of different steps in the part."""
    rows, split = np.array([step.row for step in same]), same[0].at
    for start, end in ((part.start, split), (split, part.end)):
        share = (end - start) / (part.end - part.start) / number
        yield _Part(rows, start, end, part.level * share)


def _together(candidates: Iterable[_Found]) -> list[list[_Found]]:
    """Groups steps that may be one, at most one of each row; the clearest group comes first."""
    left = sorted(candidates)
    groups = []
    while left:
        best = left[0]
        near = [step for step in left if step.possible[0] <= best.at <= step.possible[1]]
        same = list(firsts(near, lambda step: step.row).values())
        groups.append([step._replace(at=best.at) for step in same])
        left = [step for step in left if step not in same]
    return groups


def _measured(rows: Floats, step: _Found, steps: Sequence[_Found]) -> Step:
    """The step with its shift between the steps before and after it."""
    others = [other.at for other in steps if other.row == step.row]
    start = max((other for other in others if other < step.at), default=0)
    end = min((other for other in others if other > step.at), default=rows.shape[1])
    before, after = rows[step.row, start : step.at], rows[step.row, step.at : end]
    shift = float(np.nanmedian(after) - np.nanmedian(before))
    return Step(step.row, step.at, step.possible, step.p_adjusted, shift)


def _changed(rows: Floats, families: Indices, alike: float, part: _Part) -> Iterator[_Found]:
    """Yields a step of each row of a part that changed in it."""
    values = rows[part.rows, part.start : part.end]
    enough = (~np.isnan(values)).sum(axis=1) >= FEWEST
    numbers = families[part.rows]
    tested = np.unique(numbers[enough])
    for family in tested:
        chosen = enough & (numbers == family)
        scan = _Scan.of(values[chosen], alike)
        p_values = len(tested) * _p_values(scan, part.level / len(tested))
        for index in np.flatnonzero(p_values <= part.level).tolist():
            ratio, session, possible = scan.step(index, part.start)
            p_adjusted = LEVEL / part.level * float(p_values[index])
            yield _Found(p_adjusted, -ratio, int(part.rows[chosen][index]), session, possible)


class _Scan(NamedTuple):
    """Rows of which each has a mean of 0 and a sum of squares of 1 over its sessions."""

    values: Floats  # sessions x rows, 0 where a row lacks a session
    measured: Booleans
    counts: Floats  # sessions of each row

    @classmethod
    def of(cls, rows: Floats, alike: float) -> "_Scan":
        """Takes out of each session what it shares with the one before it, by `correlation`.

        So sessions can be shuffled again (Robbins, Gallagher, Lund and Aue, Journal of Time Series
        Analysis 32 (2011) 498).
        """
        measured = ~np.isnan(rows)
        values = np.zeros(rows.shape)
        for value, row, present in zip(values, rows, measured, strict=True):
            near = _near(row)
            near[1:] -= alike * near[:-1]
            near[0] *= math.sqrt(1 - alike**2)
            near -= near.mean()
            value[present] = near / (math.sqrt(float(near @ near)) or 1.0)
        in_order = np.ascontiguousarray(values.T), np.ascontiguousarray(measured.T)
        return cls(*in_order, measured.sum(axis=1, dtype=float))

    def largest(self, orders: Indices) -> Floats:
        """The largest likelihood ratio of each row in each order of sessions: questions x orders x
        rows. `orders`: orders x sessions."""
        sums = np.zeros((len(orders), len(self.counts)))
        before = np.zeros_like(sums)
        explained = np.zeros((2, *sums.shape))
        complete = bool(self.measured.all())
        for split, sessions in enumerate(orders.T[:-1], 1):
            sums += self.values[sessions]
            before += 1 if complete else self.measured[sessions]
            shares = self._weights(before[:1] if complete else before) * sums
            shares *= sums
            question = explained[int(split < len(self.values) - NEWEST)]
            np.maximum(question, shares, out=question)
        return self._ratios(explained)

    def _weights(self, before: Floats) -> Floats:
        """The factors that turn the squared sum of the sessions before a step into the
        share of all squares that the step explains; 0 where a level would have too few sessions."""
        after = self.counts - before
        holds = (before >= PERSISTS) & (after >= PERSISTS)
        return np.where(holds, self.counts / np.maximum(before * after, 1), 0.0)

    def _ratios(self, explained: Floats) -> Floats:
        """Twice the logarithm of the likelihood ratio; `explained`: anything x rows."""
        return -(self.counts - _BARTLETT) * np.log1p(-np.minimum(explained, 1 - _ROUNDING))

    def step(self, index: int, start: int) -> tuple[float, int, tuple[int, int]]:
        """The ratio of the likeliest step of a row, its session, and the possible ones."""
        sums, before = np.cumsum(self.values, axis=0), np.cumsum(self.measured, axis=0, dtype=float)
        ratios = self._ratios(self._weights(before) * sums**2)[:-1, index]
        best = float(ratios.max())
        [likely] = np.nonzero(ratios >= best - 2 * math.log(LIKELY))
        first = start + 1  # split 0 is before the second session
        possible = first + int(likely[0]), first + int(likely[-1])
        return best, first + int(np.argmax(ratios)), possible


def _p_values(scan: _Scan, level: float) -> Floats:
    """The p-value of each row, adjusted for all rows of the scan and for both questions."""
    sessions = len(scan.values)
    observed = scan.largest(np.arange(sessions)[None, :])
    questions = 2 if sessions > NEWEST + PERSISTS else 1
    limits = np.where(observed > 0, observed * (1 - _ROUNDING), np.inf)[:questions]
    reached, done = np.zeros((questions, len(scan.counts))), 0
    for orders in _orders(sessions, max(1, _NUMBERS // len(scan.counts))):
        largest = scan.largest(orders)[:questions].max(axis=2, keepdims=True)
        reached += (largest >= limits).sum(axis=1)
        done += len(orders)
        if reached.min() > level / questions * SHUFFLES:
            break
    p_values = np.where(np.isinf(limits[:, 0]), 1.0, (1 + reached) / (1 + done))
    return np.asarray(np.minimum(questions * p_values.min(axis=0), 1.0))


def _orders(sessions: int, at_once: int) -> Iterator[Indices]:
    """Yields shuffled orders of sessions, `SHUFFLES` in all."""
    generator = np.random.default_rng(SEED)
    left = SHUFFLES
    while left:
        number = min(at_once, left)
        yield generator.permuted(np.tile(np.arange(sessions), (number, 1)), axis=1)
        left -= number
