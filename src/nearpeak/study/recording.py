# SPDX-License-Identifier: Apache-2.0
"""The records of a study, each checked against the plan and taken in once.

What a record means is decided here: who needs more than the recording itself follows it.
"""

from pathlib import Path

from nearpeak.launching.program_records import (
    CaseRecord,
    EnvironmentRecord,
    ProblemRecord,
    SamplesRecord,
)
from nearpeak.planning.plan import Plan
from nearpeak.study.journal import read_records
from nearpeak.study.launched import Launched
from nearpeak.study.records import (
    AmendmentRecord,
    LaunchEndRecord,
    LaunchRecord,
    LeftOutRecord,
    Record,
    SessionRecord,
    StudyEndRecord,
    StudyRecord,
)
from nearpeak.study.templates import Templates


class Follower:
    """Follows the course of a study; this one does nothing."""

    def begin_session(self) -> None:
        """Takes in that a session begins."""

    def amend(self, amendment: AmendmentRecord) -> None:
        """Takes in that the plan grows."""

    def leave_out(self, left_out: LeftOutRecord) -> None:
        """Takes in that a part is not measured any more."""

    def begin(self, launch: Launched) -> None:
        """Takes in that a launch begins."""

    def end(self, launch: Launched, record: LaunchEndRecord) -> None:
        """Takes in that a launch is over."""

    def close(self) -> None:
        """Takes in that the study ended, uninterrupted."""


class Recording:
    """The content of a study's records so far."""

    def __init__(self, plan: Plan, follower: Follower | None = None) -> None:
        self.start: StudyRecord | None = None
        self.sessions: list[SessionRecord] = []
        self.amendments: dict[int, AmendmentRecord] = {}  # by session
        self.left_out: list[LeftOutRecord] = []
        self.launches: list[Launched] = []  # all tries
        # How the study ended; None: it goes on, or was cut off.
        self.end: StudyEndRecord | None = None
        self._plan = plan
        self._templates = Templates(plan)
        self._follower = follower or Follower()

    def read(self, folder: Path) -> None:
        """Takes in all records of a study folder; UserError as of `read_records`."""
        for _ in read_records(folder, self.take):
            pass

    def take(self, record: Record) -> None:
        """Takes in the next record; ValueError (or msgspec's) when it is none of this plan's."""
        match record:
            case StudyRecord():
                self._start(record)
            case SessionRecord():
                self._begin_session(record)
            case AmendmentRecord():
                self._amend(record)
            case LeftOutRecord():
                self._leave_out(record)
            case LaunchRecord():
                self._begin(record)
            case EnvironmentRecord() | CaseRecord() | SamplesRecord() | ProblemRecord():
                self._running(record.launch).take(record)
            case LaunchEndRecord():
                self._end_launch(record)
            case StudyEndRecord():
                self._stop(record)

    @property
    def session(self) -> SessionRecord | None:
        """The last session; None before the first."""
        return self.sessions[-1] if self.sessions else None

    @property
    def over(self) -> bool:
        """True if the study ended and nothing is left, unless something is added."""
        return self.end is not None and self.end.status != "interrupted"

    @property
    def ended(self) -> str:
        """The reason why the study ended; "": it has not, or was cut off."""
        return self.end.message if self.end else ""

    def _start(self, record: StudyRecord) -> None:
        if record.id != self._plan.study:
            raise ValueError("it and plan.json are of two different studies")
        self.start = record

    def _begin_session(self, record: SessionRecord) -> None:
        if record.session != len(self.sessions):
            raise ValueError(f"session {record.session} follows {len(self.sessions) - 1}")
        self.sessions.append(record)
        self._follower.begin_session()

    def _amend(self, record: AmendmentRecord) -> None:
        blocks = max((launch.begin.block + 1 for launch in self.launches), default=0)
        if not self.sessions:
            raise ValueError("it is of no session")
        if not record.looks or sorted({0, *record.looks}) != [0, *record.looks]:
            raise ValueError(f"looks {record.looks} are no numbers of blocks that grow")
        if any(launch.since < blocks for launch in record.adds.launches):
            raise ValueError(f"it adds launches to the first {blocks} blocks")
        self.amendments[len(self.sessions) - 1] = record
        self.end = None
        self._follower.amend(record)

    def _leave_out(self, record: LeftOutRecord) -> None:
        if not 0 <= record.spare < len(self._plan.spare):
            raise ValueError(f"the plan has no spare {record.spare}")
        self.left_out.append(record)
        self._follower.leave_out(record)

    def _begin(self, record: LaunchRecord) -> None:
        if record.session != len(self.sessions) - 1:
            raise ValueError(
                f"launch {record.launch} is of session {record.session}, "
                f"which is not the one that began last"
            )
        template = self._templates.index_of(record)
        launch = Launched(self._plan, record, template, self._templates.groups_of(record))
        self.launches.append(launch)
        self.end = None
        self._follower.begin(launch)

    def _running(self, number: int) -> Launched:
        """Returns the launch with this number; ValueError if it is not the last that began."""
        if not self.launches or self.launches[-1].begin.launch != number:
            raise ValueError(f"it belongs to launch {number}, which never began")
        return self.launches[-1]

    def _end_launch(self, record: LaunchEndRecord) -> None:
        launch = self._running(record.launch)
        launch.take_end(record)
        self._follower.end(launch, record)

    def _stop(self, record: StudyEndRecord) -> None:
        self.end = record
        if self.over:
            self._follower.close()
