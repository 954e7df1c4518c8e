# SPDX-License-Identifier: Apache-2.0
"""Two sides measured in sessions of their own: what differs by more than sessions do.

The unit is the launch, and the session is a random factor: all launches of a session share what
that session was like. So a session counts once, with the median of its launches. From a few
sessions their scatter cannot be estimated; it is held to a prior, and outweighs it as sessions are
added (Smyth's moderated t-test, Statistical Applications in Genetics and Molecular Biology 3 (2004)
article 3; his prior is estimated, ours is given: benchmarks/compare_power.py shows what it does to
errors and power).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from nearpeak.statistics.comparisons import Comparison
from nearpeak.statistics.sessions import Part, t_test
from nearpeak.statistics.verdicts import Adjusted, Floats, Tests, Verdict, adjust, means, verdict_of
from nearpeak.statistics.verdicts import whole as whole_of

SESSION_SCATTER = 0.03  # relative: the prior's standard deviation of a session,
PRIOR_FREEDOM = 4.0  # worth as many degrees of freedom
LEVEL = 0.95  # of intervals
_OF_MEDIANS = math.pi / 2  # how many times the variance of a mean that of a median is, where normal


class Columns(NamedTuple):
    """Which launch is of which session, and which session of which side."""

    sessions: NDArray[np.intp]  # of each launch: an index into `new`
    new: NDArray[np.bool_]  # of each session: whether it is on the new side


class Shift(NamedTuple):
    """The new side against the old one."""

    comparison: Comparison  # new / old; the interval is Student's
    history: Floats  # of each session: how many times better than the old side; nan: not measured


class Group(NamedTuple):
    """One alternative at one place: what is likely to change as one."""

    # Of each curve: logarithms, sizes x launches, turned so that more is better; nan where a size
    # lacks the launch. Each size has a launch of either side.
    curves: Sequence[Floats]
    columns: Columns


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

    A false "differs" stands in at most 5 % of comparisons. Inside a group the closed test of
    `verdicts` judges curves and sizes. The group is tested by the mean of its curves and by the
    least of their p-values, twice the smaller of the two; its curves are judged no surer than it
    is. Groups are adjusted for one another by Bonferroni's method.
    """
    return [_judge(group, margin, len(groups)) for group in groups]


def mean_row(rows: Floats) -> Floats:
    """The mean over the rows in each launch (`verdicts.means`); nan where all lack it."""
    found = np.full(rows.shape[1], np.nan)
    present = ~np.isnan(rows).all(axis=0)
    found[present] = means(rows[:, present])
    return found


def shift(row: Floats, columns: Columns) -> Shift:
    """The new side against the old one in one row: a logarithm for each launch.

    The p-value is 1, and there is no interval, where nothing says how far launches or sessions
    scatter: one session of each side, with one launch.
    """
    values, explained = _sessions(row, columns)
    measured = ~np.isnan(values)
    old, new = values[measured & ~columns.new], values[measured & columns.new]
    difference = float(new.mean() - old.mean())
    history = np.exp(values - old.mean())
    uncertain = _uncertain(old, new, explained)
    if uncertain is None:
        return Shift(Comparison(math.exp(difference), None, 1.0), history)
    reach = math.sqrt(uncertain.variance) * float(
        special.stdtrit(uncertain.freedom, (1 + LEVEL) / 2)
    )
    bounds = math.exp(difference - reach), math.exp(difference + reach)
    p = t_test(difference, uncertain)
    return Shift(Comparison(math.exp(difference), bounds, p), history)


def _sessions(row: Floats, columns: Columns) -> tuple[Floats, float | None]:
    """The value of each session, and how much of its variance the scatter of launches explains.

    None where no session has two launches.
    """
    values = np.full(len(columns.new), np.nan)
    squares, freedom, shares = 0.0, 0, []
    for session in range(len(values)):
        launches = row[columns.sessions == session]
        launches = launches[~np.isnan(launches)]
        if not len(launches):
            continue
        values[session] = np.median(launches)
        squares += float(np.sum((launches - launches.mean()) ** 2))
        freedom += len(launches) - 1
        shares.append((_OF_MEDIANS if len(launches) > 2 else 1.0) / len(launches))
    return values, squares / freedom * float(np.mean(shares)) if freedom else None


def _uncertain(old: Floats, new: Floats, explained: float | None) -> Part | None:
    """Of the difference of both means. Sessions of either side are taken to scatter alike."""
    freedom = float(len(old) + len(new) - 2)
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in (old, new))
    if explained is not None:
        squares += PRIOR_FREEDOM * (SESSION_SCATTER**2 + explained)
        freedom += PRIOR_FREEDOM
    if not freedom:
        return None
    return Part(squares / freedom * (1 / len(old) + 1 / len(new)), freedom)


def _judge(group: Group, margin: float, groups: int) -> JudgedGroup:
    rows = [mean_row(curve) for curve in group.curves]
    shifts = [shift(row, group.columns) for row in rows]
    sizes = [[shift(row, group.columns) for row in curve] for curve in group.curves]
    together = shift(mean_row(np.array(rows)), group.columns)
    inside = adjust(
        [
            Tests(one.comparison, [size.comparison for size in of])
            for one, of in zip(shifts, sizes, strict=True)
        ]
    )
    count = 1 if len(rows) == 1 else 2  # the mean of one curve is that curve
    least = min(p.curve for p in inside)
    p_shift = count * together.comparison.p_value
    p_group = min(p_shift, count * least)

    def adjusted(p: float) -> float:
        return min(1.0, groups * max(p, p_group))

    curves = tuple(
        _curve(one, of, p, margin, adjusted)
        for one, of, p in zip(shifts, sizes, inside, strict=True)
    )
    verdict = whole_of(
        verdict_of(together.comparison.ci95, adjusted(p_shift), margin),
        {one.curve.verdict for one in curves},
    )
    return JudgedGroup(Verdict(together.comparison, adjusted(p_group), verdict), curves, together)


def _curve(
    mean: Shift,
    sizes: Sequence[Shift],
    p: Adjusted,
    margin: float,
    adjusted: Callable[[float], float],
) -> JudgedCurve:
    found = tuple(
        Verdict(
            size.comparison, adjusted(own), verdict_of(size.comparison.ci95, adjusted(own), margin)
        )
        for size, own in zip(sizes, p.sizes, strict=True)
    )
    verdict = whole_of(
        verdict_of(mean.comparison.ci95, adjusted(p.shift), margin), {one.verdict for one in found}
    )
    judged = Verdict(mean.comparison, adjusted(p.curve), verdict)
    return JudgedCurve(judged, found, mean, tuple(sizes))
