# SPDX-License-Identifier: Apache-2.0
"""`nearpeak import`: other tools' output, as results and a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.errors import UserError

if TYPE_CHECKING:
    from nearpeak.observations.merged import File

HELP = """Read what other tools printed, and make results and a report of it.

It reads the output of OMB 5 to 7 (osu_latency, osu_bw, osu_bibw and the
blocking collective operations), of IMB-MPI1 and IMB-MPI1-GPU, and of
nccl-tests, text or JSON. Each file is one launch of what it is called: NAME,
or the file's own name without its ending. Files of one NAME are launches of
one library, and have an interval from six files on; two files with the same
content are one launch, and refused.

With -o it writes results.json and report.html.

Exit status: 0; 1 if a validation failed; 2 for bad input.

Examples:

  nearpeak import osu_latency.txt

  nearpeak import mpich=osu_bw.1 mpich=osu_bw.2 openmpi=osu_bw.3 -o here
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("import", help=HELP)(import_)


def import_(
    files: Annotated[
        list[str], typer.Argument(metavar="[NAME=]FILE...", help="What a tool printed, in a file.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Where to write.")
    ] = None,
) -> None:
    """Files that cannot be read are a UserError, and nothing is written."""
    from nearpeak.cli import conclude
    from nearpeak.files import make_output
    from nearpeak.findings.build import results_of
    from nearpeak.observations.merged import merge
    from nearpeak.report.page import write_report
    from nearpeak.report.terminal import print_summary

    results = results_of(merge([_file(word) for word in files]))
    page = None
    if output is not None:
        make_output(output)
        page = write_report(results, output, [])
    print_summary(results, page)
    conclude(results, [])


def _file(word: str) -> "File":
    from nearpeak.observations.merged import File

    name, equals, path = word.partition("=")
    if not equals or Path(word).exists():
        name, path = Path(word).stem, word
    if not name or not path:
        raise UserError(f"{word}: give FILE, or NAME=FILE")
    if not Path(path).is_file():
        raise UserError(f"{path}: no such file; give what a tool printed, or NAME=FILE")
    return File(name, Path(path))
