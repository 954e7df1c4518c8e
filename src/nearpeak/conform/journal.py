# SPDX-License-Identifier: Apache-2.0
"""conform.jsonl, the raw data of a run: appended as it happens, read by --resume."""

from pathlib import Path

import msgspec

from nearpeak import journal
from nearpeak.conform.conformance import Memory, Operation
from nearpeak.conform.plan import Chosen
from nearpeak.errors import UserError
from nearpeak.terms.private import FreeText, HostName, Kept, Public
from nearpeak.terms.trials import BadEnd, Outcome

NAME = "conform.jsonl"
CASES = "cases"  # the folder of the files that repeat jobs, of a line for each case
SCHEMA = 1


class Begin(msgspec.Struct, kw_only=True, tag_field="record", tag="conform"):
    """The first line."""

    schema: int
    nearpeak: Public
    started: Public
    chosen: Chosen
    host: HostName
    gpus: list[FreeText]
    driver: FreeText | None
    memories: list[Memory]
    operations: list[Operation]
    # version of nearpeak that published this copy; null: it is none
    published: Public | None = None


class Contended(msgspec.Struct, kw_only=True, tag_field="record", tag="library"):
    """A library that is tried."""

    library: FreeText
    settings: FreeText
    version: Kept
    planned: int


class Ended(msgspec.Struct, kw_only=True, tag_field="record", tag="outcome"):
    """A case of a library has ended."""

    library: FreeText
    settings: FreeText
    outcome: Outcome


class BadlyEnded(msgspec.Struct, kw_only=True, tag_field="record", tag="bad end"):
    """A job of a library has ended badly while it was at no case."""

    library: FreeText
    settings: FreeText
    end: BadEnd


Record = Begin | Contended | Ended | BadlyEnded


FORM = journal.Form[Begin, Record](
    name=NAME,
    schema=SCHEMA,
    command="conform",
    whose="a run",
    first=Begin,
    lines=Record,
    sealed=True,
)
resume_command, read = FORM.resume_command, FORM.read


class ConformJournal(journal.RunJournal[Begin, Record]):
    """The open conform.jsonl of one run."""

    def __init__(self, folder: Path, begin: Begin | None = None) -> None:
        """Opens the journal, as RunJournal does; UserError also for a published copy."""
        super().__init__(FORM, folder, begin)
        if begin is None and self.begin.published is not None:
            self.close()
            raise UserError(journal.of_copy(folder, "tried"))
