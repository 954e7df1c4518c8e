# SPDX-License-Identifier: Apache-2.0
"""`nearpeak export`: a study's results for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.errors import UserError

HELP = """Write a study's results for other programs: to standard output, or to a file.

--csv has a row for each cell, --latex the tables (booktabs), --json is results.json. --rows chooses
another list of results.json for the CSV: findings, failures, headlines, comparisons, ...

Examples:

  nearpeak export study --csv -o cells.csv

  nearpeak export study --csv --rows findings > findings.csv

  nearpeak export study --latex > tables.tex
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("export", help=HELP)(export)


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study folder.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="A row for each cell.")] = False,
    rows: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Of the CSV: a list of results.json. Default: cells."),
    ] = None,
    as_latex: Annotated[bool, typer.Option("--latex", help="The tables, for booktabs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="results.json.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Instead of stdout.")
    ] = None,
) -> None:
    """Writes exactly one form; a bad folder or two forms are a UserError."""
    if as_csv + as_latex + as_json != 1:
        raise UserError("export writes one form: give exactly one of --csv, --latex and --json")
    if rows and not as_csv:
        raise UserError("--rows is of the CSV: give --csv too")

    from nearpeak.files import write_whole
    from nearpeak.findings.build import build_results
    from nearpeak.report.export import to_csv, to_latex
    from nearpeak.results.build import to_json

    results = build_results(folder)
    if as_csv:
        text = to_csv(results, *([rows] if rows else []))
    else:
        text = to_latex(results) if as_latex else to_json(results)
    if output is None:
        typer.echo(text.encode(), nl=False)  # as a file has it, whatever the locale
    else:
        write_whole(output, text)
