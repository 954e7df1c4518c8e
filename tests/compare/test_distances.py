# SPDX-License-Identifier: Apache-2.0
"""Launches of near and of far CPUs are compared like with like."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.compare import wording
from nearpeak.compare.build import compare
from nearpeak.compare.compared import Compared
from nearpeak.compare.load import load_side

MakeSides = Callable[..., Path]
CASES = 6  # of each launch's place


def compared(make_sides: MakeSides, factor: float) -> Compared:
    """Three sessions of each side, the new one with more launches of far CPUs."""
    old = [
        make_sides(f"old{day}", day=day, far=far) for day, far in ((1, [0]), (2, [1, 2]), (3, [5]))
    ]
    new = [
        make_sides(f"new{day}", day=day, far=far, factor=factor)
        for day, far in ((4, [0, 2, 3, 4]), (5, [1, 2, 3]), (6, [0, 1, 2, 3, 5]))
    ]
    return compare(load_side(old), load_side(new), 0.05)


def test_more_launches_of_far_cpus_are_no_change(make_sides: MakeSides) -> None:
    found = compared(make_sides, 1.0)
    for place in found.places:
        assert place.change.verdict == "equivalent"
        assert place.of_ceiling is None or place.of_ceiling.ratio == pytest.approx(1, abs=0.02)
    for place in found.places:
        assert [
            (distance.range_ns, distance.old, distance.new) for distance in place.distances
        ] == [
            ((60.0, 60.0), 14 * CASES, 6 * CASES),
            ((300.0, 300.0), 4 * CASES, 12 * CASES),
        ]
    assert not found.regressed
    moved = "Most core-to-core latencies are now others on host-host same-numa (see below)."
    assert moved in wording.limits(found)
    assert not any(place.inseparable for place in found.places)
    assert [distance.compared for distance in found.places[0].distances] == [True, False]
    for line in wording.distances(found):
        assert line.endswith("; compared at 60.0 ns alone")


def test_what_sides_have_no_distance_in_common_is_not_judged(make_sides: MakeSides) -> None:
    old = [make_sides(f"old{day}", day=day, far=[99]) for day in (1, 2, 3)]
    new = [make_sides(f"new{day}", day=day, far=range(6)) for day in (4, 5, 6)]
    found = compare(load_side(old), load_side(new), 0.05)
    for change in found.places[0].changes:
        assert (change.verdict, change.ci95, change.p_value) == ("undecided", None, 1.0)
    assert found.places[0].inseparable
    no_distance = "the sides have no core-to-core latency in common: measure"
    assert f"; not judged, as {no_distance}" in wording.distances(found)[0]
    assert list(wording.limits(found)) == []
    assert wording.conclusion(found).startswith(f"Nothing can be judged: {no_distance}")


def test_unknown_distances_change_nothing(make_sides: MakeSides) -> None:
    old = [make_sides(f"old{day}", day=day) for day in (1, 2, 3)]
    new = [make_sides(f"new{day}", day=day, far=[0, 1], factor=0.1) for day in (4, 5, 6)]
    found = compare(load_side(old), load_side(new), 0.05)
    [library] = found.libraries
    assert wording.distances(found)[0].endswith("; compared as measured")
    assert (library.change.verdict, library.change.regressed) == ("slower", True)
    assert library.change.ratio < 0.1
    assert [distance.range_ns for distance in library.distances] == [(60.0, 300.0), None]


def test_a_case_without_a_distance_has_that_of_its_block(make_sides: MakeSides) -> None:
    old = [make_sides(f"old{day}", day=day, far=[day], lost=1) for day in (1, 2, 3)]
    new = [make_sides(f"new{day}", day=day, far=[0, 1, 2]) for day in (4, 5, 6)]
    found = compare(load_side(old), load_side(new), 0.05)
    for line in wording.distances(found):
        assert line.endswith("; compared at 60.0 ns alone")


def test_a_loss_is_found_among_them(make_sides: MakeSides) -> None:
    found = compared(make_sides, 0.9)
    [library] = found.libraries
    assert library.change.verdict == "slower"
    assert library.change.ratio == pytest.approx(0.9, abs=0.02)
    assert library.of_ceiling is not None
    assert library.of_ceiling.ratio == pytest.approx(0.9, abs=0.02)
    assert found.regressed
    for curve in library.curves:
        for cell in curve.cells:
            better = max if cell.unit == "us" else min
            assert better(cell.old, cell.new) == cell.new


def test_a_change_of_near_launches_alone_is_judged_by_these(make_sides: MakeSides) -> None:
    """A side's libraries lose at far CPUs what the other's do not: no effect is common to both."""
    old = load_side([make_sides(f"old{day}", day=day, far=[0, 1]) for day in (1, 2, 3)])
    new = load_side(
        [make_sides(f"new{day}", day=day, far=[1, 2], factor=3.7, far_loss=5) for day in (4, 5, 6)]
    )
    found = compare(old, new, 0.05)
    [library] = found.libraries
    assert library.levelled == 0
    assert library.change.ratio == pytest.approx(3.7, rel=0.02)
    assert library.of_ceiling is not None
    assert library.of_ceiling.ratio == pytest.approx(3.7, rel=0.02)
    for curve in library.curves:
        for cell in curve.cells:
            assert cell.change.ratio == pytest.approx(3.7, rel=0.05)
            turned = cell.new / cell.old if cell.unit == "GB/s" else cell.old / cell.new
            assert turned == pytest.approx(3.7, rel=0.05)


def test_few_launches_there_have_those_elsewhere_with_the_effect_of_their_side(
    make_sides: MakeSides,
) -> None:
    old = load_side([make_sides(f"old{day}", day=day, far=[0, 1]) for day in (1, 2)])
    far = [1, 2, 3, 4]
    new = load_side(
        [make_sides(f"new{day}", day=day, far=far, factor=3.7, far_loss=5) for day in (3, 4)]
    )
    found = compare(old, new, 0.05)
    [library] = found.libraries
    assert library.levelled == CASES
    assert library.change.ratio == pytest.approx(3.7, rel=0.03)
    assert wording.distances(found)[0].endswith(
        "; compared at 60.0 ns: in 6 of 6 cases a side has fewer than 6 launches there, so the"
        " others are converted to it"
    )


def test_where_all_are_alike_there_is_nothing_to_say(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", day=1)])
    new = load_side([make_sides("new", day=2)])
    assert all(not place.distances for place in compare(old, new, 0.05).places)
