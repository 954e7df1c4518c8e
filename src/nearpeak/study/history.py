# SPDX-License-Identifier: Apache-2.0
"""The records of a study before this session, and what is left to run."""

from pathlib import Path

from nearpeak.planning.plan import Plan
from nearpeak.study.recording import Recording
from nearpeak.study.schedule import Schedule


class History(Recording):
    """The records of a study folder, with the state that they leave the study in; UserError as of
    `read_records`."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.state = Schedule(plan)
        super().__init__(plan, self.state)
        self.read(folder)

    @property
    def empty(self) -> bool:
        """True if nothing was recorded."""
        return self.start is None
