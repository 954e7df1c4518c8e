# SPDX-License-Identifier: Apache-2.0
"""`nearpeak layer`: an application whose MPI library takes device buffers by the layer."""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import OfApplication, StandardAbi, print_json
from nearpeak.errors import UserError
from nearpeak.runs.messages import say, say_lacking, warn
from nearpeak.terms.exit_statuses import STATUSES

if TYPE_CHECKING:
    from nearpeak.launching.single import Single

REACHED = "NEARPEAK_LAYER_REACHED"  # the file that preload/layer/protocol/handshake.cpp makes

LAYER = STATUSES["layer"]

HELP = f"""Run an application with the layer, which moves its device buffers.

A library is loaded into every rank, before the MPI library: messages between
devices go directly where they can, and the MPI library sees host memory alone.
Neither the application nor the MPI library is changed. What the layer does and
does not do: docs/how-to/layer.md.

With --only-queries no message is changed. A CUDA driver from 580 on takes 1 us
to say that an address is the host's, and libraries with GPU support ask of each
buffer. The library that is loaded then asks in a quicker way
(docs/how-to/pointer-queries.md).

Examples:

  nearpeak layer --mpi mpich -- mpirun -n 2 ./app args

  nearpeak layer -- mpirun -n 2 ./app

  nearpeak layer --print-env --mpi openmpi > layer.sh

  nearpeak layer --standard-abi --mpi mpich -- mpirun -n 2 python app.py

  nearpeak layer --only-queries --report --mpi intel -- mpirun -n 16 ./app

  nearpeak layer --explain --mpi mpich

  nearpeak layer --explain --mpi mpich --path "gpu-gpu nvlink" --json

Exit status: {LAYER["0 to 255"]}; 2 {LAYER["2"]}. With --explain 1 {LAYER["1 with --explain"]}.
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
    standard_abi: StandardAbi = False,
    require: Annotated[
        bool,
        typer.Option(
            "--require",
            help="End the application where the layer cannot be on; fail where no process has it.",
        ),
    ] = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Let each rank say at its end what was done in it."),
    ] = False,
    only_queries: Annotated[
        bool,
        typer.Option(
            "--only-queries",
            help="Change no message: let the CUDA driver say faster what memory is the host's.",
        ),
    ] = False,
    print_env: Annotated[
        bool,
        typer.Option("--print-env", help="Print the variables for a shell instead of running."),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say which way messages of each size go between two ranks of this machine, and"
            " what decides that.",
        ),
    ] = False,
    path: Annotated[
        str | None,
        typer.Option(metavar="ID", help="With --explain: the data path. Default: the first."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="With --explain: print JSON.")] = False,
) -> None:
    """Becomes the command, with the layer's variables; with --require it waits for its end."""
    if explain:
        if command or standard_abi or require or report or print_env or only_queries:
            raise UserError("--explain goes with --mpi, --path and --json alone")
        _explain(mpi, path, json)
        return
    if path or json:
        raise UserError("--path and --json go with --explain")
    if only_queries and (require or standard_abi):
        option = "--require" if require else "--standard-abi"
        raise UserError(f"{option} is of the layer: it does not go with --only-queries")
    from nearpeak.libraries.build import build_layer, build_queries
    from nearpeak.libraries.families import is_native
    from nearpeak.libraries.preload import environment
    from nearpeak.trace.application import application_library

    if not command and not (print_env and mpi):
        raise UserError(
            "name a command, like `nearpeak layer --mpi mpich -- mpirun -n 2 ./app`, or the library"
            " with --mpi, for --print-env"
        )
    library = application_library(command or [], mpi, "layer", by_standard_abi=standard_abi)
    if is_native(library):
        raise UserError(f"{library.name} is no MPI library: name that of the application")
    preload = build_queries() if only_queries else build_layer(library)
    reporting = "NEARPEAK_QUERIES_REPORT" if only_queries else "NEARPEAK_LAYER_REPORT"
    variables = {
        **({"NEARPEAK_LAYER": "require"} if require else {}),
        **({reporting: "1"} if report else {}),
    }
    if require and not print_env:
        variables[REACHED] = _place_of_mark(preload)
    added = environment(library, preload, variables, command or [])
    if print_env:
        for name, value in added.items():
            typer.echo(f"export {name}={shlex.quote(value)}")
        return
    assert command is not None
    if require:
        raise typer.Exit(_run_required(command, {**os.environ, **added}, library.name))
    try:
        os.execvpe(command[0], command, {**os.environ, **added})
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}") from None


def _place_of_mark(preload: Path) -> str:
    """A file in a new folder, made by the first rank that has the layer in MPI_Init.

    The folder is next to the layer's library, as the ranks of all hosts find that one.
    """
    try:
        return str(Path(tempfile.mkdtemp(prefix="reached-", dir=preload.parent)) / "layer")
    except OSError:
        return str(Path(tempfile.mkdtemp(prefix="nearpeak-reached-")) / "layer")


def _run_required(command: list[str], env: dict[str, str], library: str) -> int:
    """Runs the command. Returns its exit status, or 2 where it ended well without the layer."""
    from nearpeak.trace.run import run_in_foreground

    mark = Path(env[REACHED])
    try:
        status, _ = run_in_foreground(command, env)
        reached = mark.is_file()
    finally:
        shutil.rmtree(mark.parent, ignore_errors=True)
    if reached:
        return status
    say(
        f"nearpeak: the layer must be on, and no process of `{shlex.join(command)}` came to it in "
        f"MPI_Init of {library}: name the library that the application uses with --mpi; one that "
        "is linked statically has no layer"
    )
    return status or 2


def _explain(mpi: str | None, path: str | None, json: bool) -> None:
    from nearpeak.document.terminal import print_document
    from nearpeak.explain import ways
    from nearpeak.explain.present import present_ways
    from nearpeak.launching.mps import MpsError
    from nearpeak.launching.single_launch import LaunchFailed

    if mpi is None:
        raise UserError("name a library, like `nearpeak layer --explain --mpi mpich`")
    chosen = _chosen(mpi, path, ways.BUFFERS)
    say_lacking(chosen[0].library)
    warn(chosen[0].diagnoses, sys.stderr, [chosen[0].library])
    try:
        explanation = ways.explain(chosen, ways.SIZES, say)
    except LaunchFailed as error:
        say(f"nearpeak: {error}")
        raise typer.Exit(1) from None
    except MpsError as error:
        raise UserError(str(error)) from None
    if json:
        print_json(explanation)
    else:
        print_document(present_ways(explanation))
    if explanation.failed:
        raise typer.Exit(1)


def _chosen(mpi: str, path: str | None, pairs: Sequence[str]) -> "list[Single]":
    """The launches of messages between the `pairs` of buffers that fit the path. UserError without
    any."""
    from nearpeak.launching.programs import TOOLS, describe_library
    from nearpeak.launching.single import another_benchmark, choose
    from nearpeak.libraries import settings
    from nearpeak.libraries.discover import LAYER, resolve

    spec, wanted = settings.split(mpi)
    spec = spec.removesuffix(LAYER) + LAYER
    described = describe_library(resolve(spec), TOOLS).benchmarks
    benchmark = next(entry.name for entry in described if entry.one_message)
    choice = f"{spec}@{wanted or 'default'}"
    command = "layer --explain"
    chosen: list[Single] = []
    unfit: dict[str, None] = {}
    for buffers in pairs:
        try:
            if chosen:
                chosen.append(another_benchmark(chosen[0], benchmark, path=path, buffers=buffers))
            else:
                chosen.append(
                    choose(benchmark, choice, command, path=path, buffers=buffers, say=say)
                )
        except UserError as error:
            unfit[str(error)] = None
    if not chosen:
        raise UserError("; ".join(unfit))
    if not path:  # a path is between GPUs, or between the host and one
        for reason in unfit:
            say(f"nearpeak: {reason}")
    return chosen
