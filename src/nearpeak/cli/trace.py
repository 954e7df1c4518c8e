# SPDX-License-Identifier: Apache-2.0
"""`nearpeak trace`: where an application's MPI time goes."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import OfApplication, StandardAbi, Verbose, leave
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


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    passing = {"allow_interspersed_args": False}  # the options of COMMAND are its own
    app.command("trace", help=HELP, context_settings=passing)(trace)


def trace(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run.")],
    mpi: OfApplication = None,
    standard_abi: StandardAbi = False,
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
    verbose: Verbose = False,
) -> None:
    """Runs the command and prints the table; exits as the command did, unless by a signal."""
    from nearpeak.runs import trace as runs

    leave(runs.start(command, mpi, study, output, verbose=verbose, standard_abi=standard_abi))
