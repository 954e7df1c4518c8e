# SPDX-License-Identifier: Apache-2.0
"""`nearpeak import`: other tools' output, as results and a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import Verbose
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import sentence

if TYPE_CHECKING:
    from nearpeak.observations.merged import File

HELP = f"""Read what other tools printed, and make results and a report of it.

It reads the output of OMB 2 to 7 (osu_latency, osu_bw, osu_bibw and their
like of several pairs, one-sided puts and gets, blocking collective
operations), IMB-MPI1 and IMB-MPI1-GPU, nccl-tests, nvbandwidth 0.2 to 0.9,
perftest (ib_write_bw and its like) and ucx_perftest;
of nccl-tests, nvbandwidth and perftest also as JSON. FILE may be a pipe, and
- is standard input. A file holds one run of one program, and is one launch
of what it is called: NAME, or the file's own name without its ending. Files
of one NAME are launches of one library, and have an interval from six on;
two files with the same content are one launch, and refused.

With --beside STUDY the figures stand in the study's report, on its paths,
with its libraries and its ceilings. Where a file was measured, --path says,
unless it fits but one path; nvbandwidth's GPUs are known by themselves.

It ends with a verdict of at most five lines: what the figure is, what such
hardware sustains and the share of it, the likely reason, and what to run next;
or what the table alone cannot tell. The hardware is that of --beside, of the
file, or of --machine: GPUs by model, number and link (h100x8-nvlink,
a100x4-nv4, a100pciex8-pcie), NICs of a host by number and rate (4x200g), or
both (a100x8-nvlink+4x200g).

With -o it writes results.json and report.html.

{sentence("import")}

Examples:

  nearpeak import osu_latency.txt

  mpirun -n 2 osu_latency | nearpeak import mpich=-

  nearpeak import all_reduce.txt --machine h100x8-nvlink+8x400g

  nearpeak import mpich=osu_bw.1 mpich=osu_bw.2 openmpi=osu_bw.3 -o here

  nearpeak import nvbandwidth.json --beside study -o here

  nearpeak import omb=bw.txt --beside study --path "gpu-gpu nvlink" -o here

  nearpeak import a.txt b.txt --beside study --path "a=gpu-gpu nvlink" -o here
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("import", help=HELP)(import_)


def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE...", help="What a tool printed, in a file or a pipe; -: stdin."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Where to write.")
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(metavar="STUDY", help="Show the files' figures beside those of a study."),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]ID",
            help="On which path of the study the files, or those of NAME, were measured."
            " May be given several times.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which hardware it was, for the verdict: h100x8-nvlink, a100x8-nvlink+4x200g,"
            " 1x100g. Otherwise what the file names.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Reads, prints and writes; for an unreadable file UserError, and nothing is written."""
    from nearpeak.appraisal.judge import appraise
    from nearpeak.appraisal.known import Hardware, named
    from nearpeak.cli import conclude
    from nearpeak.files import make_output
    from nearpeak.findings.build import results_of
    from nearpeak.observations.beside import Study, put_beside
    from nearpeak.observations.load import load
    from nearpeak.observations.merged import merge
    from nearpeak.report.page import write_report
    from nearpeak.report.terminal import print_study

    chosen = dict(map(_choice, path or []))
    hardware = named(machine) if machine else Hardware()
    if chosen and beside is None:
        raise UserError("--path says where on a study: give --beside STUDY too")
    if output is not None and (output / "records.jsonl").exists():
        raise UserError(f"-o {output}: holds a study, whose results would be lost; give another")
    read = [_file(word) for word in files]
    if beside is None:
        observations = merge(read)
    elif beside.is_dir():
        all_on = chosen.pop("", None)
        observations = put_beside(Study(beside, load(beside)), read, chosen, all_on)
    else:
        raise UserError(f"--beside {beside}: no such folder; give that of a study")
    results = results_of(observations)
    results.appraisals = appraise(results, observations, hardware, str(beside or ""))
    page = None
    if output is not None:
        make_output(output)
        page = write_report(results, output, study=beside)
    print_study(results, page, study=beside or Path(), verbose=verbose)
    conclude(results)


def _choice(word: str) -> tuple[str, str]:
    """The name in a `--path`, empty for all files, and the id of the path."""
    name, equals, path = word.rpartition("=")
    if not path.strip() or (equals and not name):
        raise UserError(f"--path {word}: give the id of a path of the study, or NAME=ID")
    return name, path


def _file(word: str) -> "File":
    from nearpeak.observations.merged import File

    name, equals, path = word.partition("=")
    if not equals or Path(word).exists():
        name, path = Path(word).stem if word != "-" else "stdin", word
    if not name or not path:
        raise UserError(f"{word}: give FILE, or NAME=FILE")
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder: give the file in it that a tool's output is in")
    if path != "-" and not Path(path).exists():
        raise UserError(f"{path}: no such file; give what a tool printed, or NAME=FILE")
    return File(name, Path(path))
