# SPDX-License-Identifier: Apache-2.0
"""Two sides measured in sessions of their own: what differs by more than sessions do.

The unit is the launch, and the session is a random factor: all launches of a session share what
that session was like. So a session counts once, with the middle of its launches. A few sessions say
little of their scatter: it is estimated together with a prior (Smyth's moderated t-test,
Statistical Applications in Genetics and Molecular Biology 3 (2004) article 3).

The prior is right for some figures alone. Three recordings of two sessions each (H100, four H100,
two H200; 347 cells) have sessions that scatter, beyond their launches, by 0 to 5 % in the median,
2 to 7 % at the third quartile and 5 to 16 % at the ninth decile; the weight of the prior, as Smyth
estimates it, is 1.7 degrees of freedom in the first of them. Where sessions scatter by more than
the prior says, the moderated test alone errs in up to 12 % of comparisons of three sessions a side.
So the prior lends certainty only where the sessions measured agree with it: where their own
variance is more than `AGREES` of the prior's, the plain t-test has to be as sure.

`AGREES` is the largest simple share with which a test at 5 % errs in no more than 5 %, however far
sessions scatter, from two degrees of freedom on. Where sessions are normal, their variance is
independent of their means and chi-squared: the rate is the integral over it of the probability
beyond the half-width of the interval (tests/statistics/test_sides.py). With all of the prior's
variance in place of half, it would be 5.7 % with two sessions a side. At lower levels (of several
questions) two degrees of freedom err more than the level, 1.2 times at 1.25 % and 1.7 times at
0.5 %; four do not, down to 0.5 %.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.statistics.closed import Adjusted, Tests, across, adjust
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
    verdict_of,
)
from nearpeak.statistics.verdicts import whole as whole_of

SESSION_SCATTER = 0.025  # relative: the prior's standard deviation of sessions,
PRIOR_FREEDOM = 2.0  # known with as many degrees of freedom
AGREES = 0.5  # of the prior's variance: sessions that scatter by no more agree with it
UNCONTROLLED = 4  # sessions of both sides, that judge what nothing was measured beside
_OF_MIDDLE = math.pi / 3  # times the variance of a mean: of Hodges and Lehmann's, where normal


class Columns(NamedTuple):
    """Which launch is of which session, and which session of which side."""

    sessions: Indices  # of each launch: an index into `new`
    new: Booleans  # of each session: whether it is on the new side
    effects: int = 0  # of strata of launches, that were estimated and taken off before,
    blur: float = 0.0  # and what that adds to the variance of a difference (`strata.Levelled`)


class Shift(NamedTuple):
    """The new side against the old one."""

    comparison: Comparison  # new / old; the interval is Student's
    alone: Interval | None  # the interval that there would be if sessions were all alike
    history: Floats  # of each session: how many times better than the old side; nan: not measured
    # Nothing tells it from what its sessions were like: a side has one, and nothing beside it.
    unfounded: bool = False


class Group(NamedTuple):
    """One alternative at one place: what is likely to change as one."""

    # Of each curve: logarithms, sizes x launches, turned so that more is better; nan where a size
    # lacks the launch. Each size has a launch of either side.
    curves: Sequence[Floats]
    columns: Columns
    # Of each curve, alike: the same against something measured beside it, nan where there was none.
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
    twice the smaller of the two, and its curves are judged no surer than it is. Groups together are
    tested by Bonferroni, as curves are.

    Where a side has but one session, a change must also be one of what has controls, and of these
    controls; the largest p-value counts: what a session did to everything is then no change (an
    intersection-union test; Berger, Technometrics 24 (1982) 295). Without controls the scatter of
    sessions must at least be measured, in `UNCONTROLLED` of them; with fewer the p-value is 1.
    """
    tested = [_test(group) for group in groups]
    last = [max(size for curve in group.curves for size in curve.sizes) for group in tested]
    return [_judge(group, margin, last[:i] + last[i + 1 :]) for i, group in enumerate(tested)]


def mean_row(rows: Floats) -> Floats:
    """The mean over the rows in each launch; a row that lacks it (nan) does not shift it, and it is
    nan where all lack it."""
    found = np.full(rows.shape[1], np.nan)
    measured = ~np.isnan(rows)
    present = measured.any(axis=0)
    if present.any():
        known = rows[np.ix_(measured.any(axis=1), present)]
        middles = np.nanmean(known, axis=1, keepdims=True)
        found[present] = np.nanmean(known - middles, axis=0) + middles.mean()
    return found


def shift(row: Floats, columns: Columns) -> Shift:
    """The new side against the old one in one row: a logarithm for each launch.

    The p-value is 1, and there is no interval, where nothing says how far launches or sessions
    scatter: one session of each side, with one launch.
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
    errors, alone = ([_of(part, share) for part in parts] for parts in (of_sessions, of_launches))
    if launches and columns.blur:
        blur = _of(launches.of_launch, columns.blur)
        errors, alone = ([added(part, blur) for part in parts] for parts in (errors, alone))
    p = max((t_test(difference, error) for error in errors), default=1.0)
    ratio = Comparison(math.exp(difference), _around(difference, errors), p)
    return Shift(ratio, _around(difference, alone), history)


class _Launches(NamedTuple):
    """How launches scatter about their sessions."""

    of_launch: Part
    of_session: Part  # what that explains of the variance of a session's value


def _sessions(row: Floats, columns: Columns) -> tuple[Floats, _Launches | None]:
    """The value of each session, and how its launches scatter.

    None where no session has two launches.
    """
    values = np.full(len(columns.new), np.nan)
    squares, freedom, shares = 0.0, -columns.effects, []
    for session in range(len(values)):
        launches = row[columns.sessions == session]
        launches = launches[~np.isnan(launches)]
        if not len(launches):
            continue
        values[session] = _middle(launches)
        off = launches - launches.sum() / len(launches)
        squares += float(off @ off)
        freedom += len(launches) - 1
        shares.append(_OF_MIDDLE / len(launches))
    if freedom <= 0:
        return values, None
    launch = Part(squares / freedom, freedom)
    return values, _Launches(launch, Part(launch.variance * float(np.mean(shares)), freedom))


def _middle(launches: Floats) -> float:
    """The median of all means of two (Hodges and Lehmann, Annals of Mathematical Statistics 34
    (1963) 598): nearly as sure as the mean, and a launch that lies far off hardly moves it."""
    first, second = _pairs(len(launches))
    means = np.sort(launches[first] + launches[second]) / 2
    at = len(means) // 2
    return float(means[at]) if len(means) % 2 else float(means[at - 1] + means[at]) / 2


@cache
def _pairs(count: int) -> tuple[Indices, Indices]:
    """Each of so many with itself and each later one."""
    return np.triu_indices(count)


def _errors(old: Floats, new: Floats, launches: Part | None) -> list[Part]:
    """The variance of a session's value, as estimated: a difference is no surer than by any.

    Sessions of either side are taken to scatter alike. The prior is of the sessions alone: what
    launches add to it was measured. Empty where nothing says how far sessions scatter.
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


def _of(part: Part, share: float) -> Part:
    """Of a sum or mean of such."""
    return Part(part.variance * share, part.freedom)


def _around(difference: float, errors: Collection[Part]) -> Interval | None:
    """The widest interval by any of these errors."""
    if not errors:
        return None
    far = max(reach(error, CONFIDENCE) for error in errors)
    return math.exp(difference - far), math.exp(difference + far)


class _Controlled(NamedTuple):
    """A size, or the mean over several: a value of each launch; nan: none."""

    row: Floats
    control: Floats
    covered: Floats  # the row of what has a control


def _controlled(of: _Controlled, columns: Columns) -> Shift:
    """The shift of a row; where a side has but one session, no surer than its control."""
    found = shift(of.row, columns)
    old, new = _count(of.row, columns)
    if min(old, new) > 1:
        return found
    if not all(_count(of.control, columns)):
        if old + new >= UNCONTROLLED:
            return found
        return _with_p(found, 1.0)._replace(unfounded=True)
    tests = [found.comparison, *(shift(row, columns).comparison for row in of[1:])]
    alike = len({test.ratio > 1 for test in tests}) == 1
    return _with_p(found, max(test.p_value for test in tests) if alike else 1.0)


def _count(row: Floats, columns: Columns) -> tuple[int, int]:
    """In how many sessions of the old side it was measured, and of the new one."""
    sessions = np.unique(columns.sessions[~np.isnan(row)])
    new = int(np.sum(columns.new[sessions]))
    return len(sessions) - new, new


def _with_p(found: Shift, p: float) -> Shift:
    return found._replace(comparison=found.comparison._replace(p_value=p))


class _Tested(NamedTuple):
    """A group with the p-values inside it."""

    together: Shift
    shifts: list[Shift]  # of the curves
    sizes: list[list[Shift]]
    p_shift: float
    p_group: float
    curves: list[Adjusted]


def _test(group: Group) -> _Tested:
    controls = group.controls or [np.full_like(curve, np.nan) for curve in group.curves]
    parts = [
        _Controlled(curve, control, np.where(np.isnan(control), np.nan, curve))
        for curve, control in zip(group.curves, controls, strict=True)
    ]
    rows = [_Controlled(*map(mean_row, part)) for part in parts]
    whole = _Controlled(*(mean_row(np.array(some)) for some in zip(*rows, strict=True)))
    together = _controlled(whole, group.columns)
    shifts = [_controlled(row, group.columns) for row in rows]
    sizes = [
        [_controlled(_Controlled(*row), group.columns) for row in zip(*part, strict=True)]
        for part in parts
    ]
    inside = adjust(
        [
            Tests(mean.comparison, [size.comparison for size in of])
            for mean, of in zip(shifts, sizes, strict=True)
        ]
    )
    count = 1 if len(rows) == 1 else 2  # the mean of one curve is that curve
    p_shift = count * together.comparison.p_value
    least = min(p_shift, count * min(p.curve for p in inside))
    curves = [
        Adjusted(
            max(p.shift, least), max(p.curve, least), tuple(max(size, least) for size in p.sizes)
        )
        for p in inside
    ]
    return _Tested(together, shifts, sizes, p_shift, least, curves)


def _grouped(shift: Word, parts: Collection[Word]) -> Word:
    """As `verdicts.whole`, of parts that may be mixed themselves: then it is, unless the mean is
    sure of one way."""
    if MIXED in parts and shift not in (FASTER, SLOWER):
        return MIXED
    return whole_of(shift, parts)


def _judge(tested: _Tested, margin: float, others: Sequence[float]) -> JudgedGroup:
    """`others`: of each other group the largest p-value of any of its sizes."""

    def verdict(found: Shift, p: float) -> Verdict:
        (adjusted,) = across([p], others).tolist()
        interval = None if found.unfounded else found.comparison.ci95
        return Verdict(found.comparison, adjusted, verdict_of(interval, adjusted, margin))

    def over(found: Shift, p_shift: float, p: float, parts: Iterable[Verdict]) -> Verdict:
        """By the verdicts on the mean of all parts and on each of them."""
        kind = _grouped(verdict(found, p_shift).verdict, {part.verdict for part in parts})
        return verdict(found, p)._replace(verdict=kind)

    curves = []
    for mean, shifts, p in zip(tested.shifts, tested.sizes, tested.curves, strict=True):
        sizes = tuple(verdict(size, own) for size, own in zip(shifts, p.sizes, strict=True))
        curve = over(mean, p.shift, p.curve, sizes)
        curves.append(JudgedCurve(curve, sizes, mean, tuple(shifts)))
    found = tested.together
    group = over(found, tested.p_shift, tested.p_group, [curve.curve for curve in curves])
    return JudgedGroup(group, tuple(curves), found)
