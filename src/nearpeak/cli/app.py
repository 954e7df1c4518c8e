# SPDX-License-Identifier: Apache-2.0
"""`nearpeak app`: solves the problem of an application, or says what another library would do."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.errors import UserError

HELP = """Solve an application's problem and draw the solution, or predict its time.

With --tolerance the application solves its problem on the ranks of a library, prints how far it
is as it goes, and compares the solution with the closed form. With --what-if it says from a study
what an iteration would take with the messages of another library.

All other options go to nearpeak-mpi as they are: --sizes, --type, --overlap.

Examples:

    nearpeak app jacobi2d --mpi mpich --ranks 4 --sizes 64 --tolerance 1e-6 --plot solution.png

    nearpeak app jacobi2d --study study --what-if openmpi-cuda@dmabuf-off

Exit status: 0; 1 if it was not solved; 2 for bad input.
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    passing = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("app", help=HELP, context_settings=passing)(application)


def application(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="jacobi2d, ...")],
    mpi: Annotated[
        str | None, typer.Option(metavar="SPEC[@SETTINGS]", help="The library that it runs with.")
    ] = None,
    ranks: Annotated[int, typer.Option(metavar="N", min=1, help="So many ranks.")] = 2,
    oversubscribe: Annotated[
        bool, typer.Option("--oversubscribe", help="More ranks than cores share them.")
    ] = False,
    buffers: Annotated[
        str, typer.Option(metavar="A,B", help="As of `nearpeak run`: H,H, D,D.")
    ] = "H,H",
    tolerance: Annotated[
        str | None, typer.Option(metavar="RESIDUE", help="Solve until the residue is no larger.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --tolerance: draw the solution (.html, .png)."),
    ] = None,
    study: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With --what-if: a study that has both.")
    ] = None,
    what_if: Annotated[
        str | None,
        typer.Option(
            "--what-if",
            metavar="LIBRARY[@SETTINGS]",
            help="Predict the time with this library's messages.",
        ),
    ] = None,
) -> None:
    """Either of both."""
    if (tolerance is None) == (what_if is None):
        raise UserError("give --tolerance RESIDUE to solve, or --study DIR --what-if LIBRARY")
    if what_if is not None:
        if study is None or context.args or plot:
            raise UserError("--what-if goes with --study DIR, and with nothing else")
        _what_if(study, name, what_if)
        return
    if study is not None:
        raise UserError("--study goes with --what-if")
    from nearpeak.cli.run import launch
    from nearpeak.report.solution import check, draw

    if plot is not None:
        check(plot)

    with tempfile.TemporaryDirectory() as folder:
        solution = Path(folder) / "solution.json"
        more = ["--solution", str(solution)] if plot else []
        status = launch(
            name,
            mpi,
            [*context.args, "--solve", str(tolerance), *more],
            ranks=ranks,
            oversubscribe=oversubscribe,
            buffers=buffers,
        )
        if plot is not None and solution.exists():
            draw(solution, plot)
            print(f"Solution: {plot}")
    raise typer.Exit(status)


def _what_if(folder: Path, name: str, label: str) -> None:
    from rich.console import Console

    from nearpeak.findings.build import build_results
    from nearpeak.report.terminal import print_groups
    from nearpeak.report.what_if import what_if

    table = what_if(build_results(folder), name, label)
    print_groups(table, Console(highlight=False, emoji=False, markup=False))
