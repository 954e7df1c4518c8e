# SPDX-License-Identifier: Apache-2.0
"""Finds when rows of a history changed, with one error rate for all rows and all times.

A row has one value for each session, such as a case, or the mean of a curve. Its statistic is the
largest likelihood ratio of a step between any two sessions (Worsley, JASA 74 (1979) 365). Where
nothing ever changed, sessions may as well have come in any other order. So whole sessions are
shuffled, in all rows at once, and a row changed where its statistic is larger than the largest of
all rows is in nearly every order (Westfall and Young, Resampling-Based Multiple Testing, 1993). The
test assumes no distribution. Rows may depend on one another in any way, as an effect of a session
on all of them makes them do.

Where neighbouring sessions are alike, levels differ by chance. So what a step explains is divided
by how much more its levels vary then, as `likeness` estimates it. That holds as far as a state
which persists is not itself like a step: docs/methods/history.md has what remains.

The error rate is divided equally over the families of rows, and over two questions: did a row
change in the newest `NEWEST` sessions, or before? So a change that is new has few rivals.

Rows that changed are divided there, and both parts searched (Vostrikova, Soviet Mathematics Doklady
24 (1981) 55; with shuffles: Matteson and James, JASA 109 (2014) 334). Other levels are taken out
first, and sessions of the whole row are shuffled, so that a short part can be judged. The newest
part has another `LEVEL`, however short it is; rows that changed at different times share it. Older
parts share a third one by their length.

p-values count the order that was measured among the shuffled ones (Phipson and Smyth, Statistical
Applications in Genetics and Molecular Biology 9 (2010) article 39). Shuffling ends as soon as no
row can be significant (Besag and Clifford, Biometrika 78 (1991) 301).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.grouping import firsts, grouped
from nearpeak.statistics.likeness import Likeness, estimate

LEVEL = 0.01  # that anything is found in a history without a change, at one look
PERSISTS = 3  # sessions for which a level has to hold
NEWEST = 10  # sessions that have a share of the error rate of their own
FEWEST = 12  # sessions of a row: with fewer, no order of sessions is rare enough
SHUFFLES = 3999
SEED = 0
OUTLIER = 4.0  # robust standard deviations from the median; a value beyond counts as at this limit
LIKELY = 100.0  # sessions at which a change is this many times less likely than at the best one
SHARP = 5.0  # robust standard deviations of the differences of neighbours: a larger step is sharp
MOST_SHARP = 4  # of them, in a row
_SIDE = 5  # sessions on either side of a sharp step, whose medians differ
_SHARES = 4  # of the error rate: two families, each with two questions
_MARGIN = 1.5  # over the fewest orders that can be significant: shuffled ones are a sample
_AT_LEAST = 4  # orders as extreme as the measured one are expected among those that are shuffled
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
    number = np.asarray(families)
    parts = [_Part(np.arange(len(rows)), 0, rows.shape[1], LEVEL)]
    candidates: list[_Found] = []
    while parts:
        part = parts.pop()
        together = _together(_changed(_centred(rows, candidates, part), number, part))
        candidates += [step for same in together for step in same]
        for same in together:
            parts += _divided(part, same, len(together), rows.shape[1])
    at_once = [step for same in _together(candidates) for step in same]
    return sorted(_measured(rows, step, at_once) for step in at_once)


def seen_after(sessions: int) -> int | None:
    """The fewest sessions that a loss, however large, must last before it can be found in a history
    of `sessions`; None: it cannot be found.

    No other order of sessions may have the newest ones together, too often.
    """
    lasting = range(PERSISTS, sessions - PERSISTS + 1 if sessions >= FEWEST else 0)
    return next((k for k in lasting if math.comb(sessions, k) >= _MARGIN * _SHARES / LEVEL), None)


def correlation(rows: Floats) -> float:
    """The correlation of sessions with the ones before them, in the row where it is largest."""
    near = [_near(row) for row in rows if (~np.isnan(row)).sum() >= FEWEST]
    return estimate([_without_sharp_steps(row) for row in near], rows.shape[1]).largest()


def _centred(rows: Floats, steps: Iterable[_Found], part: _Part) -> Floats:
    """The rows of a part without the steps that were found in them, each level with its mean."""
    by_row = grouped(steps, lambda step: step.row)
    centred = rows[part.rows]
    for row, index in zip(centred, part.rows.tolist(), strict=True):
        splits = {step.at for step in by_row.get(index, [])} | {part.start, part.end}
        ends = sorted(splits | {0, len(row)})
        for start, end in pairwise(ends):
            level = row[start:end]
            measured = ~np.isnan(level)
            count = int(measured.sum())
            if not count or (start, end) == (0, len(row)):
                continue
            level -= np.median(level[measured])
            # A level takes the share of one session out of the scatter of its sessions.
            level *= math.sqrt(count / max(count - 1, 1))
    return centred


def _near(row: Floats) -> Floats:
    """The measured values of a row, outliers at their limit, with a mean of 0."""
    off = row[~np.isnan(row)]
    off = off - np.median(off) if len(off) else off
    far = OUTLIER * _MAD * float(np.median(np.abs(off))) if len(off) else 0.0
    if far > 0:  # else most sessions have the same value
        off = np.clip(off, -far, far)
    return np.asarray(off - off.sum() / max(len(off), 1))


def _without_sharp_steps(row: Floats) -> Floats:
    """A row without steps that stand far out of the differences of neighbours: the models of
    likeness have room for one step."""
    row = row.copy()
    limit = SHARP * _MAD * float(np.median(np.abs(np.diff(row)))) if len(row) > 1 else 0.0
    for _ in range(MOST_SHARP if limit else 0):
        [far] = np.nonzero(np.abs(np.diff(row)) > limit)
        shifts = {split: _shift(row, split) for split in (far + 1).tolist() if _inside(row, split)}
        split = max(shifts, key=lambda split: abs(shifts[split]), default=0)
        if not split or abs(shifts[split]) <= limit:
            break
        row[split:] -= shifts[split]
    return row - row.mean() if len(row) else row


def _inside(row: Floats, split: int) -> bool:
    return PERSISTS <= split <= len(row) - PERSISTS


def _shift(row: Floats, split: int) -> float:
    return float(
        np.median(row[split : split + _SIDE]) - np.median(row[max(split - _SIDE, 0) : split])
    )


def _divided(part: _Part, same: Sequence[_Found], number: int, sessions: int) -> Iterator[_Part]:
    """Yields the parts before and after a step; `number`: of different steps in the part.

    The newest part has a level of its own, which does not depend on how short it is.
    """
    rows, split = np.array([step.row for step in same]), same[0].at
    for start, end in ((part.start, split), (split, part.end)):
        share = 1.0 if end == sessions else (end - start) / (part.end - part.start)
        yield _Part(rows, start, end, part.level * share / number)


def _together(candidates: Iterable[_Found]) -> list[list[_Found]]:
    """Groups steps that may be one, at most one of each row; the clearest group comes first."""
    left = sorted(candidates)
    groups = []
    while left:
        best = left[0]
        near = [step for step in left if step.possible[0] <= best.at <= step.possible[1]]
        same = list(firsts(near, lambda step: step.row).values())
        groups.append([step._replace(at=best.at, possible=best.possible) for step in same])
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


def _changed(rows: Floats, families: Indices, part: _Part) -> Iterator[_Found]:
    """Yields a step of each row of a part that changed in it. `rows`: those of the part."""
    measured = ~np.isnan(rows)
    enough = measured.sum(axis=1) >= FEWEST
    enough &= measured[:, part.start : part.end].sum(axis=1) >= 2 * PERSISTS
    numbers = families[part.rows]
    tested = np.unique(numbers[enough])
    for family in tested:
        chosen = enough & (numbers == family)
        scan = _Scan.of(rows[chosen], part.start, part.end)
        p_values = len(tested) * _p_values(scan, part.level / len(tested))
        for index in np.flatnonzero(p_values <= part.level).tolist():
            ratio, session, possible = scan.step(index)
            p_adjusted = LEVEL / part.level * float(p_values[index])
            yield _Found(p_adjusted, -ratio, int(part.rows[chosen][index]), session, possible)


class _Scan(NamedTuple):
    """Rows of which each has a mean of 0 and a sum of squares of 1 over its sessions."""

    values: Floats  # sessions x rows, 0 where a row lacks a session
    measured: Booleans
    counts: Floats  # sessions of each row
    start: int  # steps are looked for from this session
    end: int  # to this one
    likeness: Likeness

    @classmethod
    def of(cls, rows: Floats, start: int, end: int) -> "_Scan":
        """Scans a part of rows whose other levels are already taken out."""
        measured = ~np.isnan(rows)
        values = np.zeros(rows.shape)
        alike = []
        for value, row, present in zip(values, rows, measured, strict=True):
            near = _near(row)
            value[present] = near / (math.sqrt(float(near @ near)) or 1.0)
            alike.append(_without_sharp_steps(near))
        in_order = np.ascontiguousarray(values.T), np.ascontiguousarray(measured.T)
        counts = measured.sum(axis=1, dtype=float)
        return cls(*in_order, counts, start, end, estimate(alike, rows.shape[1]))

    def largest(self, orders: Indices) -> Floats:
        """The largest likelihood ratio of each row in each order of sessions: questions x orders x
        rows. `orders`: orders x sessions."""
        explained = np.zeros((2, len(orders), len(self.counts)))
        for split, shares in self._shares(orders):
            question = explained[int(split < len(self.values) - NEWEST)]
            np.maximum(question, shares, out=question)
        return self._ratios(explained)

    def _shares(self, orders: Indices) -> Iterator[tuple[int, Floats]]:
        """Yields each split, and the share of all squares that a step there explains: orders x
        rows."""
        part = orders[:, self.start : self.end].T
        complete = bool(self.measured.all())
        count: Floats = np.zeros((1 if complete else len(orders), len(self.counts)))
        every, mean = self.counts[None, :], None
        if len(part) < len(self.values):  # else every row has a mean of 0
            every = count + sum(1 if complete else self.measured[sessions] for sessions in part)
            mean = sum(self.values[sessions] for sessions in part) / np.maximum(every, 1)
        sums = np.zeros((len(orders), len(self.counts)))
        for split, sessions in enumerate(part[:-1], self.start + 1):
            sums += self.values[sessions]
            count += 1 if complete else self.measured[sessions]
            off = sums if mean is None else sums - count * mean
            shares = self._weights(count, every) * off
            shares *= off
            yield split, shares

    def _weights(self, before: Floats, every: Floats) -> Floats:
        """The factors that turn the squared sum of the sessions before a step into the
        share of all squares that the step explains; 0 where a level would have too few sessions."""
        after = every - before
        holds = (before >= PERSISTS) & (after >= PERSISTS)
        return np.where(holds, every / np.maximum(before * after, 1), 0.0)

    def _ratios(self, explained: Floats) -> Floats:
        """Twice the logarithm of the likelihood ratio; `explained`: anything x rows."""
        return -(self.counts - _BARTLETT) * np.log1p(-np.minimum(explained, 1 - _ROUNDING))

    def in_order(self) -> Floats:
        """The same of every split, in the order of time: splits x rows.

        What a step explains counts less, as far as neighbours are alike.
        """
        shares = [share[0] for _, share in self._shares(np.arange(len(self.values))[None, :])]
        explained = np.minimum(np.array(shares), 1 - _ROUNDING)
        before = np.arange(1, self.end - self.start)
        inflation = self.likeness.inflation(before, self.end - self.start - before).T
        odds = explained / (1 - explained) / inflation
        return self._ratios(odds / (1 + odds))

    def step(self, index: int) -> tuple[float, int, tuple[int, int]]:
        """The ratio of the likeliest step of a row, its session, and the possible ones."""
        ratios = self.in_order()[:, index]
        best = float(ratios.max())
        [likely] = np.nonzero(ratios >= best - 2 * math.log(LIKELY))
        first = self.start + 1  # split 0 is before the second session
        possible = first + int(likely[0]), first + int(likely[-1])
        return best, first + int(np.argmax(ratios)), possible


def _p_values(scan: _Scan, level: float) -> Floats:
    """The p-value of each row, adjusted for all rows of the scan and for both questions."""
    sessions = len(scan.values)
    in_order = scan.in_order()
    newest = max(sessions - NEWEST - scan.start - 1, 0)  # the first split of the newest sessions
    parts = [part for part in (in_order[newest:], in_order[:newest]) if part.any()]
    if not parts:
        return np.ones(len(scan.counts))
    questions = len(parts)
    numbers = [0, 1] if questions == 2 else [0] if in_order[newest:].any() else [1]
    observed = np.array([part.max(axis=0) for part in parts])[:, None, :]
    limits = np.where(observed > 0, observed * (1 - _ROUNDING), np.inf)
    reached, done = np.zeros((questions, len(scan.counts))), 0
    shuffles = max(SHUFFLES, math.ceil(_AT_LEAST * questions / level))
    for orders in _orders(sessions, max(1, _NUMBERS // len(scan.counts)), shuffles):
        largest = scan.largest(orders)[numbers].max(axis=2, keepdims=True)
        reached += (largest >= limits).sum(axis=1)
        done += len(orders)
        if reached.min() > level / questions * shuffles:
            break
    p_values = np.where(np.isinf(limits[:, 0]), 1.0, (1 + reached) / (1 + done))
    return np.asarray(np.minimum(questions * p_values.min(axis=0), 1.0))


def _orders(sessions: int, at_once: int, shuffles: int) -> Iterator[Indices]:
    """Yields shuffled orders of sessions."""
    generator = np.random.default_rng(SEED)
    left = shuffles
    while left:
        number = min(at_once, left)
        yield generator.permuted(np.tile(np.arange(sessions), (number, 1)), axis=1)
        left -= number
