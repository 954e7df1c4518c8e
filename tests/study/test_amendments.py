# SPDX-License-Identifier: Apache-2.0
"""Blocks that are added to a study that ended, or was cut off."""

from types import ModuleType
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.planning.make import added
from nearpeak.planning.plan import Plan, Spare
from nearpeak.planning.templates import Eligibility
from nearpeak.study.amendments import CUT_OFF, amend, describe, extend
from nearpeak.study.history import History
from nearpeak.study.journal import NAME, read_records
from nearpeak.study.records import AmendmentRecord, LaunchRecord, SessionRecord


def launched(study: Any, role: str = "mpi") -> list[tuple[int, int]]:
    """Session and block of each launch."""
    return [
        (record.session, record.block)
        for record in study.records()
        if isinstance(record, LaunchRecord) and record.role == role
    ]


def test_blocks_are_added_to_a_study_that_ended(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    ended = study.run(plan)
    made = amend(History(study.folder, plan).state, ended.message, None, 4)
    assert made == AmendmentRecord(
        reason="all 2 blocks were run",
        budget_seconds=None,
        looks=[4],
        every=True,
        asked="--resume --launches 4",
    )
    assert describe(made) == "blocks until each case has 4 launches"
    end = study.run(plan, amendment=made)
    assert (end.status, end.message) == ("complete", "all 4 blocks were run")
    assert launched(study) == [(0, 0), (0, 1), (1, 2), (1, 3)]
    # In the order that one study of so many blocks would have had.
    numbers = [record.launch for record in study.records() if isinstance(record, LaunchRecord)]
    assert numbers == list(range(8))
    roles = [record.role for record in study.records() if isinstance(record, LaunchRecord)]
    assert roles == [launch.role for block in range(4) for launch in plan.block(block)]
    # It stands behind its session, and a third run finds nothing left.
    kinds = [type(record) for record in study.records()]
    at = kinds.index(AmendmentRecord)
    assert kinds[at - 1] is SessionRecord
    assert study.run(plan).message == "all 4 blocks were run"
    assert len(launched(study)) == 4


def test_time_is_added_for_what_is_not_precise(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender("good"), standins.contender("bad", "noisy"))
    plan.looks, plan.budget_seconds = [6, 9], 1000.0
    study.run(plan)
    assert len(launched(study)) == 9 + 9
    made = amend(History(study.folder, plan).state, "so", 1000.0, None)
    assert made.looks[:3] == [12, 18, 24]
    assert not made.every
    assert describe(made) == "blocks for 16m40s"
    made.looks = [12]
    study.run(plan, amendment=made)
    assert [launch for launch in launched(study) if launch[0] == 1] == [
        (1, block) for block in (9, 10, 11) for _ in plan.contenders
    ]


def test_launches_are_added_to_what_is_precise_too(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender("good"), standins.contender("bad", "noisy"))
    plan.looks = [6, 7]
    study.run(plan)
    made = amend(History(study.folder, plan).state, "so", None, 9)
    study.run(plan, amendment=made)
    assert [launch for launch in launched(study) if launch[0] == 1] == [
        (1, 7),
        (1, 7),
        (1, 8),
        (1, 8),
    ]
    assert len(launched(study, "ceiling")) == 9


def test_what_was_given_up_stays_so(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(
        standins.contender("good"), standins.contender("bad", "crash"), launches=4
    )
    study.run(plan)
    study.run(plan, amendment=amend(History(study.folder, plan).state, "so", None, 6))
    assert len([launch for launch in launched(study) if launch[0] == 1]) == 2


def test_added_time_counts_from_where_it_was_added(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender("bad", "noisy"), launches=5)
    plan.looks, plan.budget_seconds = [6, 9], 0.001
    assert study.run(plan).message.startswith("the budget is spent after 2 blocks")
    before = History(study.folder, plan).state
    made = amend(before, "so", 100.0, None)
    made.looks = [3]
    assert study.run(plan, amendment=made).message.startswith("all 3 blocks were run")
    state = History(study.folder, plan).state
    assert state.budget_seconds == before.seconds + 100
    assert state.seconds > before.seconds


def test_there_must_be_something_to_add(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=3)
    study.run(plan)
    state = History(study.folder, plan).state
    assert (state.begun_blocks, state.whole_blocks) == (3, 3)
    for launches in (2, 3):
        with pytest.raises(UserError, match=r"has 3 blocks already: add some with --launches 4 or"):
            amend(state, "", None, launches)
    assert amend(state, "", None, 4).reason == CUT_OFF


def test_a_changed_amendment_is_noticed(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    study.run(plan)
    study.run(plan, amendment=amend(History(study.folder, plan).state, "so", None, 3))
    file = study.folder / NAME
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b'"amendment"' in line)
    # Also where nothing follows it.
    file.write_bytes(b"".join([*lines[:at], lines[at].replace(b'"so"', b'"no"')]))
    with pytest.raises(UserError, match=f"line {at + 1} cannot be believed .*was changed after"):
        list(read_records(study.folder))


@pytest.mark.parametrize("looks", [[], [0], [9, 6], [6, 6]])
def test_an_amendment_that_cannot_be_is_refused(
    study: Any, standins: ModuleType, looks: list[int]
) -> None:
    plan = standins.small_plan(launches=2)
    study.run(plan)
    bad = AmendmentRecord(reason="so", budget_seconds=None, looks=looks, every=False)
    with pytest.raises(ValueError, match="looks"):
        study.run(plan, amendment=bad)


def test_what_was_left_out_stays_so(study: Any, standins: ModuleType) -> None:
    paths = (standins.data_path(), standins.data_path("host-host two", "memory"))
    plan = standins.small_plan(launches=3, paths=paths)
    plan.budget_seconds = 0.001
    plan.spare = [Spare(kind="path", name="host-host two", why="so", paths=["host-host two"])]
    study.run(plan)
    study.run(plan, amendment=amend(History(study.folder, plan).state, "so", None, 4))
    later = [
        record
        for record in study.records()
        if isinstance(record, LaunchRecord) and record.block > 0
    ]
    assert [(launch.block, launch.path) for launch in later if launch.role == "mpi"] == [
        (block, "host-host same-numa") for block in (1, 2, 3)
    ]
    assert {launch.path for launch in later} == {"host-host same-numa"}


def extended(study: Any, standins: ModuleType, plan: Plan, *how: Any) -> AmendmentRecord:
    """Adds a library to a study."""
    before = History(study.folder, plan)
    new = [standins.contender("new")]
    adds = added(plan, new, [], Eligibility(), before.state.begun_blocks)
    made = extend(before.state, before.ended, adds, *how)
    study.run(plan.grown(adds), amendment=made)
    return made


def test_a_library_is_measured_with_all_that_are_there(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender("good"), standins.contender("bad", "crash"))
    plan.looks = [6, 9]
    study.run(plan)
    made = extended(study, standins, plan, None, None)
    # What was given up stays so; three contenders are judged by 7 blocks.
    assert (made.looks, made.every) == ([13], True)
    assert made.asked == "--extend --mpi new"
    assert describe(made) == "new and blocks until each new case has 7 launches"
    found = [
        (record.block, record.library or record.role)
        for record in study.records()
        if isinstance(record, LaunchRecord) and record.session == 1
    ]
    assert sorted(found) == [
        (block, name) for block in range(6, 13) for name in ("ceiling", "good", "new")
    ]


def test_two_blocks_with_a_library_are_measured_whatever_the_budget(
    study: Any, standins: ModuleType
) -> None:
    plan = standins.small_plan(standins.contender("bad", "noisy"), launches=3)
    study.run(plan)
    made = extended(study, standins, plan, 0.001, None)
    assert made.looks[:4] == [9, 12, 15, 21]
    assert describe(made) == "new and blocks for 0.0 s"
    assert [launch for launch in launched(study) if launch[0] == 1] == [
        (1, block) for block in (3, 3, 4, 4)
    ]


def test_launches_are_added_to_blocks_that_were_not_begun(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    study.run(plan)
    adds = added(plan, [standins.contender("new")], [], Eligibility(), 1)
    made = extend(History(study.folder, plan).state, "so", adds, None, 2)
    with pytest.raises(ValueError, match="it adds launches to the first 2 blocks"):
        study.run(plan.grown(adds), amendment=made)
