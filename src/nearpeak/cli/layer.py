# SPDX-License-Identifier: Apache-2.0
"""`nearpeak layer`: an application whose MPI library takes device buffers by the layer."""

import os
import shlex
from typing import Annotated

import typer

from nearpeak.cli import OfApplication
from nearpeak.errors import UserError

HELP = """Run an MPI application with the layer, which moves its device buffers.

A library is loaded into every rank, before the MPI library: messages between
devices go directly where they can, and the MPI library sees host memory alone.
Neither the application nor the MPI library is changed. What the layer does and
does not do: docs/layer.md.

Examples:

  nearpeak layer --mpi mpich -- mpirun -n 2 ./app args

  nearpeak layer -- mpirun -n 2 ./app

  nearpeak layer --print-env --mpi openmpi >> job.sh

Exit status: that of the command; 2 for bad input.
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    passing = {"allow_interspersed_args": False}  # the options of COMMAND are its own
    app.command("layer", help=HELP, context_settings=passing)(layer)


def layer(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="What to run.")
    ] = None,
    mpi: OfApplication = None,
    require: Annotated[
        bool,
        typer.Option("--require", help="End the application where the layer cannot be on."),
    ] = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Let each rank say at its end how its messages went."),
    ] = False,
    print_env: Annotated[
        bool,
        typer.Option("--print-env", help="Print the variables for a shell instead of running."),
    ] = False,
) -> None:
    """Becomes the command, with the layer's variables."""
    from nearpeak.libraries.build import build_layer
    from nearpeak.libraries.discover import resolve
    from nearpeak.libraries.families import is_native
    from nearpeak.libraries.preload import environment
    from nearpeak.trace.application import library_of

    if not command and not (print_env and mpi):
        raise UserError(
            "name a command, like `nearpeak layer --mpi mpich -- mpirun -n 2 ./app`, or the library"
            " with --mpi, for --print-env"
        )
    library = resolve(mpi) if mpi else library_of(command or [], "layer")
    if is_native(library):
        raise UserError(f"{library.name} is no MPI library: name that of the application")
    own = {
        **({"NEARPEAK_LAYER": "require"} if require else {}),
        **({"NEARPEAK_LAYER_REPORT": "1"} if report else {}),
    }
    added = environment(library, build_layer(library), own, command or [])
    if print_env:
        for name, value in added.items():
            typer.echo(f"export {name}={shlex.quote(value)}")
        return
    assert command is not None
    try:
        os.execvpe(command[0], command, {**os.environ, **added})
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}") from None
