# SPDX-License-Identifier: Apache-2.0
"""The records of a study before this session: read once, for everything that depends on them."""

from pathlib import Path

from nearpeak.planning.plan import Plan
from nearpeak.study.answers import Answers
from nearpeak.study.journal import read_records
from nearpeak.study.records import (
    AmendmentRecord,
    LaunchRecord,
    SessionRecord,
    StudyEndRecord,
)
from nearpeak.study.schedule import Schedule


class History:
    """The records of a study folder, checked against its plan; UserError as of `read_records`."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.state = Schedule(plan)
        self.answers = Answers(plan)
        self.session: SessionRecord | None = None  # the last one
        self.ended = ""  # how the study ended; "": not yet, or it was cut off
        self.over = False  # whether it ended and nothing is left, unless something is added
        self.empty = True
        for record in read_records(folder, self.answers.check):
            self.empty = False
            self.state.feed(record)
            if isinstance(record, SessionRecord):
                self.session = record
            elif isinstance(record, StudyEndRecord):
                self.ended = record.message
                self.over = record.status != "interrupted"
            elif isinstance(record, LaunchRecord):
                self.ended = ""
                self.over = False
            elif isinstance(record, AmendmentRecord):
                self.over = False
