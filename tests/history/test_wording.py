# SPDX-License-Identifier: Apache-2.0
"""Sentences about a history."""

from nearpeak.history import wording
from nearpeak.history.courses import Event, Fact, Part
from nearpeak.terms.identity import CEILING, Curve, Place, Who

PLACE = Place(path="here")
CURVE = Curve(benchmark="bw", metric="bw", buffers="D,D", axes={})


def part(who: Who, curve: Curve | None = None) -> Part:
    case = None if curve is None else curve.at(4096)
    return Part(who=who, place=PLACE, curve=curve, case=case, ratio=0.9, regressed=True)


def event(*parts: Part, candidates: int = 0) -> Event:
    facts = [
        Fact(session=1, part="driver", name=f"d{index}", before="1", now="2")
        for index in range(candidates)
    ]
    return Event(
        session=1, first=1, last=2, slower=1, faster=0, parts=list(parts), candidates=facts
    )


def test_a_part_is_named_as_narrowly_as_it_changed() -> None:
    mpich = Who("mpich")
    assert wording.subject(part(mpich)) == f"mpich on {PLACE.path}"
    assert wording.subject(part(mpich, CURVE)).endswith(", at 4 KiB")


def test_many_candidates_are_counted() -> None:
    assert wording.reasons(event()) == ""
    assert wording.reasons(event(candidates=1)) == "changed then: driver d0: 1 -> 2"
    assert wording.reasons(event(candidates=5)).endswith("; 2 more (--verbose)")


def test_a_path_that_changed_is_told_from_a_library() -> None:
    mpich, ceiling = part(Who("mpich")), part(CEILING)
    assert wording.ceiling(event(mpich), mpich) == "the path did not change"
    assert wording.ceiling(event(mpich, ceiling), mpich) == "the path changed with it"
    assert wording.ceiling(event(ceiling), ceiling) == ""
