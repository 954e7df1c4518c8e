# SPDX-License-Identifier: Apache-2.0
"""A study folder: made for a new study, or opened to complete one."""

import contextlib
from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.files import check_output, make_output, put_whole
from nearpeak.journal import of_copy
from nearpeak.machine.machine import Machine
from nearpeak.study.answers import Answers
from nearpeak.study.journal import NAME, StudyJournal, cannot_write, grown, read_records
from nearpeak.study.plan import SCHEMA, Plan
from nearpeak.study.records import StudyRecord
from nearpeak.terms.study_files import MACHINE, PLAN


def check_new(folder: Path, *, can_resume: bool = True) -> None:
    """UserError when a new study cannot be put into `folder`; leaves nothing new. `can_resume`:
    whether who asks can complete one that is there."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is not a folder: choose another with -o")
    if folder.is_dir() and any(folder.iterdir()):
        raise _not_empty(folder, can_resume=can_resume)
    check_output(folder)


def _not_empty(folder: Path, *, can_resume: bool) -> UserError:
    resume = can_resume and (folder / PLAN).exists()
    return UserError(
        f"{folder} is not empty: choose another folder with -o"
        + (", or complete its study with --resume" if resume else "")
    )


def create(folder: Path, machine: Machine, plan: Plan) -> StudyJournal:
    """Makes the folder with machine.json and plan.json, and opens its journal.

    UserError when it is not empty or not ours to write, CannotWriteError when the disk is full.
    """
    check_new(folder)
    make_output(folder)
    journal = StudyJournal(folder)
    if (folder / NAME).stat().st_size:  # another has begun, and ended, until now
        journal.close()
        raise _not_empty(folder, can_resume=True)
    try:
        for name, content in ((MACHINE, machine), (PLAN, plan)):
            put_whole(folder / name, written(content))
    except OSError as error:
        # Nothing was measured, so nothing is kept: the folder can be used again.
        for name in (MACHINE, PLAN, NAME):
            with contextlib.suppress(OSError):
                (folder / name).unlink(missing_ok=True)
        journal.close()
        raise cannot_write(folder, error) from None
    return journal


def written(content: Machine | Plan) -> bytes:
    """What machine.json or plan.json holds."""
    text = msgspec.json.format(msgspec.json.encode(content, enc_hook=str), indent=1)
    return text + b"\n"


def reopen(folder: Path) -> tuple[Plan, StudyJournal]:
    """The plan and the open journal of an earlier study.

    UserError when there is none in `folder`, when it has another schema or is a published copy, and
    when others can exchange what is in it.
    """
    plan = read_plan(folder)
    if (folder / NAME).exists():
        first = next(read_records(folder, Answers(plan).take), None)
        if isinstance(first, StudyRecord) and first.published:
            raise UserError(f"{of_copy(folder, 'measured')}, or start anew in another folder")
    make_output(folder)  # which is there: others may exchange it all the same
    journal = StudyJournal(folder)
    try:
        return read_plan(folder), journal  # another may have added to it until now
    except UserError:
        journal.close()
        raise


def read_plan(folder: Path) -> Plan:
    """The plan of the study in `folder`, with all that was added to it; UserError when there is
    none that can be read."""
    file = folder / PLAN
    try:
        data = file.read_bytes()
        schema = msgspec.json.decode(data)["schema"]
        if schema != SCHEMA:
            raise UserError(
                f"{file} has schema {schema}, this nearpeak reads schema {SCHEMA}: "
                "use the nearpeak that wrote it, or start anew in another folder"
            )
        plan = msgspec.json.decode(data, type=Plan, dec_hook=lambda kind, text: kind(text))
    except OSError as error:
        raise UserError(
            f"there is no study in {folder} ({file.name}: {error.strerror}): give the folder that "
            "`nearpeak study` wrote"
        ) from None
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} is not a plan ({error}): start anew in another folder") from None
    return grown(plan, folder) if (folder / NAME).exists() else plan
