# SPDX-License-Identifier: Apache-2.0
"""`nearpeak trace`: where an application's MPI time goes."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import OfApplication, say, say_lacking
from nearpeak.errors import UserError
from nearpeak.numbers import printable
from nearpeak.terms.exit_statuses import paragraphs

HELP = f"""Run an MPI application and say where its MPI time goes.

A small library is loaded into every rank; the application is not changed. It
counts calls, bytes and time for each operation, message size, memory and place
of the other rank, and for each rank. With --study, the table also has the time
of messages of these sizes on a path of that study without MPI. With -o it is
written as JSON, and as a page with pictures beside it.

Examples:

  nearpeak trace -- mpirun -n 4 ./app args

  nearpeak trace -o trace.json -- mpirun -n 4 ./app

  nearpeak trace --mpi openmpi -- mpirun -n 4 python app.py

  nearpeak trace --study study -- mpirun -n 2 ./app

Exit status:

{paragraphs("trace", 2)}
"""


MOST_OF_A_COMMAND = 127  # a shell reports more for a command that a signal ended


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    passing = {"allow_interspersed_args": False}  # the options of COMMAND are its own
    app.command("trace", help=HELP, context_settings=passing)(trace)


def trace(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run.")],
    mpi: OfApplication = None,
    study: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Show the ceilings of this study beside the calls."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write it all as JSON, like trace.json, and beside it a page, trace.html.",
        ),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Print every row, not only the longest.")
    ] = False,
) -> None:
    """Runs the command and prints the table; exits as the command did, unless by a signal."""
    import msgspec

    from nearpeak.document.page import write_page
    from nearpeak.document.terminal import print_document
    from nearpeak.files import check_target, write_whole
    from nearpeak.findings.build import build_results
    from nearpeak.libraries.discover import resolve
    from nearpeak.trace.application import library_of
    from nearpeak.trace.ceilings import ceilings, study_ceilings, unblocked
    from nearpeak.trace.present import present
    from nearpeak.trace.run import CommandFailed, Interrupted, run

    if output:
        check_target(output)
        page = output.with_suffix(".html")
        if page == output:
            raise UserError(
                f"-o {output}: the page is written beside the JSON: give a name like trace.json"
            )
    points = study_ceilings(build_results(study)) if study else None
    library = resolve(mpi) if mpi else library_of(command)
    say_lacking(library)
    try:
        traced, signalled = run(command, library)
    except CommandFailed as failed:
        say(f"nearpeak: {failed}")
        raise typer.Exit(1) from None
    except Interrupted as interrupted:
        raise _interrupted(interrupted.number) from None
    if points:
        traced.ceilings = ceilings(traced, points.times)
        traced.unblocked = unblocked(traced, points.rates)
    document = present(traced, show_all=show_all)
    print_document(document)  # before the file: it stays where that cannot be written
    if output:
        text = msgspec.json.format(msgspec.json.encode(traced), indent=1).decode()
        write_whole(output, text + "\n")
        write_page(document, page)
        print(printable(f"Page: {page}"), flush=True)
    if signalled is not None:
        raise _interrupted(signalled)
    if traced.exit_status > MOST_OF_A_COMMAND:
        say(f"nearpeak: {ended_by(traced.exit_status)}; see what it said before the table")
        raise typer.Exit(1)
    raise typer.Exit(traced.exit_status)


def _interrupted(number: int) -> typer.Exit:
    """Prints that a signal came; returns the exit with its status."""
    import signal

    by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    say(f"nearpeak: interrupted{by}")
    return typer.Exit(128 + number)


def ended_by(status: int) -> str:
    """Text for a command's exit status above 127."""
    from nearpeak.terms.logs import SIGNALS

    name = SIGNALS.get(status - 128)
    text = f"the command ended with exit status {status}"
    return f"{text}, which is that of {name}" if name else text
