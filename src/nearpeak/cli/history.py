# SPDX-License-Identifier: Apache-2.0
"""`nearpeak history`: since when is something slower, and what changed then."""

from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import AsHtml, AsJson, AsJunit, Verbose, check_files, deliver, parse_tolerance
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import paragraphs

HELP = f"""Find since when a machine is slower, and what changed then.

Each DIR is a folder of `nearpeak study`, or a folder that holds such folders,
for instance one of each night. Every run of a study is a session. A history
takes 12 sessions or more: `nearpeak compare` judges fewer.

Exit status:

{paragraphs("history", 2)}

Examples:

  nearpeak history nightly

  nearpeak history nightly --html history.html --junit history.xml

  nearpeak history 2025 2026 --tolerance 10% --verbose

  nearpeak history nightly --since 2026-11-20
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("history", help=HELP)(history)


def history(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Studies over time.")],
    tolerance: Annotated[
        str,
        typer.Option(
            metavar="PERCENT",
            help="Report no smaller change, like 10%. Below 1 the sign is needed.",
        ),
    ] = "5%",
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Accept what became slower before this day or instant of UTC, like 2026-11-20.",
        ),
    ] = None,
    as_json: AsJson = None,
    as_junit: AsJunit = None,
    as_html: AsHtml = None,
    verbose: Verbose = False,
) -> None:
    """Prints what changed and writes the files; exits with the status of the verdict."""
    from nearpeak.compare.load import load_usable
    from nearpeak.history.build import build, to_json
    from nearpeak.history.outcomes import to_junit
    from nearpeak.history.present import present

    smallest, first = parse_tolerance(tolerance), parse_since(since)
    check_files(as_json, as_junit, as_html)
    studies, skipped = load_usable(folders)
    judged = build(studies, smallest, first, skipped)
    texts = [(as_json, partial(to_json, judged)), (as_junit, partial(to_junit, judged))]
    deliver(present(judged), judged.status, texts, as_html, verbose=verbose)


def parse_since(text: str | None) -> str:
    """An instant as records have it; "" without one; UserError for anything but a date."""
    if text is None:
        return ""
    try:
        instant = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise UserError(f"--since {text!r} is no date: give one like 2026-11-20") from None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=timezone.utc)
    return instant.astimezone(timezone.utc).isoformat(timespec="milliseconds")
