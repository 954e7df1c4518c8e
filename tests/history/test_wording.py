# SPDX-License-Identifier: Apache-2.0
"""Sentences about a history."""

from pathlib import Path

import pytest

from nearpeak.compare.load import load_side
from nearpeak.history import wording
from nearpeak.history.build import build
from nearpeak.history.courses import Event, Fact, History, LeftOut, Part, Restarted
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


def said(history: History) -> str:
    return " ".join(wording.limits(history))


@pytest.fixture
def judged(nightly: Path) -> History:
    return build(load_side([nightly]), 0.05)


def test_correlated_sessions_have_another_error_rate(judged: History) -> None:
    judged.correlation = 0.1
    assert "at most 1 % of looks" in said(judged)
    judged.correlation = 0.6
    assert "1 % of looks" not in said(judged)
    assert "Neighbouring sessions are alike (correlation 0.600)" in said(judged)


def test_short_histories_say_how_long_a_loss_has_to_last(judged: History) -> None:
    judged.events = []
    judged.seen_after = 4
    assert "in which only a loss that lasted 4 can be found" in wording.conclusion(judged)
    judged.seen_after = 3
    assert "lasted" not in wording.conclusion(judged)


def test_alternating_hosts_are_a_limit(judged: History) -> None:
    for index, session in enumerate(judged.sessions):
        session.host = f"node{index > 18}"
    assert "alternate" not in said(judged)
    for index, session in enumerate(judged.sessions):
        session.host = f"node{index % 2}"
    assert "Sessions of 2 hosts alternate" in said(judged)


def test_what_does_not_count_is_named(judged: History) -> None:
    place = judged.libraries[0]
    judged.left_out = [LeftOut(folder="killed", why="no records")]
    judged.restarted = [
        Restarted(
            who=place.who,
            place=place.place,
            curve=place.curves[0].curve,
            session=23,
            before="GB/s, window 64",
            now="GB/s, window 32",
        )
    ]
    assert "Left out: killed (no records)." in said(judged)
    restarted = "since session 24 (GB/s, window 64 -> GB/s, window 32); earlier sessions do not"
    assert restarted in said(judged)
