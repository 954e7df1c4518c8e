# SPDX-License-Identifier: Apache-2.0
"""`nearpeak report`: makes results.json and report.html again and prints the table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from nearpeak.cli import Require, Summary, Verbose, check_company, leave
from nearpeak.errors import UserError
from nearpeak.runs.messages import say
from nearpeak.terms.exit_statuses import sentence

if TYPE_CHECKING:
    from nearpeak.document.model import Document

HELP = f"""Print a study's tables and make its report again, or export them.

Makes results.json and report.html again from the records, in the study folder
or in the folder of -o. For a folder of `nearpeak conform` or `nearpeak nodes`
it writes conform.json and conform.html, or nodes.json and nodes.html, and has
the exit status of that command. If the folder is read-only, it prints and
judges, and writes nothing.

With --csv, --latex or --json it writes a study's results for other programs,
to standard output or to the FILE of -o, and nothing else.

A study that was given requirements is judged by them, unless --require gives
others.

{sentence("report")}

Examples:

  nearpeak report study

  nearpeak report study --open

  nearpeak report study --verbose

  nearpeak report study --summary summary.md

  nearpeak report study --trace trace.json

  nearpeak report /archive/study -o here

  nearpeak report study --beside lassen-2019 --beside summit-2019

  nearpeak report study --require "gpu-gpu nvlink:bw:16M>=0.9" --junit study.xml

  nearpeak report study --require "intel,gpu-gpu nvlink:latency:8<=12us strict"

  nearpeak report study --require "ceiling,gpu-gpu nvlink:bw>=80% of theoretical"

  nearpeak report study --require "ceiling,gpu-gpu pair *:bw:256M>=380GB/s strict"

  nearpeak report study --require "host-memory node0:copy>=20GB/s"

  nearpeak report study --csv -o cells.csv

  nearpeak report study --csv --rows findings > findings.csv

  nearpeak report study --latex > tables.tex

  nearpeak report conform

  nearpeak report nodes
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("report", help=HELP)(report)


def report(
    context: typer.Context,
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
            "-o",
            "--output",
            metavar="DIR",
            help="Where to write; with --csv, --latex or --json the file instead of stdout."
            " Default: the folder itself.",
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
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What `nearpeak trace -o FILE` wrote of an application: its calls order the"
            " findings, in place of usual applications.",
        ),
    ] = None,
    summary: Summary = None,
    verbose: Verbose = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Write a row for each cell, and nothing else.")
    ] = False,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="With --csv: another list of results.json, like findings, failures, headlines or"
            " comparisons. Default: cells.",
        ),
    ] = None,
    as_latex: Annotated[
        bool, typer.Option("--latex", help="Write the tables for booktabs, and nothing else.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write results.json, and nothing else.")
    ] = False,
) -> None:
    """Rebuilds both files; bad folders and unknown machines are a UserError."""
    from nearpeak.conform import journal
    from nearpeak.nodes import journal as nodes_journal

    wanted = {"--csv": as_csv, "--latex": as_latex, "--json": as_json}
    forms = [form for form, is_wanted in wanted.items() if is_wanted]
    if forms or rows:
        _export(context, folder, forms, rows, output)
        return
    if folder.is_file():
        raise UserError(f"{folder} is a file: nearpeak import {folder} reads what tools print")
    written = _Written(folder, output, open_it, summary)
    if (folder / nodes_journal.NAME).exists():
        if beside or trace:
            raise UserError(f"{folder} is of `nearpeak nodes`: leave --beside and --trace out")
        leave(_nodes(written, require or [], as_junit, verbose=verbose))
    elif (folder / journal.NAME).exists():
        if beside or require or as_junit or trace:
            raise UserError(
                f"{folder} is of `nearpeak conform`: give only --open, --summary and -o"
            )
        leave(_conformance(written, verbose=verbose))
    else:
        leave(_study(written, beside or [], require or [], as_junit, trace, verbose=verbose))


class _Written(NamedTuple):
    """The report that is to be made of a folder, and its place."""

    folder: Path
    output: Path | None
    open_it: bool
    summary: Path | None

    def target(self) -> Path | None:
        """Makes the folder to write into; None if it is read-only and was not named with -o."""
        from nearpeak.files import is_read_only, make_output

        if self.output is not None:
            make_output(self.output)
            return self.output
        if not is_read_only(self.folder):
            return self.folder
        if self.open_it:
            raise UserError(f"{self.folder} is read-only: choose a folder for the page with -o")
        say(f"nearpeak: {self.folder} is read-only, so nothing is written: choose a folder with -o")
        return None

    def summarise(self, document: "Document") -> None:
        """Writes the summary of a document, if it is wanted."""
        from nearpeak.document import markdown
        from nearpeak.files import write_whole

        if self.summary is not None:
            write_whole(self.summary, markdown.render(document))

    def show(self, page: Path | None) -> None:
        """Shows the page in a browser, if that is wanted; UserError without one."""
        import webbrowser

        if self.open_it and page and not webbrowser.open(page.resolve().as_uri()):
            raise UserError(f"no browser was found to open {page}: copy it to a machine with one")


def _nodes(written: _Written, require: list[str], as_junit: Path | None, *, verbose: bool) -> int:
    from nearpeak.files import write_whole
    from nearpeak.nodes.outcomes import to_junit
    from nearpeak.nodes.present import present
    from nearpeak.runs import nodes

    results = nodes.judged(written.folder, require)
    target = written.target()
    if as_junit is not None:
        write_whole(as_junit, to_junit(results))
    written.summarise(present(results))
    written.show(nodes.present(results, target, verbose=verbose))
    return nodes.conclude(results)


def _conformance(written: _Written, *, verbose: bool) -> int:
    from nearpeak.conform.present import present
    from nearpeak.runs import conform

    conformance = conform.read(written.folder)
    target = written.target()
    written.summarise(present(conformance))
    written.show(conform.present(conformance, target, verbose=verbose))
    return conform.conclude(conformance)


def _study(
    written: _Written,
    beside: list[str],
    require: list[str],
    as_junit: Path | None,
    trace: Path | None,
    *,
    verbose: bool,
) -> int:
    from nearpeak.files import write_whole
    from nearpeak.report.beside import choose
    from nearpeak.report.digest import digest
    from nearpeak.report.required import to_junit
    from nearpeak.runs import judged

    machines = choose(beside)
    results = judged.judged(written.folder, require, trace)
    target = written.target()
    if as_junit is not None:
        write_whole(as_junit, to_junit(results))
    written.summarise(digest(results, written.folder))
    written.show(judged.present(results, target, written.folder, machines, verbose=verbose))
    if trace and (text := judged.without_findings(results, trace)):
        print(text)
    if results.requirements and not require:
        print("Judged by the requirements of the study's plan (--require gives others):")
    return judged.conclude(results)


def _export(
    context: typer.Context, folder: Path, forms: list[str], rows: str | None, output: Path | None
) -> None:
    """Writes a study's results in one form; UserError for several, and for other options."""
    if len(forms) > 1:
        raise UserError("give only one of --csv, --latex and --json")
    if forms != ["--csv"] and rows:
        raise UserError("--rows is of the CSV: give --csv too")
    check_company(context, forms[0], "-o", *(["--rows"] if forms == ["--csv"] else []))
    from nearpeak.files import write_whole
    from nearpeak.findings.build import build_results
    from nearpeak.report.export import to_csv, to_latex
    from nearpeak.results.build import to_json

    results = build_results(folder)
    if forms == ["--csv"]:
        text = to_csv(results, *([rows] if rows else []))
    else:
        text = to_latex(results) if forms == ["--latex"] else to_json(results)
    if output is None:
        typer.echo(text.encode(), nl=False)  # as a file has it, whatever the locale
    else:
        write_whole(output, text)
