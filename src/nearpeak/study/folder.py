# SPDX-License-Identifier: Apache-2.0
"""A study folder: made for a new study, or opened to complete one."""

import contextlib
import sys
from pathlib import Path

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.files import check_output, make_output, put_whole
from nearpeak.journal import Journal, of_copy, resume_study, whole_lines
from nearpeak.locks import SUFFIX
from nearpeak.machine.machine import Machine
from nearpeak.numbers import printable
from nearpeak.planning.plan import SCHEMA, Plan
from nearpeak.study.journal import (
    NAME,
    DamagedError,
    StudyJournal,
    cannot_write,
    grown,
    read_start,
)
from nearpeak.study.recording import Recording
from nearpeak.terms.study_files import MACHINE, PLAN


def check_new(folder: Path, *, can_resume: bool = True) -> None:
    """UserError when a new study cannot be put into `folder`; leaves nothing new. `can_resume`:
    whether the caller can complete an existing one."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is not a folder: choose another with -o")
    half_made = can_resume and folder.is_dir() and _is_half_made(folder)
    if folder.is_dir() and any(folder.iterdir()) and not half_made:
        raise _not_empty(folder, can_resume=can_resume)
    check_output(folder)


def _is_half_made(folder: Path) -> bool:
    """True if a folder has only the leftovers of a study that was killed while it was made: nothing
    was measured, and nobody could resume it."""
    begun = (NAME, NAME + SUFFIX, MACHINE)
    temporary = tuple(f".{name}." for name in (MACHINE, PLAN))
    return all(
        file.is_file()
        and not file.is_symlink()
        and (file.name in begun or file.name.startswith(temporary))
        and (file.name != NAME or next(whole_lines(file), None) is None)
        for file in folder.iterdir()
    )


def _remove_temporary(folder: Path) -> None:
    for name in (MACHINE, PLAN):
        for file in folder.glob(f".{name}.*"):
            file.unlink()


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
    if (folder / NAME).stat().st_size:  # another study has begun and ended meanwhile
        journal.close()
        raise _not_empty(folder, can_resume=True)
    try:
        _remove_temporary(folder)
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
    """Returns the content of machine.json or plan.json."""
    text = msgspec.json.format(msgspec.json.encode(content, enc_hook=str), indent=1)
    return text + b"\n"


def repair(folder: Path) -> None:
    """Takes a damaged study that is to go on back to the last line before the damage whose digest
    is right. The rest is kept in a file of its own, and a line on stderr says so. UserError if
    another process has the study; CannotWriteError."""
    if not (folder / NAME).exists() or _damage(folder) is None:
        return
    lines = Journal(folder / NAME, resume_study(folder))
    try:
        if (damage := _damage(folder)) is None:  # another process has repaired it meanwhile
            return
        aside = lines.put_aside(damage.sealed_bytes)
    finally:
        lines.close()
    back = f"line {damage.sealed_line}" if damage.sealed_line else "its start"
    print(
        f"nearpeak: {printable(damage.problem)}: the study goes back to {back}, as no later"
        f" seal is right; what followed is kept in {aside}",
        file=sys.stderr,
        flush=True,
    )


def _damage(folder: Path) -> DamagedError | None:
    """Returns the first line that cannot be believed, if any; None for a published copy."""
    try:
        start = read_start(folder)
        if start is None or not start.published:
            Recording(read_plan(folder)).read(folder)
    except DamagedError as error:
        return error
    return None


def reopen(folder: Path) -> tuple[Plan, StudyJournal]:
    """Repairs an earlier study, and returns its plan and its open journal.

    UserError when there is none in `folder`, when it has another schema or is a published copy, and
    when others can exchange its files.
    """
    repair(folder)
    read_plan(folder)  # without one, nothing is opened
    if (folder / NAME).exists():
        start = read_start(folder)
        if start and start.published:
            raise UserError(f"{of_copy(folder, 'measured')}, or start anew in another folder")
    make_output(folder)  # it exists, but others may be able to exchange it
    journal = StudyJournal(folder)
    try:
        return read_plan(folder), journal  # another process may have added to it meanwhile
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
        if isinstance(error, FileNotFoundError) and folder.is_dir() and _is_half_made(folder):
            remedy = "nothing was measured there: start the study again, without --resume"
        else:
            remedy = "give the folder that `nearpeak study` wrote"
        raise UserError(
            f"there is no study in {folder} ({file.name}: {error.strerror}): {remedy}"
        ) from None
    except (*UNDECODABLE, KeyError, TypeError) as error:
        raise UserError(f"{file} is not a plan ({error}): start anew in another folder") from None
    return grown(plan, folder) if (folder / NAME).exists() else plan
