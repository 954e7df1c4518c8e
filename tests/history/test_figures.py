# SPDX-License-Identifier: Apache-2.0
"""Figures of a history, as rows over its sessions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from nearpeak.compare.load import load_side
from nearpeak.history.figures import PlaceRow, rows
from nearpeak.terms.identity import CEILING

MakeSides = Callable[..., Path]


def alpha(*folders: Path) -> PlaceRow:
    """The row of the library."""
    studies = load_side(folders)
    numbers = {(index, 0): index for index in range(len(studies))}
    return next(place for place in rows(studies, numbers)[0] if place.owner[0] != CEILING)


def test_more_is_better_in_every_row(make_sides: MakeSides) -> None:
    place = alpha(make_sides("a", day=1), make_sides("b", day=2, factor=0.5))
    every = [place.row, *(curve.row for curve in place.curves)]
    every += [case.row for curve in place.curves for case in curve.cases]
    assert len(every) == 9
    for row in every:
        assert abs(row[1] - row[0] - np.log(0.5)) < 0.05


def test_a_session_counts_only_at_the_usual_distance(make_sides: MakeSides) -> None:
    place = alpha(
        make_sides("a", day=1, far=(0,), far_loss=4),
        make_sides("b", day=2, far=(0, 1), far_loss=4),
        make_sides("c", day=3, far=range(4), far_loss=4),
        make_sides("d", day=4, far=range(6), far_loss=4),
        make_sides("e", day=5, far=(1,), far_loss=4),
    )
    assert np.nanmax(place.row) - np.nanmin(place.row) < 0.05
    assert np.isnan(place.row).tolist() == [False, False, True, True, False]


def test_what_a_session_lacks_shifts_no_mean(make_sides: MakeSides) -> None:
    place = alpha(make_sides("a", day=1), make_sides("b", day=2, crashed=("alpha",)))
    assert abs(place.row[1] - place.row[0]) < 0.05


def test_a_curve_that_is_measured_otherwise_starts_anew_and_says_so(make_sides: MakeSides) -> None:
    studies = load_side([make_sides("a", day=1), make_sides("b", day=2), make_sides("c", day=3)])
    for cell in studies[2].results.cells:
        if cell.case.benchmark == "bw":
            cell.window = 32
    places, [restarted] = rows(studies, {(index, 0): index for index in range(3)})
    assert (restarted.curve.benchmark, restarted.session) == ("bw", 2)
    assert (restarted.before, restarted.now) == ("GB/s, window 64", "GB/s, window 32")
    place = next(place for place in places if place.owner[0] != CEILING)
    bw = next(curve for curve in place.curves if curve.curve.benchmark == "bw")
    assert np.isnan(bw.row).tolist() == [True, True, False]
