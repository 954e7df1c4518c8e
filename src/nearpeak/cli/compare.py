# SPDX-License-Identifier: Apache-2.0
"""`nearpeak compare`: what became slower between studies."""

from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import Verbose
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import paragraphs

HELP = f"""Judge studies against earlier ones: what became slower.

OLD is the baseline; all folders that follow are the new side together. Each is
a folder of `nearpeak study`, or a folder that holds such folders. Every run of
a study is a session. Measure three sessions of each side: with fewer, the
scatter of sessions hides most changes.

Exit status:

{paragraphs("compare", 2)}

Examples:

  nearpeak compare before after

  nearpeak compare baseline today --html compare.html --junit compare.xml

  nearpeak compare old-driver new-1 new-2 new-3 --tolerance 10%

  nearpeak compare all-benchmarks latency-alone --allow-missing
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("compare", help=HELP)(compare)


def compare(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The baseline.")],
    new: Annotated[list[Path], typer.Argument(metavar="NEW...", help="The new side.")],
    tolerance: Annotated[
        str,
        typer.Option(
            metavar="PERCENT",
            help="How much a new figure may be worse than an old one, like 10%. Below 1 the sign is"
            " needed.",
        ),
    ] = "5%",
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing",
            help="Accept that NEW lacks libraries, paths or benchmarks that OLD measured.",
        ),
    ] = False,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write it all as JSON.")
    ] = None,
    as_junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, for CI.")
    ] = None,
    as_html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page.")
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Prints what changed and writes the files; exits with the status of the verdict."""
    from nearpeak.compare.build import compare as compared_sides
    from nearpeak.compare.build import to_json
    from nearpeak.compare.load import load_side
    from nearpeak.compare.outcomes import to_junit
    from nearpeak.compare.present import present
    from nearpeak.document.page import write_page
    from nearpeak.document.terminal import print_document
    from nearpeak.files import write_whole

    allowed = parse_tolerance(tolerance)
    named = [file for file in (as_json, as_junit, as_html) if file is not None]
    if twice := next((file for file in named if named.count(file) > 1), None):
        raise UserError(f"{twice} is named for two outputs: give each a file of its own")
    comparison = compared_sides(
        load_side([old]), load_side(new), allowed, allow_missing=allow_missing
    )
    document = present(comparison)
    if as_json is not None:
        write_whole(as_json, to_json(comparison))
    if as_junit is not None:
        write_whole(as_junit, to_junit(comparison))
    if as_html is not None:
        write_page(document, as_html)
    print_document(document, as_html, verbose=verbose)
    raise typer.Exit(comparison.status)


def parse_tolerance(text: str) -> float:
    """`5%` or `5` as 0.05; UserError for anything but 0 to less than 100 percent, and for `0.05`,
    which may be meant as a fraction."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise UserError(f"--tolerance {text!r} is no percentage below 100: give one like 5%")
    if 0 < value < 1 and "%" not in text:
        raise UserError(f"--tolerance {text}: write {text}% or {100 * value:g}%")
    return value / 100
