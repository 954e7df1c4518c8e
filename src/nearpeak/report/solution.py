# SPDX-License-Identifier: Apache-2.0
"""The solution of an application's problem (`nearpeak-mpi ... --solve --solution`), drawn."""

from pathlib import Path

import msgspec
from plotly import graph_objects  # type: ignore[import-untyped]

from nearpeak.errors import UserError
from nearpeak.files import write_whole

SCHEMA = 1


class Solution(msgspec.Struct, kw_only=True):
    """The file: docs/applications.md."""

    schema: int
    rows: int
    columns: int
    step: int  # from one point to the next
    values: list[list[float]]


def read(file: Path) -> Solution:
    """UserError for a file that is none."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Solution)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise UserError(f"{file} is no solution: {error}") from None
    if found.schema != SCHEMA:
        raise UserError(f"{file} is of schema {found.schema}, and this nearpeak reads {SCHEMA}")
    return found


def draw(file: Path, page: Path) -> None:
    """A page with the solution as a map, which works offline. UserError as of `read`, and where the
    page cannot be written."""
    solution = read(file)
    step = solution.step
    figure = graph_objects.Figure(
        graph_objects.Heatmap(
            z=solution.values,
            x=list(range(0, solution.columns, step)),
            y=list(range(0, solution.rows, step)),
            colorscale="Viridis",
            hovertemplate="row %{y}, column %{x}: %{z:.4g}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", scaleanchor="x", title="row")
    figure.update_xaxes(constrain="domain", title="column")
    figure.update_layout(title=f"{solution.rows} x {solution.columns} cells")
    write_whole(page, figure.to_html(include_plotlyjs=True, full_html=True))
