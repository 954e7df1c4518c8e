# SPDX-License-Identifier: Apache-2.0
"""Since when something fails."""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from nearpeak.compare.failures import Launched
from nearpeak.compare.load import Study, load_side
from nearpeak.history import wording
from nearpeak.history.build import build
from nearpeak.history.courses import Fact, Failing, History
from nearpeak.history.failures import find
from nearpeak.history.outcomes import to_junit
from nearpeak.terms.identity import Case, Place, Who
from nearpeak.terms.outcomes import Lost

MakeSides = Callable[..., Path]
ALPHA, HERE = Who("alpha"), Place(path="here")
BLOCKS = 3
Ends = Iterable[Lost | None]


def case(size: int, benchmark: str = "bw") -> Case:
    return Case(benchmark=benchmark, metric="", x=size, buffers="H,H", axes={})


CASES = [case(8), case(64), case(8, "latency")]


def launch(block: int, end: Lost | None, at: Case | None = None) -> Launched:
    """A launch of all cases; a failure without a case came before all of them."""
    made = Launched(ALPHA, HERE, 0, block, set(CASES), set(CASES))
    if end:
        made.failed = {(end, at)}
        made.reached = {one for one in CASES if at and one != case(64)} | ({at} if at else set())
    return made


def study(ends: Ends, at: Case | None = None) -> Study:
    results = cast(Any, SimpleNamespace(benchmarks=[]))
    return Study(Path(), results, [launch(block, end, at) for block, end in enumerate(ends)])


def found(*studies: Study, facts: Iterable[Fact] = (), first: int = 0) -> list[Failing]:
    numbers = {(index, 0): index for index in range(len(studies))}
    return find(studies, numbers, facts, first)


WELL = study([None] * BLOCKS)
DEAD = study(["crashed"] * BLOCKS)


def test_a_library_that_fails_in_every_launch_of_the_newest_session_fails_at_once() -> None:
    [failing] = found(*[WELL] * 3, DEAD)
    assert (failing.who, failing.curve, failing.session) == (ALPHA, None, 3)
    assert (failing.ended, failing.regressed) == (["crashed"], True)
    counts = failing.failed, failing.tried, failing.failed_before, failing.tried_before
    assert counts == (3, 3, 0, 9)
    assert found(*[WELL] * 3, DEAD, WELL) == []
    assert found(*[DEAD] * 4) == []
    assert not found(*[WELL] * 3, DEAD, first=4)[0].regressed


def test_a_case_that_fails_is_named() -> None:
    [failing] = found(*[WELL] * 3, study(["crashed"] * BLOCKS, case(64)))
    assert failing.curve == case(64).curve
    assert failing.sizes == [64]
    assert wording.failing_subject(failing) == "alpha on here, bw at 64 B"


def test_one_launch_of_three_that_crashes_is_noticed_after_a_few_sessions() -> None:
    sometimes = study([None, "crashed", None])
    assert found(*[WELL] * 20, sometimes) == []
    [failing] = found(*[WELL] * 20, *[sometimes] * 5)
    assert (failing.session, failing.failed, failing.tried) == (20, 5, 15)
    assert found(*[sometimes] * 20) == []
    assert found(*[WELL] * 20, *[sometimes] * 5, *[WELL] * 4) == []


def test_wrong_data_fails_at_once_and_for_good() -> None:
    wrong = study([None, None, "wrong data"])
    [failing] = found(WELL, wrong, *[WELL] * 9)
    assert (failing.session, failing.ended) == (1, ["wrong data"])
    assert not found(WELL, wrong, WELL, first=2)[0].regressed


def test_failures_by_chance_are_seldom_reported() -> None:
    chance = np.random.default_rng(5)
    alarms = 0
    for _ in range(100):
        fails = chance.random((30, BLOCKS)) < 0.05
        nights = [study(["hung" if one else None for one in night]) for night in fails]
        alarms += bool(found(*nights))
    assert alarms <= 3


def test_facts_that_changed_since_the_last_good_session_are_candidates() -> None:
    facts = [
        Fact(session=session, part="driver", name=name, before="1", now="2")
        for session, name in ((2, "early"), (4, "then"), (5, "later"))
    ]
    [failing] = found(*[WELL] * 3, study([]), DEAD, DEAD, facts=facts)
    assert [fact.name for fact in failing.candidates] == ["then"]
    assert "changed then: driver then: 1 -> 2" in wording.failure(failing, history(6))


def history(sessions: int) -> History:
    started = SimpleNamespace(started="2026-01-20")
    return cast(History, SimpleNamespace(sessions=[started] * sessions))


def test_a_failure_is_the_headline_and_fails_in_junit(make_sides: MakeSides) -> None:
    made = [make_sides(f"day{day}", day=day, blocks=3) for day in (1, 2)]
    made.append(make_sides("day3", day=3, blocks=3, crashed=("alpha",)))
    judged = build(load_side(made), 0.05)
    assert judged.status == 1
    place = "alpha on host-host same-numa"
    assert wording.conclusion(judged).startswith(f"Failed since 2026-01-03: {place}, bw")
    assert 'type="failing"' in to_junit(judged)
    assert build(load_side(made), 0.05, since="2026-01-04").status == 3


def test_one_failed_launch_of_three_discards_no_figure(make_sides: MakeSides) -> None:
    made = [make_sides(f"day{day}", day=day, blocks=3) for day in (1, 2)]
    made.append(make_sides("day3", day=3, blocks=3, crashed=("alpha",), crashes=(1,)))
    [alpha] = build(load_side(made), 0.05).libraries
    assert all(None not in course.values for course in alpha.courses)
