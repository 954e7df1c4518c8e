# SPDX-License-Identifier: Apache-2.0
"""`nearpeak tune`: which settings make a library faster, found by measurement and confirmed."""

import random
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import AcceptCommands, PathId, Verbose, given, leave
from nearpeak.errors import UserError, parsed
from nearpeak.terms.exit_statuses import sentence
from nearpeak.tune.targets import DEFAULT

if TYPE_CHECKING:
    from nearpeak.tune.journal import Asked

FOLDER = "tuned"
BUDGET = "15m"

HELP = f"""Find settings that make a library faster; write them as a profile.

Each value that the catalogue has for this library (`nearpeak mpi settings NAME`) is
tried where --path, --buffers and --for say, with every launch's data verified. The
search combines the values that help and drops those that add nothing. A study with
fresh launches then compares the result with the defaults on every path. It accepts the
settings everywhere, on this path only, or not at all.

DIR gets the accepted settings: profile.toml for --mpi NAME@DIR/profile.toml of every
command, a shell file, a module file and the library's own files. Settings that make
something else slower are in DIR/only-PATH-BUFFERS, with their price. DIR/report.html
shows all of it, and DIR/study has the study. `--resume --budget TIME` adds time.

Examples:

  nearpeak tune --mpi openmpi-cuda --buffers H,D

  nearpeak tune --mpi intel --buffers D,D --path "gpu-gpu nvlink" --for latency:8,bw:16M

  nearpeak tune --mpi mpich --for latency:8,latency:64K --budget 5m -o tuned

  nearpeak tune --mpi mpich --for jacobi2d --budget 30m

  nearpeak tune --mpi openmpi --trace trace.json --budget 10m

  nearpeak tune --resume -o tuned --budget 10m

  nearpeak run latency --mpi mpich@tuned/profile.toml

{sentence("tune")}
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("tune", help=HELP)(tune)


def tune(
    mpi: Annotated[
        str | None,
        typer.Option(metavar="SPEC[@SETTINGS]", help="The library: its name, or a path."),
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="BENCHMARK:SIZE,...",
            help=f"What it is to be faster in; of an application, like jacobi2d, its name alone is"
            f" its usual sizes. Default: {DEFAULT}.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What `nearpeak trace -o FILE` wrote of an application: it is to be faster in what"
            " this one does longest, in place of --for.",
        ),
    ] = None,
    path: PathId = None,
    buffers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="As in `nearpeak run`: H host, P pinned, D device, M managed. Default: H,H.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"For search and confirmation. Default: {BUDGET}; with --resume, what it may take"
            " from now on. Default then: what is left.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Repeat a search in the same order.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where all of it goes.")
    ] = Path(FOLDER),
    resume: Annotated[
        bool, typer.Option("--resume", help="Complete what was begun in DIR.")
    ] = False,
    accept_commands: AcceptCommands = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the values that would be tried.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Searches, confirms, writes and prints."""
    from nearpeak.runs import tune as runs
    from nearpeak.terms.sizes import parse_seconds

    if resume:
        if any(option is not None for option in (mpi, targets, trace, path, buffers, seed)):
            raise UserError(
                "--resume takes every option from the folder: give only -o DIR, and --budget for"
                " more time"
            )
        added = given("--budget", parse_seconds, budget)
        leave(runs.resume(output, added, accept=accept_commands, dry_run=dry_run, verbose=verbose))
        return
    if accept_commands:
        raise UserError("--accept-commands needs --resume: give it, or leave this out")
    request = _request(mpi, targets, trace, path, buffers or "H,H", budget or BUDGET, seed)
    leave(runs.start(output, request, dry_run=dry_run, verbose=verbose))


def _request(
    mpi: str | None,
    targets: str | None,
    trace: Path | None,
    path: str | None,
    buffers: str,
    budget: str,
    seed: int | None,
) -> "Asked":
    from nearpeak.runs.tune import targets_of_trace
    from nearpeak.terms.buffers import parse_buffers
    from nearpeak.terms.sizes import parse_seconds
    from nearpeak.tune.journal import Asked

    if mpi is None:
        raise UserError("name a library, like `nearpeak tune --mpi openmpi`")
    if trace is not None:
        if targets is not None:
            raise UserError("--trace and --for both say what is to be faster: give one of them")
        targets = targets_of_trace(trace, mpi, buffers)
    return Asked(
        mpi=mpi,
        targets=targets or DEFAULT,
        path=path,
        buffers=parsed("--buffers", parse_buffers, buffers),
        budget_seconds=parsed("--budget", parse_seconds, budget),
        seed=random.SystemRandom().getrandbits(31) if seed is None else seed,
    )
