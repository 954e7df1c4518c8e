# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak trace`: an application is run, and the MPI calls of its ranks are counted."""

import shlex
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nearpeak.document.page import write_page
from nearpeak.document.terminal import print_document
from nearpeak.errors import UserError
from nearpeak.files import check_target, write_whole
from nearpeak.findings import build
from nearpeak.libraries import discover
from nearpeak.libraries.library import Library
from nearpeak.runs.messages import say, say_lacking, tell
from nearpeak.terms.logs import SIGNALS
from nearpeak.trace import present as presenter
from nearpeak.trace import run
from nearpeak.trace.application import application_library
from nearpeak.trace.ceilings import ceilings, study_ceilings, unblocked
from nearpeak.trace.trace import Trace

MOST_OF_A_COMMAND = 127  # a shell reports more for a command that a signal ended


def start(
    command: Sequence[str],
    mpi: str | None,
    study: Path | None,
    output: Path | None,
    *,
    verbose: bool,
    standard_abi: bool = False,
) -> int:
    """Runs a command, then shows its trace with the ceilings of a study, and writes it into a file;
    returns the command's exit status, or 1 if a signal ended it. `mpi`: its library; None: that of
    the first program that is linked with one. `standard_abi`: as of application_library.
    UserError."""
    if output:
        check_target(output)
        _page_beside(output)
    points = study_ceilings(build.build_results(study)) if study else None
    library = application_library(command, mpi, "trace", by_standard_abi=standard_abi)
    say_lacking(library)
    try:
        traced, signalled = run.run(command, library)
    except run.CommandFailed as failed:
        say(f"nearpeak: {failed}")
        return 1
    except run.Interrupted as interrupted:
        return _cut_short(interrupted.number)
    if points:
        traced.ceilings = ceilings(traced, points.times)
        traced.unblocked = unblocked(traced, points.rates)
    tune = _tuning(mpi or _name(library), output) if output else ""
    present(traced, output, tune, verbose=verbose)
    if signalled is not None:
        return _cut_short(signalled)
    if traced.exit_status > MOST_OF_A_COMMAND:
        say(f"nearpeak: {_ended_by(traced.exit_status)}; see what it said before the table")
        return 1
    return traced.exit_status


def _page_beside(file: Path) -> Path:
    """The page beside the file of the results; UserError where both would be one file."""
    page = file.with_suffix(".html")
    if page == file:
        raise UserError(
            f"-o {file}: the page is written beside the JSON: give a name like trace.json"
        )
    return page


def _name(library: Library) -> str:
    """The name by which `--mpi` knows a library that a program is linked with."""
    return next(
        (
            other.name
            for other in discover.find_libraries()
            if library.libmpi and other.libmpi and other.libmpi.samefile(library.libmpi)
        ),
        library.name,
    )


def _tuning(mpi: str, file: Path) -> str:
    """The command that searches settings for the messages of a trace."""
    return shlex.join(["nearpeak", "tune", "--mpi", mpi, "--trace", str(file)])


def present(traced: Trace, file: Path | None, tune: str = "", *, verbose: bool) -> None:
    """Prints a trace, with `verbose` all of it; then writes it into a file, if there is one, and
    its page beside it. `tune`: as of the presenter."""
    document = presenter.present(traced, tune)
    print_document(
        document, verbose=verbose
    )  # before the file: it stays where that cannot be written
    if file:
        page = _page_beside(file)
        text = msgspec.json.format(msgspec.json.encode(traced), indent=1).decode()
        write_whole(file, text + "\n")
        write_page(document, page)
        tell(f"Page: {page}")


def _cut_short(number: int) -> int:
    """Prints that a signal came; returns the exit status."""
    by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    say(f"nearpeak: interrupted{by}")
    return 128 + number


def _ended_by(status: int) -> str:
    """Text for a command's exit status above 127."""
    name = SIGNALS.get(status - 128)
    text = f"the command ended with exit status {status}"
    return f"{text}, which is that of {name}" if name else text
