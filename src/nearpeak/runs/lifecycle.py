# SPDX-License-Identifier: Apache-2.0
"""The life cycle that all kinds of runs share: the checks before one starts or goes on, the end by
a signal, and the exit status."""

import contextlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearpeak.document.model import Document
from nearpeak.document.page import write_page
from nearpeak.document.terminal import print_document
from nearpeak.errors import UserError
from nearpeak.files import write_whole
from nearpeak.journal import RunJournal
from nearpeak.launching.interrupts import why_ended
from nearpeak.numbers import listed
from nearpeak.runs.messages import agreed, tell
from nearpeak.signals import ending, status_of
from nearpeak.study import begun

Tell = Callable[[str], None]


def check_begun(
    folder: Path,
    command: str,
    begin: object,
    foreign: Callable[[], Sequence[str]],
    *,
    accept: bool,
) -> None:
    """Checks that this user began the run in `folder`, or agrees to run its programs: by `accept`,
    or by a yes on a terminal. Then it is remembered. UserError otherwise.

    `command`: of the run; `begin`: its plan, or its first record; `foreign`: returns the names in
    it that are not those of this machine.
    """
    names = [] if accept or begun.is_known(begin) else foreign()
    if names:
        naming = "its plan names" if command == "study" else "it names"
        warning = f"{folder} was not begun by you here, and {naming} {listed(names)}"
        if not agreed(f"{warning}. Run that?"):
            line = shlex.join(["nearpeak", command, "--resume", "-o", str(folder)])
            look = f"look at its launches with `{line} --dry-run`; " if command == "study" else ""
            raise UserError(
                f"{warning}: {look}if you would run that yourself, add --accept-commands"
            )
    begun.remember(begin)


@dataclass
class Interruption:
    """The signal that ended a run early; None: none did."""

    signal: int | None = None


@contextlib.contextmanager
def interruptible(journal: RunJournal[Any, Any], tell: Tell) -> Iterator[Interruption]:
    """Lets a signal end what runs in this context. Its reason is recorded in the journal and passed
    to `tell`; the signal is then in the yielded object."""
    interruption = Interruption()
    try:
        with ending():
            yield interruption
    except KeyboardInterrupt as interrupt:
        interruption.signal = status_of(interrupt) - 128
        reason = why_ended(interruption.signal)
        journal.interrupt(reason)
        tell(f"interrupted: {reason}")


def present(
    document: Document, folder: Path | None, name: str, results: str, *, verbose: bool
) -> Path | None:
    """Writes NAME.json and NAME.html into a folder, if there is one, and prints the document, with
    `verbose` its details too. Returns the page's path; UserError."""
    page = folder and folder / f"{name}.html"
    if folder and page:
        write_whole(folder / f"{name}.json", results)
        write_page(document, page)
    print_document(document, page, verbose=verbose)
    return page


def cut_short(signal: int, resume: str, tell: Tell = tell) -> int:
    """Prints that a signal ended a run, and the line that completes it; returns the exit status."""
    tell(f"nearpeak: interrupted; complete it with: {resume}")
    return 128 + signal


def conclude(bad: bool, why: str = "") -> int:
    """Returns the exit status of a run that came to its end: 1 if its results are bad. `why`: said
    last; empty if the results have said it."""
    if bad and why:
        tell(f"Exit status 1: {why}")
    return int(bad)
