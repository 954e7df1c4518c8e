# SPDX-License-Identifier: Apache-2.0
"""`nearpeak conform`: which operations of which libraries are broken on which memory."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import AcceptCommands, Libraries, Verbose, given, leave
from nearpeak.errors import UserError, parsed
from nearpeak.terms.exit_statuses import sentence

HELP = f"""Try every MPI operation on every kind of memory; check every byte.

Two ranks run on the host and, where there are GPUs, between two of them; three
and four ranks too if an operation runs among more. The cases are: buffers of
every kind and allocator; odd addresses; sizes around the limits where libraries
change their protocol; 64 allocations in turn; the growth of memory while buffers
are allocated and freed. A crash or hang ends one job; the next job tries the
rest. The folder has conform.jsonl (all that was seen), conform.json and
conform.html; `nearpeak report DIR` makes both again.

{sentence("conform")}

Examples:

  nearpeak conform --mpi openmpi

  nearpeak conform --mpi intel --mpi openmpi-cuda --quick

  nearpeak conform --mpi mpich --operations rma,allreduce --buffers D,D

  nearpeak conform --mpi mpich --allocators async,vmm --full -o vmm

  nearpeak conform --mpi intel --quick --path "gpu-gpu same-gpu mps" -o mps

  nearpeak conform --resume -o conform
"""
DEFAULT_FOLDER = "conform"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("conform", help=HELP)(conform)


def conform(
    mpi: Libraries = None,
    operations: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Benchmarks, or families: pt2pt, collective, rma, datatype, overlap, stream.",
        ),
    ] = None,
    buffers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Memory of both ranks: H host, P pinned, D device, M managed. Default: all that"
            " this machine has.",
        ),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Where buffers on GPUs are tried, as `nearpeak machine` names it, like 'gpu-gpu"
            " same-gpu mps'. Default: between two GPUs, or within one, time-sliced.",
        ),
    ] = None,
    allocators: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="plain, async, vmm, ... (docs/how-to/conform.md)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Check only the data of three sizes in plain memory.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Every check with every allocator, even if some crash."),
    ] = False,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="A case that is silent for this time hangs. Default: 20s."
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="The folder.")
    ] = DEFAULT_FOLDER,
    resume: Annotated[
        bool, typer.Option("--resume", help="Complete the run in DIR, with its own options.")
    ] = False,
    accept_commands: AcceptCommands = False,
    verbose: Verbose = False,
) -> None:
    from nearpeak.conform.plan import Chosen
    from nearpeak.runs import conform as runs
    from nearpeak.terms.buffers import parse_buffers
    from nearpeak.terms.sizes import parse_seconds, split_list

    if quick and full:
        raise UserError("--quick and --full exclude each other: give one of them")
    chosen = Chosen(
        libraries=mpi or [],
        operations=given("--operations", split_list, operations) or [],
        buffers=[parsed("--buffers", parse_buffers, kind) for kind in buffers or []],
        path=path,
        allocators=given("--allocators", split_list, allocators) or [],
        depth="quick" if quick else "full" if full else "default",
        limit_seconds=given("--limit", parse_seconds, limit or None) or Chosen().limit_seconds,
    )
    if resume and chosen != Chosen():
        raise UserError(
            "--resume takes every option from the run that it completes: give only -o DIR"
        )
    if accept_commands and not resume:
        raise UserError("--accept-commands needs --resume: give it, or leave this out")
    folder = Path(output)
    if resume:
        leave(runs.resume(folder, accept=accept_commands, verbose=verbose))
    else:
        leave(runs.start(folder, chosen, verbose=verbose))
