# SPDX-License-Identifier: Apache-2.0
"""Which tries count, and what failed in them."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from nearpeak.compare.failures import Launched, find, launched
from nearpeak.observations.sources.study import load
from nearpeak.statistics.counts import RUN
from nearpeak.study.schedule import GIVE_UP_AFTER
from nearpeak.terms.identity import CEILING, Case, Place, Who

WHO, PLACE = Who("alpha"), Place(path="here")


def case(benchmark: str, x: int = 8) -> Case:
    return Case(benchmark=benchmark, metric="", buffers="H,H", axes={}, x=x)


BW, LATENCY, LARGE = case("bw"), case("latency"), case("bw", 1024)
ALL = (BW, LATENCY)


def launch(
    block: int,
    *failed: tuple[str, Case | None],
    asked: Collection[Case] = ALL,
    reached: Collection[Case] | None = None,
) -> Launched:
    cases = set(asked if reached is None else reached)
    return Launched(WHO, PLACE, 0, block, set(asked), cases, set(failed))


def crash(block: int, at: Case, **options: Any) -> Launched:
    return launch(block, ("crashed", at), **options)


GOOD = [launch(block) for block in range(6)]


def counted(old: list[Launched], new: list[Launched]) -> dict[str, tuple[int, int, int, int]]:
    """Of what failed: failed and tried before, and now."""
    return {
        failing.curve.benchmark if failing.curve else "": (
            failing.old.failed,
            failing.old.tried,
            failing.new.failed,
            failing.new.tried,
        )
        for failing in find([old], [new], {})
    }


def test_a_curve_is_judged_by_the_launches_that_came_to_it() -> None:
    # bw is given up after three crashes; latency goes on.
    new = [crash(block, BW) for block in range(3)]
    new += [launch(block, asked=[LATENCY]) for block in range(3, 12)]
    old = [launch(block) for block in range(12)]
    found = find([old], [new], {})
    assert counted(old, new) == {"": (0, 12, 3, 12), "bw": (0, 12, 3, 3)}
    assert [(failing.curve is None, failing.regressed) for failing in found] == [
        (False, True),
        (True, False),
    ]
    assert [(end.status, end.case, end.tries) for end in found[0].new.ended] == [("crashed", BW, 3)]


def test_a_launch_that_came_to_nothing_failed_in_all_of_it_which_is_one_question() -> None:
    new = [launch(block, ("hung", None), reached=[]) for block in range(3)]
    [found] = find([GOOD], [new], {})
    assert (found.curve, found.new.failed, found.new.tried) == (None, 3, 3)
    assert found.p_adjusted == pytest.approx(1 / 84)


def test_a_failure_in_no_case_after_some_is_of_no_curve() -> None:
    new = [launch(0, ("crashed", None), reached=[BW]), *GOOD[1:]]
    assert counted(GOOD, new) == {"": (0, 6, 1, 6)}


def test_what_was_not_reached_was_not_tried() -> None:
    new = [crash(block, BW, reached=[BW]) for block in range(6)]
    assert counted(GOOD, new) == {"": (0, 6, 6, 6)}  # latency has no try, bw the same answers


def test_what_one_side_alone_was_to_measure_does_not_count() -> None:
    new = [crash(block, LARGE, asked=[*ALL, LARGE]) for block in range(6)]
    assert find([GOOD], [new], {}) == []
    elsewhere = [crash(block, BW) for block in range(6)]
    for launch in elsewhere:
        launch.place = Place(path="there")
    assert find([GOOD], [elsewhere], {}) == []


def test_several_launches_of_a_block_are_one_try() -> None:
    apart = [launch(block, asked=[case]) for block in range(6) for case in ALL]
    apart[0].failed, apart[1].failed = {("crashed", BW)}, {("hung", LATENCY)}
    assert counted(GOOD, apart)[""] == (0, 6, 1, 6)


def test_a_ceiling_that_did_not_start_was_to_measure_nothing_known() -> None:
    def ceiling(block: int, *failed: tuple[str, Case | None]) -> Launched:
        asked = set[Case]() if failed else {BW}
        return Launched(CEILING, PLACE, 0, block, asked, set(asked), set(failed))

    new = [ceiling(block, ("crashed", None)) for block in range(3)]
    new += [ceiling(block) for block in range(3, 6)]
    assert counted([ceiling(block) for block in range(6)], new) == {"": (0, 6, 3, 6)}
    never = [ceiling(block, ("crashed", None)) for block in range(6)]
    assert counted([ceiling(block) for block in range(6)], never) == {"": (0, 6, 6, 6)}
    assert counted(never, [ceiling(block) for block in range(6)]) == {}
    assert counted(never, never) == {"": (6, 6, 6, 6)}


def test_studies_and_sessions_have_blocks_of_their_own() -> None:
    more = [launch(block) for block in range(6)]
    for ended in more:
        ended.session = 1
    [found] = find([GOOD + more, GOOD], [[crash(0, BW)]], {})
    assert found.old.tried == 18


def test_wrong_data_is_a_fact_of_its_curve() -> None:
    def wrong(block: int, at: Case) -> Launched:
        return launch(block, ("wrong data", at))

    [whole] = find([GOOD], [[wrong(0, BW), *GOOD[1:]]], {})
    assert (whole.curve, whole.wrong_data, whole.regressed) == (None, True, True)
    same = find([[wrong(0, BW), *GOOD[1:]]], [[wrong(1, BW)]], {})
    assert not any(failing.wrong_data for failing in same)
    other = find([[wrong(0, BW), *GOOD[1:]]], [[wrong(1, LATENCY), GOOD[2]]], {})
    named = {
        failing.curve.benchmark if failing.curve else "" for failing in other if failing.wrong_data
    }
    assert named == {"latency"}


def test_what_crashes_once_in_a_while_is_no_regression_beside_what_always_does() -> None:
    # The study of one side gives up, the other has many libraries with one crash each.
    others = []
    for number in range(100):
        ended = crash(0, BW)
        ended.who = Who(f"other{number}")
        rest = [launch(block) for block in range(1, 6)]
        for each in rest:
            each.who = ended.who
        others += [ended, *rest]
    good = [launch(block) for block in range(6)]
    old = []
    for other in others:
        copy = launch(other.block)
        copy.who = other.who
        old.append(copy)
    found = find([[*good, *old]], [[*(crash(block, BW) for block in range(3)), *others]], {})
    assert [failing.who for failing in found if failing.regressed] == [WHO]


def test_that_all_libraries_are_dead_is_a_regression() -> None:
    """However many there are: a study gives each up after three blocks."""
    old, new = [], []
    for number in range(24):
        for block in range(10):
            old.append(launch(block))
            old[-1].who = Who(f"library{number}")
        for block in range(3):
            new.append(launch(block, ("crashed", None), reached=[]))
            new[-1].who = Who(f"library{number}")
    found = find([old], [new], {})
    assert len(found) == 24
    assert all(failing.regressed for failing in found)
    one_failed_before = find([[*old, crash(10, BW)]], [[*new, crash(3, BW)]], {})
    assert all(failing.regressed for failing in one_failed_before if failing.who != WHO)
    few = find([old], [[each for each in new if each.block < 2]], {})
    assert not any(failing.regressed for failing in few)  # nor is there proof of it


def test_a_run_is_what_a_study_gives_up_after() -> None:
    assert RUN == GIVE_UP_AFTER


def test_launches_of_a_study(make_study: Callable[..., Any]) -> None:
    study = make_study("alpha")
    study.launch(0, "alpha", "bw", {1024: 1.0, 4096: 2.0}, then=("latency",))
    second = study.launch(1, "alpha", "bw", {1024: 1.0}, status=None)
    study.begins(second, "bw", 4096)
    study.end(second, "crashed")
    third = study.launch(2, "alpha", "bw", status=None)
    study.problem(third, "bw", 1024, "wrong data")
    study.problem(third, "bw", 4096, "aborted: too slow")
    study.end(third, "ok")
    study.launch(3, "alpha", "bw", status="hung")
    study.launch(4, "alpha", "bw", {1024: 1.0}, status="interrupted")
    study.ceiling(5, {("bw", "ring", 1024): 10.0})
    folder: Path = study.write()
    found = launched(load(folder))
    assert [launch.block for launch in found] == [0, 1, 2, 3, 5]
    ends = [{(how, at and (at.benchmark, at.x)) for how, at in launch.failed} for launch in found]
    assert ends[1] == {("crashed", ("bw", 4096))}
    assert ends[2] == {("wrong data", ("bw", 1024)), ("aborted: too slow", ("bw", 4096))}
    assert ends[3] == {("hung", None)}
    assert {(at.benchmark, at.x) for at in found[1].reached} == {("bw", 1024), ("bw", 4096)}
    assert found[3].reached == set()
    assert {at.x for at in found[3].asked} == {1024, 4096}
    assert found[4].who == CEILING
    assert not any(at.metric for launch in found for at in launch.asked)
