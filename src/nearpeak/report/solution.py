# SPDX-License-Identifier: Apache-2.0
"""The solution of an application's problem (`nearpeak-mpi ... --solve --solution`), drawn."""

import importlib.util
import sys
from pathlib import Path

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.document import templates
from nearpeak.errors import UserError
from nearpeak.files import write_whole

SCHEMA = 1
PAGE, PICTURES = ".html", (".png", ".svg", ".pdf")

_HERE = Path(__file__).parent
_SIGNIFICANT = 4  # digits of a value that the page shows


class Solution(msgspec.Struct, kw_only=True):
    """The format of the file, see docs/reference/applications.md."""

    schema: int
    rows: int
    columns: int
    step: int  # from one point to the next
    values: list[list[float]]


def read(file: Path) -> Solution:
    """Reads the file. Raises UserError if it cannot, or if it is no solution."""
    try:
        solution = msgspec.json.decode(file.read_bytes(), type=Solution)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None
    except UNDECODABLE as error:
        raise UserError(f"{file} is no solution: {error}") from None
    if solution.schema != SCHEMA:
        raise UserError(f"{file} is of schema {solution.schema}, and this nearpeak reads {SCHEMA}")
    return solution


def check(target: Path) -> None:
    """Raises UserError if the suffix names no format, or one that cannot be drawn here."""
    if target.suffix not in (PAGE, *PICTURES):
        names = ", ".join((PAGE, *PICTURES))
        raise UserError(f"{target}: what it is to be follows from its end, one of {names}")
    if target.suffix != PAGE and importlib.util.find_spec("matplotlib") is None:
        raise UserError(
            f"a {target.suffix} needs matplotlib: install it with `{sys.executable} -m pip install"
            f" matplotlib`, or write {target.with_suffix(PAGE)}, which any browser shows"
        )


def draw(file: Path, target: Path) -> None:
    """Draws the solution as a map: a page that works offline, or a picture.

    Raises the UserErrors of `read` and `check`, and one if the target cannot be written.
    """
    check(target)
    solution = read(file)
    if target.suffix == PAGE:
        write_whole(target, _page(solution))
        return
    try:
        _picture(solution, target)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror}") from None


def _title(solution: Solution) -> str:
    return f"{solution.rows} x {solution.columns} cells"


def _rounded(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT}g}")


def _page(solution: Solution) -> str:
    charts, script = templates.script(_HERE / "charts.js"), templates.script(_HERE / "solution.js")
    values = [list(map(_rounded, row)) for row in solution.values]
    return (
        templates.environment(_HERE)
        .get_template("solution.html.j2")
        .render(
            title=_title(solution),
            css=templates.css(),
            charts=charts,
            script=script,
            data=templates.embedded({"step": solution.step, "values": values}),
            policy=templates.policy(charts, script),
        )
    )


def _picture(solution: Solution, target: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")  # needs no display
    axes = figure.subplots()
    extent = (-0.5, solution.columns - 0.5, solution.rows - 0.5, -0.5)  # the first row above
    figure.colorbar(axes.imshow(solution.values, extent=extent))
    axes.set(title=_title(solution), xlabel="column", ylabel="row")
    figure.savefig(target, dpi=150)
