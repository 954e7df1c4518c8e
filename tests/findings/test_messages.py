# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Which of many messages is told."""

from typing import Any

import msgspec
import pytest

from nearpeak.terms.identity import Who


def test_of_a_library_on_a_path_the_message_with_the_largest_share_is_told(by_hand: Any) -> None:
    shares = {8: 40.0, 1024: 60.0, 4096: 50.0}
    explanations = [
        by_hand.explained(by_hand.part("wait", "sched_yield", share), size=size)
        for size, share in shares.items()
    ]
    [found] = by_hand.signs("yields", *explanations)
    assert found.who == Who("one", "default")
    assert found.case is not None
    assert (found.case.x, found.case.buffers, found.case.benchmark) == (1024, "H,D", "latency")
    assert found.place is not None
    assert found.place.path == "host-gpu near"


def told(by_hand: Any, **of_case: Any) -> list[Any]:
    part = by_hand.part("wait", "sched_yield", 60.0)
    found: list[Any] = by_hand.signs("yields", by_hand.explained(part, **of_case))
    return found


def test_what_it_takes_of_a_message_is_told(by_hand: Any) -> None:
    [found] = told(by_hand, slower=1.25)
    assert found.message.share == pytest.approx(0.6)
    assert found.message.lost_us == pytest.approx(48.0)


@pytest.mark.parametrize(
    "of_case",
    [
        {"lost": 1},
        {"missing": [0]},
        {"failed": "exit status 1"},
        {"device": "no CUPTI"},
        {"dropped": 1},
        {"unfinished": [1]},
        {"slower": 0.5},
        {"slower": 5.0},
    ],
)
def test_a_doubtful_explanation_tells_nothing(by_hand: Any, of_case: Any) -> None:
    assert told(by_hand)
    assert told(by_hand, **of_case) == []


def test_a_message_of_which_nothing_is_known_tells_nothing(by_hand: Any) -> None:
    known = {"accounted_least": 0.1, "accounted_most": 0.8}
    assert told(by_hand, **known)
    assert told(by_hand, **known | {"accounted_most": 1.0}) == []
    assert told(by_hand, accounted_least=0.0, accounted_most=0.0)  # all of it waits
    explained = by_hand.explained(by_hand.part("wait", "sched_yield", 60.0))
    (budget,) = explained.cases[0].budgets
    budget.accounted_least, budget.accounted_most = 0.0, 1.0
    assert by_hand.signs("yields", explained) == []


@pytest.mark.parametrize("field", ["library", "settings", "version", "path"])
def test_one_of_what_the_study_does_not_have_tells_nothing(by_hand: Any, field: str) -> None:
    given = by_hand.explained(by_hand.part("wait", "sched_yield", 60.0))
    assert by_hand.signs("yields", given)
    assert by_hand.signs("yields", msgspec.structs.replace(given, **{field: "another"})) == []


@pytest.mark.parametrize(
    ("of_case", "sure"),
    [
        ({"messages": 10}, True),
        ({"messages": 9}, False),
        ({"slower": 1.7}, True),  # 0.6 of 1.7, of which 0.7 may be the microscope's
        ({"slower": 1.8}, False),
        ({"slower": 1.5, "slower_most": 1.7}, True),
        ({"slower": 1.5, "slower_most": 1.8}, False),  # by the launches that differ most
        ({"seen_values": [100.0, 100.0]}, False),
        ({"slower_most": None}, False),
    ],
)
def test_few_messages_and_what_the_microscope_may_add_leave_doubt(
    by_hand: Any, of_case: Any, sure: bool
) -> None:
    [found] = told(by_hand, **of_case)
    assert found.sure is sure


def test_what_is_sure_is_told_before_a_larger_share(by_hand: Any) -> None:
    few = by_hand.explained(by_hand.part("wait", "sched_yield", 90.0), size=8, messages=1)
    many = by_hand.explained(by_hand.part("wait", "sched_yield", 60.0), size=64)
    [found] = by_hand.signs("yields", few, many)
    assert found.case.x == 64


@pytest.mark.parametrize(("own", "told_of"), [(False, 1), (True, 0)])
def test_what_the_benchmark_does_itself_is_not_the_librarys(
    by_hand: Any, own: bool, told_of: int
) -> None:
    part = by_hand.part("wait", "sched_yield", 60.0, own=own)
    assert len(by_hand.signs("yields", by_hand.explained(part))) == told_of


def test_of_a_message_there_its_own_share_of_the_microscope_counts(by_hand: Any) -> None:
    explained = by_hand.explained(by_hand.part("wait", "sched_yield", 60.0), slower=1.2)
    explained.cases[0].budgets[0].slower = 2.0
    [found] = by_hand.signs("yields", explained)
    assert not found.sure
    assert (found.message.slower, found.message.lost_us) == (2, pytest.approx(30))


@pytest.mark.parametrize(
    ("back_us", "buffers", "ways"),
    [
        (30.0, "H,D", [("to GPU", "100 µs"), ("from GPU", "30.0 µs")]),
        (301.0, "D,H", [("from GPU", "100 µs"), ("to GPU", "301 µs")]),
        (40.0, "H,D", []),
        (30.0, "D,D", []),  # of like memories both directions are the same
    ],
)
def test_directions_that_differ_much_are_told(
    by_hand: Any, back_us: float, buffers: str, ways: list[tuple[str, str]]
) -> None:
    wait = by_hand.part("wait", "sched_yield", 60.0)
    explained = by_hand.explained(wait, buffers=buffers)
    case = explained.cases[0]
    case.budgets.append(
        msgspec.structs.replace(case.budgets[0], leg="back", time_us=back_us, parts=[])
    )
    [found] = by_hand.signs("yields", explained)
    assert [(fact.name, fact.value) for fact in found.facts if fact.of == "way"] == ways
