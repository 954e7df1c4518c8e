# SPDX-License-Identifier: Apache-2.0
"""`nearpeak study`: plans, runs and reports a whole study."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import (
    AcceptCommands,
    Hosts,
    Libraries,
    Oversubscribe,
    RemoteShell,
    Require,
    Verbose,
    given,
    leave,
)
from nearpeak.errors import UserError, parsed
from nearpeak.terms.exit_statuses import paragraphs

if TYPE_CHECKING:
    from nearpeak.planning.options import Options

HELP = f"""Measure every MPI library on every data path, and the ceilings.

A ceiling is what a data path carries without MPI. The command shows the plan with an estimate, runs
it, prints a table and writes a report into the study folder.

Examples:

    nearpeak study

    nearpeak study --mpi openmpi --mpi mpich --budget 5m -o study

    nearpeak study --benchmark latency --benchmark bw:calls=nonblocking --sizes 0:1M,100

    nearpeak study --mpi openmpi-cuda --mpi openmpi-cuda@dmabuf-off

    nearpeak study my-study.toml --dry-run

    nearpeak study --mpi mpich --benchmarks latency,allreduce,mbw_mr

    nearpeak study --mpi mpich --operations collective --sizes 8,64K,1M

    nearpeak study --mpi ceiling --benchmarks latency,bw

    nearpeak study --hosts node1,node2

    nearpeak study --mpi mpich --hosts node1,node2,node3,node4 --operations collective

    nearpeak study --mpi openmpi --budget 10m --sbatch job.sh

    nearpeak study --mpi intel --all-pairs --benchmark bw --sizes 16M

    nearpeak study --paths "gpu-gpu nvlink" --buffers D,D --buffers M,M

    nearpeak study --mpi mpich --benchmarks jacobi2d,halo3d,latency --ranks 1,2

    nearpeak study --resume -o study

    nearpeak study --resume -o study --budget 5m

    nearpeak study --resume -o study --launches 12

    nearpeak study --extend study --mpi intel --mpi openmpi@rndv-1

    nearpeak study --resume --force -o study

    nearpeak study --mpi mpich --require "host-host same-numa:bw:16M>=0.5"

    nearpeak study --mpi mpich --require "ceiling,host-host same-numa:bw>=20GB/s strict"

Exit status:

{paragraphs("study")}
"""
DEFAULT_FOLDER = "study"
# Options that add to a study that has begun.
RESUMING = {"budget_seconds", "launches", "require", "output"}
EXTENDING = {"budget_seconds", "launches", "require", "libraries"}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("study", help=HELP)(study)


def study(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE.toml", help="A study file (docs/how-to/study.md)."),
    ] = None,
    mpi: Libraries = None,
    paths: Annotated[
        str | None,
        typer.Option(
            "--paths",
            "--path",
            metavar="ID,...",
            help="Data paths, as `nearpeak machine` names them.",
        ),
    ] = None,
    all_pairs: Annotated[
        bool,
        typer.Option("--all-pairs", help="Every pair of GPUs, and of a NUMA node and a GPU."),
    ] = False,
    ranks: Annotated[
        str | None,
        typer.Option(
            metavar="N,...",
            help="Paths with these numbers of ranks. Default: 2, 4, and one rank for each core or"
            " GPU. 1 rank: applications only.",
        ),
    ] = None,
    oversubscribe: Oversubscribe = False,
    operations: Annotated[
        str | None,
        typer.Option(
            metavar="FAMILY,...",
            help="All benchmarks of these families: pt2pt, collective, rma, datatype, overlap,"
            " stream; all (means these six); app.",
        ),
    ] = None,
    benchmarks: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Default: latency, bw, bibw, and some of collective, rma and datatype.",
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:AXIS=VALUE,...]", help="One benchmark with its axes."),
    ] = None,
    buffers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Memory of the first half of the ranks and of the second: H host, P pinned,"
            " D device, M managed. Default: that of the path's ends.",
        ),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="Message sizes, like 0:64M or 8,1000,1M. Default: 0:64M.")
    ] = None,
    problem_sizes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SIZES",
            help="Problem sizes of an application, like jacobi2d=4K,16K. Default: its own.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Fit the study to this time, like 90s or 5m. Default: 13m without --benchmarks,"
            " --operations and --sizes, else none. With --resume, --extend: add this time.",
        ),
    ] = None,
    launches: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Launches of each case. Default: 6 to 12, until precise or as many as the budget"
            " holds. With --resume: in all,"
            " with those that the study has. With --extend: of each new case, by default"
            " as many as verdicts need.",
        ),
    ] = None,
    slot_ms: Annotated[
        int | None,
        typer.Option(
            metavar="MS",
            min=1,
            help="Time for one case in one launch. Default: chosen from the scatter of samples.",
        ),
    ] = None,
    launch_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="A launch that writes no record for this time is ended as hung."
        ),
    ] = None,
    no_counters: Annotated[
        bool,
        typer.Option(
            "--no-counters",
            help="Do not count the bytes on the links of GPUs, adapters and interfaces.",
        ),
    ] = False,
    require: Require = None,
    hosts: Hosts = None,
    remote_shell: RemoteShell = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Repeat a study in the same order.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", help="The study folder. Default: study."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Complete the study in DIR with its own options; --budget or --launches add to"
            " it.",
        ),
    ] = False,
    extend: Annotated[
        str | None,
        typer.Option(
            "--extend",
            metavar="DIR",
            help="Add the libraries of --mpi to the study in DIR: they are measured together with"
            " those that it has.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="With --resume, --extend: go on though the machine or software differs.",
        ),
    ] = False,
    accept_commands: AcceptCommands = False,
    retry: Annotated[
        bool,
        typer.Option(
            "--retry", help="Try operations with GPU buffers again, though their outcome is known."
        ),
    ] = False,
    explain: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="After the measuring: where the time of the N messages goes that are furthest from"
            " the ceiling (nearpeak explain), some 15 s each, beside the budget. Default: without"
            " --benchmarks, --operations and --hosts up to 3, within a tenth of the budget.",
        ),
    ] = None,
    sbatch: Annotated[
        Path | None,
        typer.Option(
            "--sbatch",
            metavar="FILE",
            help="Write the script of a Slurm job that runs this study, and run nothing.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the launch lines and write nothing. The hosts of --hosts are not called:"
            " they are taken to be like this machine.",
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    from nearpeak.planning.options import (
        Options,
        check_launches,
        library_choice,
        merge,
        parse_ranks,
        read_study_file,
    )
    from nearpeak.runs import study as runs
    from nearpeak.terms.buffers import parse_buffers
    from nearpeak.terms.sizes import parse_seconds, parse_sizes, split_list

    line = Options(
        libraries=[library_choice(spec) for spec in mpi or []],
        paths=given("--paths", split_list, paths) or [],
        all_pairs=all_pairs or None,
        ranks=given("--ranks", parse_ranks, ranks) or [],
        oversubscribe=oversubscribe or None,
        operations=given("--operations", split_list, operations) or [],
        benchmarks=[*(given("--benchmarks", split_list, benchmarks) or []), *(benchmark or [])],
        buffers=[parsed("--buffers", parse_buffers, kind) for kind in buffers or []],
        sizes=given("--sizes", parse_sizes, sizes) or [],
        problem_sizes=problem_sizes or [],
        hosts=given("--hosts", split_list, hosts) or [],
        budget_seconds=given("--budget", parse_seconds, budget),
        launches=None if launches is None else check_launches(launches),
        slot_ms=slot_ms,
        launch_limit_seconds=given("--launch-limit", parse_seconds, launch_limit),
        no_counters=no_counters or None,
        seed=seed,
        remote_shell=remote_shell,
        output=output or None,
        require=require or [],
    )
    if sbatch is not None and (resume or extend is not None):
        raise UserError(
            "--sbatch writes a script that completes its study by itself: leave "
            "--resume and --extend out"
        )
    if extend is not None:
        _check_extension(line, alone=not resume and file is None)
    elif resume:
        _check_resumption(line, alone=file is None, retry=retry)
    else:
        _check_new(force=force, accept_commands=accept_commands)
    options = merge(read_study_file(file), line) if file else line
    request = runs.Request(
        Path(options.output or DEFAULT_FOLDER if extend is None else extend),
        options,
        force=force,
        accept=accept_commands,
        retry=retry,
        explain=explain,
        dry_run=dry_run,
        verbose=verbose,
    )
    if sbatch is not None:
        if dry_run:
            raise UserError(
                "--sbatch writes a script, and --dry-run nothing: leave one of them out"
            )
        runs.write_job(sbatch, request, sys.argv)
    elif extend is not None:
        leave(runs.extend(request))
    else:
        leave(runs.resume(request) if resume else runs.start(request))


def _check_extension(line: "Options", *, alone: bool) -> None:
    """UserError for options that do not go with --extend. `alone`: without --resume and a file."""
    if not alone or line.given.keys() - EXTENDING:
        raise UserError(
            "--extend takes every option from the study that it adds to: give only DIR, --mpi, "
            "--budget or --launches, --require, --retry and --force"
        )
    if not line.libraries:
        raise UserError("--extend needs --mpi: name the libraries that are added")


def _check_resumption(line: "Options", *, alone: bool, retry: bool) -> None:
    """UserError for options that do not go with --resume. `alone`: without a file."""
    if not alone or line.given.keys() - RESUMING:
        raise UserError(
            "--resume takes every option from the study that it completes: give only -o DIR, "
            "--budget or --launches to add to it, and --require"
        )
    if retry:
        raise UserError("--retry is for a new study: a resumed one keeps the outcome of its trials")


def _check_new(**flags: bool) -> None:
    """UserError for flags that a new study does not take."""
    for name in (name for name, wanted in flags.items() if wanted):
        option = f"--{name.replace('_', '-')}"
        raise UserError(f"{option} needs --resume or --extend: give one of them, or leave it out")
