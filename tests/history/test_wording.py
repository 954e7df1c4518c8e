# SPDX-License-Identifier: Apache-2.0
"""Sentences about a history."""

from pathlib import Path

from nearpeak.compare.load import load_side
from nearpeak.history import wording
from nearpeak.history.build import build
from nearpeak.history.courses import Event, Fact, Part
from nearpeak.terms.identity import CEILING, Place, Who

PLACE = Place(path="here")


def part(who: Who, place: Place) -> Part:
    return Part(
        who=who, place=place, curve=None, case=None, ratio=0.9, ratio_now=0.9, regressed=True
    )


def event(*parts: Part, candidates: int = 0) -> Event:
    facts = [
        Fact(session=1, part="driver", name=f"d{index}", before="1", now="2")
        for index in range(candidates)
    ]
    return Event(
        session=1, first=1, last=2, slower=1, faster=0, parts=list(parts), candidates=facts
    )


def test_a_part_is_named_as_narrowly_as_it_changed(nightly: Path) -> None:
    history = build(load_side([nightly]), 0.05)
    place = history.libraries[0]
    curve = place.curves[0]
    narrow = Part(
        who=place.who,
        place=place.place,
        curve=curve.curve,
        case=curve.cases[0].case,
        ratio=0.9,
        ratio_now=0.9,
        regressed=True,
    )
    name = "alpha on host-host same-numa, latency"
    assert wording.subject(narrow, history) == f"{name} at 1 KiB"
    place.curves.append(curve)
    assert wording.subject(narrow, history).startswith(f"{name} (H,H, calls=blocking")


def test_many_candidates_are_counted() -> None:
    assert wording.reasons(event().candidates) == ""
    assert wording.reasons(event(candidates=1).candidates) == "changed then: driver d0: 1 -> 2"
    assert wording.reasons(event(candidates=5).candidates).endswith("; 2 more (--verbose)")


def test_a_path_that_changed_is_told_from_a_library(nightly: Path) -> None:
    history = build(load_side([nightly]), 0.05)
    who, place = history.libraries[0].who, history.libraries[0].place
    alpha, ceiling = part(who, place), part(CEILING, place)
    assert wording.ceiling(event(alpha), alpha, history) == "the path did not change"
    assert wording.ceiling(event(alpha, ceiling), alpha, history) == "the path changed with it"
    assert wording.ceiling(event(ceiling), ceiling, history) == ""
    elsewhere = part(Who("mpich"), PLACE)
    assert wording.ceiling(event(elsewhere), elsewhere, history) == ""


def test_a_path_that_lost_as_much_without_significance_is_no_excuse(nightly: Path) -> None:
    history = build(load_side([nightly]), 0.05)
    alpha = part(history.libraries[0].who, history.libraries[0].place)
    course = history.ceilings[0].course
    course.values = [
        value and (0.92 if index > 18 else 1.0) for index, value in enumerate(course.values)
    ]
    at_step = event(alpha)
    at_step.session = 19
    assert wording.ceiling(at_step, alpha, history) == "the path may have changed with it"
