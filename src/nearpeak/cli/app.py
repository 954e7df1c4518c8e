# SPDX-License-Identifier: Apache-2.0
"""`nearpeak app`: solves the problem of an application, or says what another library would do."""

import math
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import Oversubscribe
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import paragraphs

HELP = f"""Solve an application's problem and draw the solution, or predict its time.

With --tolerance, the application solves its problem until the distance
from the solution is at most DISTANCE (root of the mean square). Meanwhile
it prints a bound of that distance, and the residue that the bound follows
from. At the end it prints the distance from the closed form. The default
problem has 64 cells along a side of each rank's tile; --sizes gives
another number, and with --scaling strong it is that of the whole problem.

With --what-if, it predicts from a study how long an iteration would take
with the messages of another library.

All other options are passed to nearpeak-mpi: --sizes, --type, --overlap.

Examples:

    nearpeak app jacobi2d --mpi mpich --ranks 4 --sizes 64 --tolerance 1e-6 --plot solution.html

    nearpeak app jacobi2d --study study --what-if openmpi-cuda@dmabuf-off

Exit status (a line on stderr says why it is not 0):

{paragraphs("app")}
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
    ranks: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of ranks. Default: 2.")
    ] = None,
    oversubscribe: Oversubscribe = False,
    buffers: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="As in `nearpeak run`, like D,D. Default: H,H."),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(metavar="DISTANCE", help="Solve until the distance is at most this."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --tolerance: draw the solution, as .html; as .png, .svg or .pdf where"
            " matplotlib is installed, which `make setup` does not do.",
        ),
    ] = None,
    solution: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --tolerance: write the solution as JSON."),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --what-if: a study that measured both libraries."),
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
    """Solves the problem, or predicts its time."""
    from nearpeak.launching.names import check_name

    if what_if is None:  # else the study knows which it has
        check_name(name)
    if (tolerance is None) == (what_if is None):
        raise UserError("give --tolerance DISTANCE to solve, or --study DIR --what-if LIBRARY")
    if what_if is not None:
        others = {
            "--mpi": mpi,
            "--ranks": ranks,
            "--oversubscribe": oversubscribe,
            "--buffers": buffers,
            "--plot": plot,
            "--solution": solution,
        }
        given = [*(option for option, value in others.items() if value), *context.args]
        if study is None or given:
            leave_out = f": leave out {' '.join(given)}" if given else ""
            raise UserError(f"--what-if goes with --study DIR, and with nothing else{leave_out}")
        _what_if(study, name, what_if)
        return
    if study is not None:
        raise UserError("--study goes with --what-if")
    if any(word.partition("=")[0] == "--solve" for word in context.args):
        raise UserError("--solve of nearpeak-mpi is --tolerance here: leave out --solve")
    from nearpeak.cli.run import launch
    from nearpeak.files import check_target, write_whole
    from nearpeak.report.solution import check, draw

    distance = _distance(str(tolerance))
    if plot is not None:
        check(plot)
    if plot is not None and plot == solution:
        raise UserError(f"--plot and --solution are both {plot}: give each a file of its own")
    for target in filter(None, (plot, solution)):
        check_target(target)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "solution.json"
        extra = ["--solution", str(result)] if plot or solution else []
        status = launch(
            name,
            mpi,
            [*context.args, "--solve", repr(distance), *extra],
            ranks=ranks or 2,
            oversubscribe=oversubscribe,
            buffers=buffers or "H,H",
        )
        if result.exists():
            if solution is not None:
                write_whole(solution, result.read_text())
            if plot is not None:
                draw(result, plot)
                print(f"Solution: {plot}")
    raise typer.Exit(status)


def _distance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise UserError(f"--tolerance {text}: give a number above 0, like 1e-6")
    return value


def _what_if(folder: Path, name: str, label: str) -> None:
    from nearpeak.console import PlainConsole
    from nearpeak.document.terminal import print_block
    from nearpeak.findings.build import build_results
    from nearpeak.report.what_if import what_if

    results = build_results(folder)
    measured = {
        entry.cell.who.label for entry in results.applications if entry.cell.case.benchmark == name
    }
    if measured == {label}:
        raise UserError(
            f"--what-if {label}: the study measured {name} with this library only, so there is"
            " nothing to predict: name another library whose messages the study has"
        )
    print_block(what_if(results, name, label), PlainConsole())
