# SPDX-License-Identifier: Apache-2.0
"""`nearpeak report`: makes results.json and report.html again and prints the table."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import Require, conclude
from nearpeak.cli.conform import write
from nearpeak.errors import UserError

HELP = """Make a study's results and report again from its records, and print the table.

Writes results.json and report.html into the study folder; into the folder of
`nearpeak conform` conform.json and conform.html, with its exit status.

Exit status: 0; 1 if a launch had failed or a requirement is missed; 2 for bad input.

Examples:

  nearpeak report study

  nearpeak report study --open

  nearpeak report study --beside lassen-2019 --beside summit-2019

  nearpeak report study --require "gpu-gpu nvlink:bw:16M>=0.9" --junit study.xml

  nearpeak report conform
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("report", help=HELP)(report)


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of a study, or of a conformance run.")
    ],
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
    from nearpeak.conform import journal

    if (folder / journal.NAME).exists():
        if beside or require or as_junit:
            raise UserError(f"{folder} is of `nearpeak conform`: it takes --open alone")
        failed = write(folder, journal.read(folder)).failed
        if open_it:
            _show(folder / "conform.html")
        raise typer.Exit(int(failed))
    _report_study(folder, open_it, beside or [], require or [], as_junit)


def _report_study(
    folder: Path, open_it: bool, beside: list[str], require: list[str], as_junit: Path | None
) -> None:
    from nearpeak.files import write_whole
    from nearpeak.report.beside import choose
    from nearpeak.report.page import make_report
    from nearpeak.report.required import to_junit
    from nearpeak.report.terminal import print_summary
    from nearpeak.results.requirements import check, judge, measured_keys, parse_requirement

    requirements = [parse_requirement(one) for one in require]
    machines = choose(beside)
    results, page = make_report(folder, machines)
    check(requirements, measured_keys(results), results.benchmarks)
    judged = judge(requirements, results)
    if as_junit is not None:
        write_whole(as_junit, to_junit(results, judged))
    print_summary(results, page, machines=machines)
    if open_it:
        _show(page)
    conclude(results, judged)


def _show(page: Path) -> None:
    """In a browser; UserError without one."""
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        raise UserError(f"no browser was found to open {page}: copy it to where there is one")
