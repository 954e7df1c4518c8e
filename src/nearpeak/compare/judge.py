# SPDX-License-Identifier: Apache-2.0
"""From the figures of both sides to verdicts on what changed."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.compare.compared import CellChange, Change, CurveChange, Distance, PlaceChange, Ratio
from nearpeak.compare.distances import Levelled
from nearpeak.compare.figures import Both, Launch, Owner
from nearpeak.statistics import sides
from nearpeak.statistics.sides import Columns, Group, JudgedCurve, JudgedGroup, Shift
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
    """Verdicts on all alternatives, which share one error rate (`statistics.sides`).

    `new`: of each session, whether it is on the new side.
    """
    prepared = [_prepare(owner, levelled, new) for owner, levelled in both.items()]
    groups = [
        Group(
            [_rows(cases, one.launches) for _, cases in one.curves],
            one.columns,
            [_fractions(cases, one.launches) for _, cases in one.curves],
        )
        for one in prepared
    ]
    judged = sides.judge(groups, tolerance)
    return [_place(one, found, tolerance) for one, found in zip(prepared, judged, strict=True)]


def _prepare(owner: Owner, levelled: Levelled, new: Sequence[bool]) -> _Prepared:
    cases = levelled.cases
    curves: dict[Curve, list[Both]] = {}
    for one in cases:
        curves.setdefault(one.case.curve, []).append(one)
    launches = sorted({at for one in cases for at in (*one.old.values, *one.new.values)})
    columns = Columns(
        np.array([launch.session for launch in launches]),
        np.array(new),
        max(one.strata for one in cases),
        max(one.blur for one in cases),
    )
    in_order = [
        (curve, sorted(found, key=lambda one: one.case.x)) for curve, found in curves.items()
    ]
    return _Prepared(*owner, in_order, launches, columns, levelled.distances)


def _rows(cases: Sequence[Both], launches: Sequence[Launch]) -> Floats:
    """Logarithms, cases x launches, turned so that more is better; nan: not measured."""
    rows = []
    for one in cases:
        sign = 1.0 if one.kind.better == "higher" else -1.0
        rows.append(sign * _logarithms({**one.old.values, **one.new.values}, launches))
    return np.array(rows)


def _fractions(cases: Sequence[Both], launches: Sequence[Launch]) -> Floats:
    """Of the ceiling, likewise."""
    return np.array(
        [_logarithms({**case.old.of_ceiling, **case.new.of_ceiling}, launches) for case in cases]
    )


def _logarithms(values: Mapping[Launch, float], launches: Sequence[Launch]) -> Floats:
    return np.log([values.get(launch, np.nan) for launch in launches])


def _place(one: _Prepared, judged: JudgedGroup, tolerance: float) -> PlaceChange:
    return PlaceChange(
        who=one.who,
        place=one.place,
        distances=one.distances,
        moved=_moved(one.distances),
        inseparable=math.isinf(one.columns.blur),
        change=_change(one.who, judged.group, judged.shift, tolerance),
        of_ceiling=_of_ceiling([case for _, cases in one.curves for case in cases], one),
        curves=[
            CurveChange(
                curve=curve,
                change=_change(one.who, found.curve, found.shift, tolerance),
                of_ceiling=_of_ceiling(cases, one),
                cells=_cells(one.who, cases, found, tolerance),
            )
            for (curve, cases), found in zip(one.curves, judged.curves, strict=True)
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
            case=one.case,
            change=_change(who, verdict, shift, tolerance),
            unit=one.kind.unit,
            x_unit=one.kind.x_unit,
            old=float(np.median(list(one.old.values.values()))),
            new=float(np.median(list(one.new.values.values()))),
        )
        for one, verdict, shift in zip(cases, judged.sizes, judged.shifts, strict=True)
    ]


def _change(who: Who, judged: Verdict, shift: Shift, tolerance: float) -> Change:
    found = judged.comparison
    return Change(
        ratio=found.ratio,
        ci95=found.ci95,
        p_value=found.p_value,
        p_adjusted=judged.p_adjusted,
        verdict=judged.verdict,
        lacks=_lacks(who) if shift.unfounded else "",
        alone=shift.alone,
        regressed=judged.verdict == SLOWER and found.ratio < 1 / (1 + tolerance),
        history=[None if np.isnan(value) else value for value in shift.history.tolist()],
    )


def _lacks(who: Who) -> Literal["control", "session"]:
    """What would found a verdict: beside a ceiling nothing can be measured."""
    return "session" if who == CEILING else "control"


def _of_ceiling(cases: Sequence[Both], one: _Prepared) -> Ratio | None:
    """The mean over those cases whose fractions both sides have."""
    both = [case for case in cases if case.old.of_ceiling and case.new.of_ceiling]
    if not both:
        return None
    row = sides.mean_row(_fractions(both, one.launches))
    found = sides.shift(row, one.columns).comparison
    return Ratio(ratio=found.ratio, ci95=found.ci95, p_value=found.p_value)
