# SPDX-License-Identifier: Apache-2.0
"""A record that is none of its study is refused; the others are taken in once."""

from types import ModuleType

import pytest

from nearpeak.launching.fingerprints import Fingerprint
from nearpeak.planning.plan import Plan
from nearpeak.study.launched import Launched
from nearpeak.study.recording import Follower, Recording
from nearpeak.study.records import (
    SCHEMA,
    AmendmentRecord,
    LaunchEndRecord,
    LaunchRecord,
    LeftOutRecord,
    Record,
    SessionRecord,
    StudyEndRecord,
    StudyRecord,
)
from nearpeak.study.templates import launch_record

NOTHING = Fingerprint(machine={}, driver={}, library={}, build={}, environment={})


@pytest.fixture
def plan(standins: ModuleType) -> Plan:
    made: Plan = standins.small_plan(launches=2)
    return made


def session(number: int = 0) -> SessionRecord:
    return SessionRecord(session=number, started="now", nearpeak="0", fingerprint=NOTHING)


def launch(plan: Plan, of: int = 0) -> LaunchRecord:
    return launch_record(plan, plan.block(0)[0], 0, "run", "now", of)


def amendment(*looks: int) -> AmendmentRecord:
    return AmendmentRecord(reason="so", budget_seconds=None, looks=[*looks], every=False)


def end(number: int = 0) -> LaunchEndRecord:
    return LaunchEndRecord(
        launch=number, status="ok", exit_status=0, seconds=1.0, message="", log=None
    )


class Course(Follower):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def begin_session(self) -> None:
        self.heard.append("session")

    def amend(self, amendment: AmendmentRecord) -> None:
        self.heard.append(f"looks {amendment.looks}")

    def begin(self, launch: Launched) -> None:
        self.heard.append(f"begin {launch.id.block}")

    def end(self, launch: Launched, record: LaunchEndRecord) -> None:
        self.heard.append(f"end {launch.status} {record.seconds}")

    def close(self) -> None:
        self.heard.append("close")


def test_a_follower_hears_of_a_study_in_order(plan: Plan) -> None:
    course = Course()
    recording = Recording(plan, course)
    stopped = StudyEndRecord(status="interrupted", message="stopped")
    for record in (session(), launch(plan), stopped):
        recording.take(record)
    assert (recording.over, recording.ended) == (False, "stopped")
    for record in (session(1), amendment(3), launch(plan, 1), end()):
        recording.take(record)
    assert (recording.over, recording.ended) == (False, "")
    recording.take(StudyEndRecord(status="complete", message="done"))
    assert (recording.over, recording.ended) == (True, "done")
    assert course.heard == [
        *("session", "begin 0", "session", "looks [3]", "begin 0", "end ok 1.0", "close")
    ]
    assert [launch.over for launch in recording.launches] == [False, True]
    assert list(recording.amendments) == [1]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (
            StudyRecord(schema=SCHEMA, id="other", nearpeak="0", started="now", seed=1),
            "two different studies",
        ),
        (session(2), "session 2 follows 0"),
        (amendment(), "are no numbers of blocks that grow"),
        (amendment(6, 3), "are no numbers of blocks that grow"),
        (LeftOutRecord(block=1, spare=0, budget_seconds=1.0), "the plan has no spare 0"),
        (end(), "it belongs to launch 0, which never began"),
    ],
)
def test_a_record_that_cannot_be_is_refused(plan: Plan, record: Record, why: str) -> None:
    recording = Recording(plan)
    recording.take(session())
    with pytest.raises(ValueError, match=why):
        recording.take(record)


def test_a_launch_is_of_the_last_session(plan: Plan) -> None:
    recording = Recording(plan)
    recording.take(session())
    recording.take(session(1))
    with pytest.raises(ValueError, match="launch 0 is of session 0, which is not the one"):
        recording.take(launch(plan))
    recording.take(launch(plan, 1))
    with pytest.raises(ValueError, match="it belongs to launch 1, which never began"):
        recording.take(end(1))
