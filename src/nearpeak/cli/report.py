# SPDX-License-Identifier: Apache-2.0
"""`nearpeak report`: makes results.json and report.html again and prints the table."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import Require, leave
from nearpeak.errors import UserError
from nearpeak.runs.messages import say
from nearpeak.terms.exit_statuses import sentence

HELP = f"""Make a study's results and report again from its records, and print the table.

Writes results.json and report.html into the study folder, or into the folder
of -o. For a folder of `nearpeak conform` or `nearpeak nodes` it writes
conform.json and conform.html, or nodes.json and nodes.html, and has the exit
status of that command. If the folder is
read-only, it prints and judges, and writes nothing.

A study that was given requirements is judged by them, unless --require gives
others.

{sentence("report")}

Examples:

  nearpeak report study

  nearpeak report study --open

  nearpeak report /archive/study -o here

  nearpeak report study --beside lassen-2019 --beside summit-2019

  nearpeak report study --require "gpu-gpu nvlink:bw:16M>=0.9" --junit study.xml

  nearpeak report study --require "intel,gpu-gpu nvlink:latency:8<=12us strict"

  nearpeak report study --require "ceiling,gpu-gpu nvlink:bw>=80% of theoretical"

  nearpeak report study --require "host-memory node0:copy>=20GB/s"

  nearpeak report conform

  nearpeak report nodes
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("report", help=HELP)(report)


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The folder of a study, of a conformance run, or of `nearpeak nodes`.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Where to write. Default: the folder itself."
        ),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Compare the two tables with those published for a machine, like lassen-2019."
            " May be given several times.",
        ),
    ] = None,
    require: Require = None,
    as_junit: Annotated[
        Path | None,
        typer.Option(
            "--junit", metavar="FILE", help="Write the requirements as JUnit XML, for CI."
        ),
    ] = None,
) -> None:
    """Rebuilds both files; bad folders and unknown machines are a UserError."""
    from nearpeak.conform import journal
    from nearpeak.files import write_whole
    from nearpeak.nodes import journal as nodes_journal
    from nearpeak.report.nodes.required import to_junit as nodes_junit
    from nearpeak.runs import conform as conform_runs
    from nearpeak.runs import nodes as nodes_runs

    if folder.is_file():
        raise UserError(f"{folder} is a file: nearpeak import {folder} reads what tools print")
    if (folder / nodes_journal.NAME).exists():
        if beside:
            raise UserError(f"{folder} is of `nearpeak nodes`: leave --beside out")
        results = nodes_runs.judged(folder, require or ())
        target = _target(folder, output, open_it)
        if as_junit is not None:
            write_whole(as_junit, nodes_junit(results))
        page = nodes_runs.present(results, target)
        if open_it and page:
            _show(page)
        leave(nodes_runs.conclude(results))
        return
    if not (folder / journal.NAME).exists():
        _report_study(folder, output, open_it, beside or [], require or [], as_junit)
        return
    if beside or require or as_junit:
        raise UserError(f"{folder} is of `nearpeak conform`: give only --open and -o")
    conformance = conform_runs.read(folder)
    page = conform_runs.present(conformance, _target(folder, output, open_it))
    if open_it and page:
        _show(page)
    leave(conform_runs.conclude(conformance))


def _target(folder: Path, output: Path | None, open_it: bool) -> Path | None:
    """Makes the folder to write into; None if it is read-only and was not named with -o."""
    from nearpeak.files import is_read_only, make_output

    if output is not None:
        make_output(output)
        return output
    if not is_read_only(folder):
        return folder
    if open_it:
        raise UserError(f"{folder} is read-only: choose a folder for the page with -o")
    say(f"nearpeak: {folder} is read-only, so nothing is written: choose a folder with -o")
    return None


def _report_study(
    folder: Path,
    output: Path | None,
    open_it: bool,
    beside: list[str],
    require: list[str],
    as_junit: Path | None,
) -> None:
    from nearpeak.files import write_whole
    from nearpeak.report.beside import choose
    from nearpeak.report.required import to_junit
    from nearpeak.runs import judged

    machines = choose(beside)
    results = judged.judged(folder, require)
    target = _target(folder, output, open_it)
    if as_junit is not None:
        write_whole(as_junit, to_junit(results))
    page = judged.present(results, target, folder, machines)
    if open_it and page:
        _show(page)
    if results.requirements and not require:
        print("Judged by the requirements of the study's plan (--require gives others):")
    leave(judged.conclude(results))


def _show(page: Path) -> None:
    """Shows a page in a browser; UserError without one."""
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        raise UserError(f"no browser was found to open {page}: copy it to a machine that has one")
