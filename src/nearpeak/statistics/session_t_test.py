# SPDX-License-Identifier: Apache-2.0
"""Compares two sides, each measured in its own sessions, by a moderated t-test over sessions.

The unit is the launch, and the session is a random factor: all launches of a session share its
deviation. So a session counts once, with the middle of its launches. A few sessions do not
determine their scatter: it is estimated together with a prior (Smyth's moderated t-test,
Statistical Applications in Genetics and Molecular Biology 3 (2004) article 3).

The prior is right only for some figures. Three recordings of two sessions each (H100, four H100,
two H200; 347 cells) have sessions that scatter, beyond their launches, by 0 to 5 % in the median, 2
to 7 % at the third quartile and 5 to 16 % at the ninth decile; the weight of the prior, as Smyth
estimates it, is 1.7 degrees of freedom in the first of them. Where sessions scatter by more than
the prior says, the moderated test alone errs in up to 12 % of comparisons of three sessions a side.
So the prior counts alone only where the measured sessions agree with it: where their variance is
more than `AGREES` of the prior's, the plain t-test has to be as significant.

`AGREES` is the largest simple share with which a test at 5 % errs in no more than 5 %, at any
scatter of sessions, from two degrees of freedom on. Where sessions are normal, their variance is
independent of their means and chi-squared: the rate is the integral over it of the probability
beyond the half-width of the interval (tests/statistics/test_session_t_test.py). With all of the
prior's variance instead of half, it would be 5.7 % with two sessions a side. At lower levels (of
several questions) two degrees of freedom err more than the level, 1.2 times at 1.25 % and 1.7 times
at 0.5 %; four do not, down to 0.5 %.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.statistics.closed_testing import Adjusted, Tests, across, adjust
from nearpeak.statistics.comparisons import Comparison
from nearpeak.statistics.intervals import Interval
from nearpeak.statistics.levels import CONFIDENCE
from nearpeak.statistics.sessions import Part, added, reach, t_test
from nearpeak.statistics.verdicts import (
    FASTER,
    MIXED,
    SLOWER,
    Verdict,
    Word,
    curve_verdict,
    verdict_of,
)

SESSION_SCATTER = 0.025  # relative: the prior's standard deviation of sessions,
PRIOR_FREEDOM = 2.0  # with this many degrees of freedom
AGREES = 0.5  # of the prior's variance: sessions with at most this variance agree with it
UNCONTROLLED = 4  # sessions of both sides that suffice without a control
_OF_MIDDLE = math.pi / 3  # variance of Hodges and Lehmann's estimate over that of a mean, if normal


class Columns(NamedTuple):
    """The session of each launch, and the side of each session."""

    sessions: Indices  # of each launch: an index into `new`
    new: Booleans  # of each session: True on the new side
    effects: int = 0  # effects of strata that were estimated and subtracted before,
    blur: float = 0.0  # and the variance that this adds to a difference (`strata.Levelled`)


class Shift(NamedTuple):
    """The new side against the old one."""

    comparison: Comparison  # new / old; the interval is Student's
    alone: Interval | None  # the interval if all sessions were equal
    history: Floats  # factor of each session from the old side, above 1: better; nan: not measured
    # Not distinguishable from the deviation of sessions: a side has one, without a control.
    unfounded: bool = False


class Group(NamedTuple):
    """One alternative at one place, whose curves are likely to change together."""

    # Of each curve: logarithms, sizes x launches, signed so that more is better; nan where a size
    # lacks the launch. Each size has a launch on either side.
    curves: Sequence[Floats]
    columns: Columns
    # Of each curve, in the same shape: values relative to a control, nan without one.
    controls: Sequence[Floats] = ()


class JudgedCurve(NamedTuple):
    """A curve and its sizes, in their order."""

    curve: Verdict
    sizes: tuple[Verdict, ...]
    shift: Shift  # of the mean of all sizes
    shifts: tuple[Shift, ...]  # of each of them


class JudgedGroup(NamedTuple):
    """A group and its curves, in their order."""

    group: Verdict
    curves: tuple[JudgedCurve, ...]
    shift: Shift  # of the mean of all curves


def judge(groups: Sequence[Group], margin: float) -> list[JudgedGroup]:
    """Verdicts on all groups, their curves and the sizes of these, by `verdicts.verdict_of`.

    The closed test of `verdicts` with one more level: a false "differs" stands in at most 5 % of
    comparisons. A group is tested by the mean of its curves and by the least of their p-values,
    twice the smaller of the two, and no p-value of its curves is below its own. Groups together are
    tested by Bonferroni, as curves are.

    Where a side has only one session, the part with controls and these controls must change, too.
    The largest p-value counts, so that an effect of a session on everything is no change (an
    intersection-union test; Berger, Technometrics 24 (1982) 295). Without controls the scatter of
    sessions must at least be measured, in `UNCONTROLLED` of them; with fewer the p-value is 1.
    """
    tested = [_test(group) for group in groups]
    last = [group.largest for group in tested]
    return [_judge(group, margin, last[:i] + last[i + 1 :]) for i, group in enumerate(tested)]


def mean_row(rows: Floats) -> Floats:
    """The mean over the rows in each launch; nan where all rows lack it.

    A row that lacks a launch (nan) does not shift its mean.
    """
    means = np.full(rows.shape[1], np.nan)
    measured = ~np.isnan(rows)
    present = measured.any(axis=0)
    if present.any():
        table = rows[np.ix_(measured.any(axis=1), present)]
        middles = np.nanmean(table, axis=1, keepdims=True)
        means[present] = np.nanmean(table - middles, axis=0) + middles.mean()
    return means


def shift(row: Floats, columns: Columns) -> Shift:
    """The new side against the old one in one row: a logarithm for each launch.

    The p-value is 1, and there is no interval, where the scatter of launches or sessions is
    unknown: one session of each side, with one launch.
    """
    values, launches = _sessions(row, columns)
    measured = ~np.isnan(values)
    old, new = values[measured & ~columns.new], values[measured & columns.new]
    difference = float(new.mean() - old.mean())
    share = 1 / len(old) + 1 / len(new)
    history = np.exp(values - old.mean())
    if math.isinf(columns.blur):
        return Shift(Comparison(math.exp(difference), None, 1.0), None, history)
    of_sessions = _errors(old, new, launches.of_session if launches else None)
    of_launches = [launches.of_session] if launches else []
    errors = [_scaled(part, share) for part in of_sessions]
    alone = [_scaled(part, share) for part in of_launches]
    if launches and columns.blur:
        blur = _scaled(launches.of_launch, columns.blur)
        errors = [added(part, blur) for part in errors]
        alone = [added(part, blur) for part in alone]
    p = max((t_test(difference, error) for error in errors), default=1.0)
    ratio = Comparison(math.exp(difference), _around(difference, errors), p)
    return Shift(ratio, _around(difference, alone), history)


class _Launches(NamedTuple):
    """The scatter of launches about their sessions."""

    of_launch: Part
    of_session: Part  # the part of the variance of a session's value that launches explain


def _sessions(row: Floats, columns: Columns) -> tuple[Floats, _Launches | None]:
    """The value of each session, and the scatter of launches.

    None where no session has two launches.
    """
    values = np.full(len(columns.new), np.nan)
    squares, freedom, shares = 0.0, -columns.effects, []
    for session in range(len(values)):
        launches = row[columns.sessions == session]
        launches = launches[~np.isnan(launches)]
        if not len(launches):
            continue
        values[session] = middle(launches)
        off = launches - launches.sum() / len(launches)
        squares += float(off @ off)
        freedom += len(launches) - 1
        shares.append(_OF_MIDDLE / len(launches))
    if freedom <= 0:
        return values, None
    launch = Part(squares / freedom, freedom)
    return values, _Launches(launch, Part(launch.variance * float(np.mean(shares)), freedom))


def middle(launches: Floats) -> float:
    """The median of all means of two (Hodges and Lehmann, Annals of Mathematical Statistics 34
    (1963) 598): nearly as precise as the mean, and robust against outliers."""
    first, second = _pairs(len(launches))
    means = np.sort(launches[first] + launches[second]) / 2
    half = len(means) // 2
    return float(means[half]) if len(means) % 2 else float(means[half - 1] + means[half]) / 2


@cache
def _pairs(count: int) -> tuple[Indices, Indices]:
    """All pairs of `count` indexes, each with itself and each later one."""
    return np.triu_indices(count)


def _errors(old: Floats, new: Floats, launches: Part | None) -> list[Part]:
    """Estimates of the variance of a session's value; the least favourable one counts.

    Sessions of both sides are assumed to scatter alike. The prior covers only the sessions: the
    part of launches was measured. Empty where the scatter of sessions is unknown.
    """
    freedom = float(len(old) + len(new) - 2)
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in (old, new))
    plain = [Part(squares / freedom, freedom)] if freedom else []
    if launches is None:
        return plain
    prior = SESSION_SCATTER**2 + launches.variance
    total = freedom + PRIOR_FREEDOM
    moderated = Part((squares + PRIOR_FREEDOM * prior) / total, total)
    agree = squares <= AGREES * prior * freedom
    return [moderated] if agree else [moderated, *plain]


def _scaled(part: Part, share: float) -> Part:
    """The error of a weighted sum whose variance is `share` times that of one term."""
    return Part(part.variance * share, part.freedom)


def _around(difference: float, errors: Collection[Part]) -> Interval | None:
    """The widest interval by any of these errors."""
    if not errors:
        return None
    far = max(reach(error, CONFIDENCE) for error in errors)
    return math.exp(difference - far), math.exp(difference + far)


class _Controlled(NamedTuple):
    """The values of a size, or the mean over several, in each launch; nan: none."""

    row: Floats
    control: Floats
    covered: Floats  # the row, only where it has a control


def _controlled(series: _Controlled, columns: Columns) -> Shift:
    """The shift of a row; where a side has only one session, limited by its control."""
    change = shift(series.row, columns)
    old, new = _count(series.row, columns)
    if min(old, new) > 1:
        return change
    if not all(_count(series.control, columns)):
        if old + new >= UNCONTROLLED:
            return change
        return _with_p(change, 1.0)._replace(unfounded=True)
    tests = [change.comparison, *(shift(row, columns).comparison for row in series[1:])]
    alike = len({test.ratio > 1 for test in tests}) == 1
    return _with_p(change, max(test.p_value for test in tests) if alike else 1.0)


def _count(row: Floats, columns: Columns) -> tuple[int, int]:
    """The number of measured sessions of the old side, and of the new one."""
    sessions = np.unique(columns.sessions[~np.isnan(row)])
    new = int(np.sum(columns.new[sessions]))
    return len(sessions) - new, new


def _with_p(change: Shift, p: float) -> Shift:
    return change._replace(comparison=change.comparison._replace(p_value=p))


class _Tested(NamedTuple):
    """A group with the p-values inside it."""

    together: Shift
    shifts: list[Shift]  # of the curves
    sizes: list[list[Shift]]
    p_shift: float
    p_group: float
    curves: list[Adjusted]

    @property
    def largest(self) -> float:
        return max(size for curve in self.curves for size in curve.sizes)


def _test(group: Group) -> _Tested:
    controls = group.controls or [np.full_like(curve, np.nan) for curve in group.curves]
    parts = [
        _Controlled(curve, control, np.where(np.isnan(control), np.nan, curve))
        for curve, control in zip(group.curves, controls, strict=True)
    ]
    rows = [_Controlled(*map(mean_row, part)) for part in parts]
    overall = _Controlled(*(mean_row(np.array(series)) for series in zip(*rows, strict=True)))
    together = _controlled(overall, group.columns)
    shifts = [_controlled(row, group.columns) for row in rows]
    sizes = [_sizes(part, group.columns) for part in parts]
    inside = adjust(list(map(_tests, shifts, sizes)))
    count = 1 if len(rows) == 1 else 2  # the mean of one curve is that curve
    p_shift = count * together.comparison.p_value
    least = min(p_shift, count * min(p.curve for p in inside))
    curves = [p.at_least(least) for p in inside]
    return _Tested(together, shifts, sizes, p_shift, least, curves)


def _sizes(rows: _Controlled, columns: Columns) -> list[Shift]:
    return [_controlled(_Controlled(*row), columns) for row in zip(*rows, strict=True)]


def _tests(mean: Shift, sizes: list[Shift]) -> Tests:
    return Tests(mean.comparison, [size.comparison for size in sizes])


def _grouped(shift: Word, parts: Collection[Word]) -> Word:
    """`verdicts.curve_verdict` for parts that may themselves be mixed.

    One mixed part makes the group mixed, unless the mean is faster or slower.
    """
    if MIXED in parts and shift not in (FASTER, SLOWER):
        return MIXED
    return curve_verdict(shift, parts)


def _judge(tested: _Tested, margin: float, others: Sequence[float]) -> JudgedGroup:
    """The verdicts on one group; `others`: the largest p-value of a size of each other group."""

    def verdict(change: Shift, p: float) -> Verdict:
        (adjusted,) = across([p], others).tolist()
        interval = None if change.unfounded else change.comparison.ci95
        return Verdict(change.comparison, adjusted, verdict_of(interval, adjusted, margin))

    def over(change: Shift, p_shift: float, p: float, parts: Iterable[Verdict]) -> Verdict:
        """The verdict from those on the mean of all parts and on each part."""
        kind = _grouped(verdict(change, p_shift).verdict, {part.verdict for part in parts})
        return verdict(change, p)._replace(verdict=kind)

    curves = []
    for mean, shifts, p in zip(tested.shifts, tested.sizes, tested.curves, strict=True):
        sizes = tuple(verdict(size, p_size) for size, p_size in zip(shifts, p.sizes, strict=True))
        curve = over(mean, p.shift, p.curve, sizes)
        curves.append(JudgedCurve(curve, sizes, mean, tuple(shifts)))
    together = tested.together
    group = over(together, tested.p_shift, tested.p_group, [curve.curve for curve in curves])
    return JudgedGroup(group, tuple(curves), together)
