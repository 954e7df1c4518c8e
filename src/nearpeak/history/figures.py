# SPDX-License-Identifier: Apache-2.0
"""Figures of a history, by case and session."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.compare.figures import (
    Figures,
    Key,
    Kind,
    Launch,
    Owner,
    gather,
)
from nearpeak.compare.load import Study
from nearpeak.grouping import collected
from nearpeak.history.courses import Restarted
from nearpeak.statistics.comparisons import SIGN
from nearpeak.statistics.session_t_test import mean_row, middle
from nearpeak.statistics.strata import strata
from nearpeak.terms.identity import Case, Curve

_ENOUGH = 0.5  # of the usual number of launches: a session with fewer scatters too much
Numbers = Mapping[tuple[int, int], int]  # of each study (its index) and session of it


class CaseRow(NamedTuple):
    """A case over all sessions."""

    case: Case
    kind: Kind
    row: Floats  # a logarithm for each session, signed so that more is better; nan: not measured


class CurveRow(NamedTuple):
    """A curve over all sessions."""

    curve: Curve
    row: Floats  # of the mean over its cases
    cases: list[CaseRow]


class PlaceRow(NamedTuple):
    """A library, or a ceiling, on a path over all sessions."""

    owner: Owner
    row: Floats  # of the mean over its curves
    curves: list[CurveRow]


def rows(studies: Sequence[Study], numbers: Numbers) -> tuple[list[PlaceRow], list[Restarted]]:
    """Returns everything that was measured, as rows over the sessions, and the curves whose unit or
    number of messages in flight changed: they count only as they are measured now.

    Where CPUs of ranks were at several distances, a library counts only at the usual one.
    """
    merged, restarted = _merged(studies, numbers)
    owners = collected((key[:2], (key[2], figures)) for key, figures in merged.items())
    places = [
        _place(owner, dict(cases), 1 + max(numbers.values())) for owner, cases in owners.items()
    ]
    return places, restarted


def _merged(
    studies: Sequence[Study], numbers: Numbers
) -> tuple[dict[Key, Figures], list[Restarted]]:
    """Returns the figures of all studies, in their order, and the curves that are measured
    otherwise."""
    merged: dict[Key, Figures] = {}
    restarted: dict[tuple[Owner, Curve], Restarted] = {}
    for index, study in enumerate(studies):
        of_study = {
            (0, session): number
            for (position, session), number in numbers.items()
            if position == index
        }
        for key, figures in gather([study], of_study).items():
            before = merged.get(key)
            if before and before.kinds != figures.kinds:
                restarted[key[:2], key[2].curve] = _restarted(key, before, figures)
                before = None
            merged[key] = _joined(before, figures) if before else figures
    return merged, list(restarted.values())


def _restarted(key: Key, before: Figures, now: Figures) -> Restarted:
    who, place, case = key
    return Restarted(
        who=who,
        place=place,
        curve=case.curve,
        session=min(launch.session for launch in now.values),
        before=_measured_as(before),
        now=_measured_as(now),
    )


def _measured_as(figures: Figures) -> str:
    """`GB/s, window 64`."""
    kind = next(iter(figures.kinds))
    return kind.unit if kind.window is None else f"{kind.unit}, window {kind.window}"


def _joined(before: Figures, figures: Figures) -> Figures:
    return before._replace(
        values=before.values | figures.values,
        distances=before.distances | figures.distances,
    )


def _place(owner: Owner, cases: Mapping[Case, Figures], sessions: int) -> PlaceRow:
    usual = _at_usual_distance(cases)
    by_curve = collected((case.curve, case) for case in sorted(cases, key=lambda case: case.x))
    curves = []
    for curve, of_curve in by_curve.items():
        of_cases = [
            CaseRow(case, next(iter(cases[case].kinds)), _row(cases[case], usual[case], sessions))
            for case in of_curve
        ]
        curves.append(CurveRow(curve, mean_row(np.array([row.row for row in of_cases])), of_cases))
    return PlaceRow(owner, mean_row(np.array([curve.row for curve in curves])), curves)


def _at_usual_distance(cases: Mapping[Case, Figures]) -> dict[Case, set[Launch]]:
    """Returns the launches of each case in the stratum of core-to-core latency with most launches;
    all launches if a latency is unknown."""
    every = {case: set(figures.values) for case, figures in cases.items()}
    measured = [
        (case, launch, figures.distances.get(launch, math.nan))
        for case, figures in cases.items()
        for launch in figures.values
    ]
    distances = [distance for _, _, distance in measured]
    if any(map(math.isnan, distances)):
        return every
    stratum_of = strata(distances).tolist()
    [(usual, _)] = Counter(stratum_of).most_common(1)
    kept = [measured[index][:2] for index, stratum in enumerate(stratum_of) if stratum == usual]
    return {case: {launch for kept_case, launch in kept if kept_case == case} for case in every}


def _row(figures: Figures, usual: set[Launch], sessions: int) -> Floats:
    """Returns the middle of the launches of each session that has enough of them."""
    [kind] = figures.kinds
    kept = {launch: value for launch, value in figures.values.items() if launch in usual}
    by_session = collected(
        (launch.session, SIGN[kind.better] * math.log(value)) for launch, value in kept.items()
    )
    usual_number = median(map(len, by_session.values())) if by_session else 0
    row = np.full(sessions, np.nan)
    for session, values in by_session.items():
        if len(values) >= _ENOUGH * usual_number:
            row[session] = middle(np.array(values))
    return row
