# SPDX-License-Identifier: Apache-2.0
"""Judges the changes between the figures of both sides."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.compare.compared import (
    CellChange,
    Change,
    CurveChange,
    Distance,
    OfCeiling,
    PlaceChange,
)
from nearpeak.compare.distances import Levelled
from nearpeak.compare.figures import Both, Launch, Owner
from nearpeak.grouping import grouped
from nearpeak.statistics import session_t_test
from nearpeak.statistics.comparisons import SIGN
from nearpeak.statistics.session_t_test import Columns, Group, JudgedCurve, JudgedGroup, Shift
from nearpeak.statistics.verdicts import SLOWER, Verdict
from nearpeak.terms.identity import CEILING, Curve, Place, Who


class _Prepared(NamedTuple):
    """One alternative at one place, as rows of logarithms."""

    who: Who
    place: Place
    curves: list[tuple[Curve, list[Both]]]
    launches: list[Launch]
    columns: Columns
    distances: list[Distance]


def judge(
    both: Mapping[Owner, Levelled], new: Sequence[bool], tolerance: float
) -> list[PlaceChange]:
    """Returns verdicts on all alternatives, with one error rate (`statistics.session_t_test`).

    `new`: of each session, true if it is on the new side.
    """
    prepared = [_prepare(owner, levelled, new) for owner, levelled in both.items()]
    judged = session_t_test.judge([_group(place) for place in prepared], tolerance)
    return [
        _place(place, judged_group, tolerance)
        for place, judged_group in zip(prepared, judged, strict=True)
    ]


def _group(prepared: _Prepared) -> Group:
    return Group(
        [_rows(cases, prepared.launches) for _, cases in prepared.curves],
        prepared.columns,
        [_fractions(cases, prepared.launches) for _, cases in prepared.curves],
    )


def _prepare(owner: Owner, levelled: Levelled, new: Sequence[bool]) -> _Prepared:
    cases = levelled.cases
    curves = grouped(cases, lambda both: both.case.curve)
    launches = sorted({launch for case in cases for launch in case.values})
    columns = Columns(
        np.array([launch.session for launch in launches]),
        np.array(new),
        max(case.effects for case in cases),
        max(case.blur for case in cases),
    )
    in_order = [
        (curve, sorted(curve_cases, key=lambda both: both.case.x))
        for curve, curve_cases in curves.items()
    ]
    return _Prepared(*owner, in_order, launches, columns, levelled.distances)


def _rows(cases: Sequence[Both], launches: Sequence[Launch]) -> Floats:
    """Returns logarithms, cases x launches, with the sign for which more is better; nan: not
    measured."""
    return np.array([SIGN[case.kind.better] * _logarithms(case.values, launches) for case in cases])


def _fractions(cases: Sequence[Both], launches: Sequence[Launch]) -> Floats:
    """Returns logarithms of the fractions of the ceiling, cases x launches; nan: not measured."""
    return np.array(
        [_logarithms({**case.old.of_ceiling, **case.new.of_ceiling}, launches) for case in cases]
    )


def _logarithms(values: Mapping[Launch, float], launches: Sequence[Launch]) -> Floats:
    return np.log([values.get(launch, np.nan) for launch in launches])


def _place(prepared: _Prepared, judged: JudgedGroup, tolerance: float) -> PlaceChange:
    return PlaceChange(
        who=prepared.who,
        place=prepared.place,
        distances=prepared.distances,
        moved=_moved(prepared.distances),
        inseparable=math.isinf(prepared.columns.blur),
        levelled=sum(not case.alone for _, cases in prepared.curves for case in cases),
        change=_change(prepared.who, judged.group, judged.shift, tolerance),
        of_ceiling=_of_ceiling([case for _, cases in prepared.curves for case in cases], prepared),
        curves=[
            CurveChange(
                curve=curve,
                change=_change(prepared.who, judged_curve.curve, judged_curve.shift, tolerance),
                of_ceiling=_of_ceiling(cases, prepared),
                cells=_cells(prepared.who, cases, judged_curve, tolerance),
            )
            for (curve, cases), judged_curve in zip(prepared.curves, judged.curves, strict=True)
        ],
    )


def _moved(distances: Sequence[Distance]) -> bool:
    most = [max(distances, key=key, default=None) for key in (lambda d: d.old, lambda d: d.new)]
    return most[0] != most[1]


def _cells(
    who: Who, cases: Sequence[Both], judged: JudgedCurve, tolerance: float
) -> list[CellChange]:
    return [
        CellChange(
            case=case.case,
            change=_change(who, verdict, shift, tolerance),
            unit=case.kind.unit,
            x_unit=case.kind.x_unit,
            old=float(np.median(list(case.old.values.values()))),
            new=float(np.median(list(case.new.values.values()))),
        )
        for case, verdict, shift in zip(cases, judged.sizes, judged.shifts, strict=True)
    ]


def _change(who: Who, judged: Verdict, shift: Shift, tolerance: float) -> Change:
    comparison = judged.comparison
    return Change(
        ratio=comparison.ratio,
        ci95=comparison.ci95,
        p_value=comparison.p_value,
        p_adjusted=judged.p_adjusted,
        verdict=judged.verdict,
        lacks=_lacks(who) if shift.unfounded else "",
        alone=shift.alone,
        regressed=judged.verdict == SLOWER and comparison.ratio < 1 / (1 + tolerance),
        history=[None if np.isnan(value) else value for value in shift.history.tolist()],
    )


def _lacks(who: Who) -> Literal["control", "session"]:
    """Returns what a verdict lacks; a ceiling cannot have a control."""
    return "session" if who == CEILING else "control"


def _of_ceiling(cases: Sequence[Both], prepared: _Prepared) -> OfCeiling | None:
    """Returns the mean over the cases whose fractions both sides have."""
    both = [case for case in cases if case.old.of_ceiling and case.new.of_ceiling]
    if not both:
        return None
    row = session_t_test.mean_row(_fractions(both, prepared.launches))
    comparison = session_t_test.shift(row, prepared.columns).comparison
    return OfCeiling(
        ratio=comparison.ratio, ci95=comparison.ci95, p_value=comparison.p_value, cases=len(both)
    )
