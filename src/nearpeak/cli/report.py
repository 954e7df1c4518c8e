# SPDX-License-Identifier: Apache-2.0
"""`nearpeak report`: makes results.json and report.html again and prints the table."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import Require, conclude

HELP = """Make a study's results and report again from its records, and print the table.

Writes results.json and report.html into the study folder.

Exit status: 0; 1 if a launch had failed or a requirement is missed; 2 for bad input.

Examples:

  nearpeak report study

  nearpeak report study --open

  nearpeak report study --beside lassen-2019 --beside summit-2019

  nearpeak report study --require "gpu-gpu nvlink:bw:16M>=0.9" --junit study.xml
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("report", help=HELP)(report)


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study folder.")],
    open_it: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Set the two tables beside those published of a machine, like lassen-2019;"
            " may be given several times.",
        ),
    ] = None,
    require: Require = None,
    as_junit: Annotated[
        Path | None,
        typer.Option(
            "--junit", metavar="FILE", help="Write JUnit XML of what is required, for CI."
        ),
    ] = None,
) -> None:
    """Rebuilds both files; bad folders and unknown machines are a UserError."""
    import webbrowser

    from nearpeak.errors import UserError
    from nearpeak.files import write_whole
    from nearpeak.report.beside import choose
    from nearpeak.report.page import make_report
    from nearpeak.report.required import to_junit
    from nearpeak.report.terminal import print_summary
    from nearpeak.results.requirements import check, judge, measured_keys, parse_requirement

    requirements = [parse_requirement(one) for one in require or []]
    machines = choose(beside or [])
    results, page = make_report(folder, machines)
    check(requirements, measured_keys(results), results.benchmarks)
    judged = judge(requirements, results)
    if as_junit is not None:
        write_whole(as_junit, to_junit(results, judged))
    print_summary(results, page, machines=machines)
    if open_it and not webbrowser.open(page.resolve().as_uri()):
        raise UserError(f"no browser was found to open {page}: copy it to where there is one")
    conclude(results, judged)
