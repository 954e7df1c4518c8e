# SPDX-License-Identifier: Apache-2.0
"""`nearpeak compare`: what became slower between studies."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import AsHtml, AsJson, AsJunit, Verbose, check_files, deliver, parse_tolerance
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
    as_json: AsJson = None,
    as_junit: AsJunit = None,
    as_html: AsHtml = None,
    verbose: Verbose = False,
) -> None:
    """Prints what changed and writes the files; exits with the status of the verdict."""
    from nearpeak.compare.build import compare as compared_sides
    from nearpeak.compare.build import to_json
    from nearpeak.compare.load import load_side
    from nearpeak.compare.outcomes import to_junit
    from nearpeak.compare.present import present

    allowed = parse_tolerance(tolerance)
    check_files(as_json, as_junit, as_html)
    comparison = compared_sides(
        load_side([old]), load_side(new), allowed, allow_missing=allow_missing
    )
    texts = [(as_json, partial(to_json, comparison)), (as_junit, partial(to_junit, comparison))]
    deliver(present(comparison), comparison.status, texts, as_html, verbose=verbose)
