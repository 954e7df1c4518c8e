# SPDX-License-Identifier: Apache-2.0
"""`nearpeak explain`: what a library does for one message."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import PathId, SettingsEnv, Verbose, leave
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import sentence

SIZES = "8,64K,16M"

HELP = f"""Say where the time of a message goes: calls, copies and waits.

Runs each size a few times, alternately without and with a small library that is
loaded into every rank. It logs what the MPI library asks of the CUDA driver
(through CUPTI) and of libc, and what the GPU does for it. The table says which
part of a message's time each of these takes, and how much nothing is known of.
No program and no library is changed. The same without MPI is measured beside it,
and the library is asked which protocols it takes.

All other options go to nearpeak-mpi as they are: an axis like --calls, --window.

Examples:

  nearpeak explain latency --mpi openmpi

  nearpeak explain latency --mpi openmpi-cuda --buffers H,D --sizes 16M -o explained

  nearpeak explain latency --mpi intel --buffers D,D --path "gpu-gpu nvlink" --sizes 8,1M

  nearpeak explain allreduce --mpi mpich --ranks 2

  nearpeak explain latency --mpi openmpi --sizes 16M --study study

  nearpeak explain --study study --worst 3

{sentence("explain")}
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    passing = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("explain", help=HELP, context_settings=passing)(explain)


def explain(
    context: typer.Context,
    benchmark: Annotated[
        str | None, typer.Argument(metavar="BENCHMARK", help="latency, bw, allreduce, ...")
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(metavar="SPEC[@SETTINGS]", help="The library: its name, or a path."),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(metavar="LIST", help=f"Of messages. Default: {SIZES}."),
    ] = None,
    path: PathId = None,
    ranks: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Number of ranks. Default: 2.")
    ] = None,
    buffers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="As in `nearpeak run`: H host, P pinned, D device, M managed. Default: H,H.",
        ),
    ] = None,
    settings_env: SettingsEnv = None,
    ask: Annotated[
        bool, typer.Option("--ask/--no-ask", help="Ask the library which protocols it takes.")
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write explain.json and explain.html."),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Put it into this study, and make its report again."),
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="With --study, in the place of all else: the N messages that are furthest from"
            " the ceiling, of each library, path and buffers one.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Launches, prints, and writes."""
    from nearpeak.runs import explain as runs

    if study and output:
        raise UserError("--study puts it into a study, -o into a folder of its own: give one")
    if worst is not None:
        given = [benchmark, mpi, sizes, path, ranks, buffers, settings_env, *context.args]
        if study is None or any(given):
            raise UserError("--worst N goes with --study DIR, and with nothing else")
        leave(runs.start_worst(study, worst, ask=ask, verbose=verbose))
        return
    if benchmark is None:
        raise UserError("name a benchmark, like `nearpeak explain latency --mpi openmpi`")
    request = runs.Request(
        benchmark=benchmark,
        mpi=mpi,
        sizes=sizes or SIZES,
        words=context.args,
        path=path,
        ranks=ranks,
        buffers=buffers or "H,H",
        settings_env=settings_env or [],
    )
    leave(runs.start(request, output, study, ask=ask, verbose=verbose))
