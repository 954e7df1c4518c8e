# SPDX-License-Identifier: Apache-2.0
"""`nearpeak nodes`: all pairs of the nodes of a cluster, to find slow nodes and slow links."""

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import (
    AcceptCommands,
    RemoteShell,
    check_run,
    parsed,
    say,
    say_lacking,
    write_script,
)
from nearpeak.clock import now
from nearpeak.errors import UserError
from nearpeak.numbers import printable
from nearpeak.terms.exit_statuses import sentence

if TYPE_CHECKING:
    from nearpeak.nodes.found import Found
    from nearpeak.nodes.journal import Recorded
    from nearpeak.nodes.plan import Chosen

HELP = f"""Measure all pairs of nodes of a cluster; find slow nodes and links.

A rank runs on one core of each node, with buffers in the memory of the host, over
the adapters that the library takes by itself: GPUs and other adapters are not
measured. In rounds of disjoint pairs, all pairs of a round are measured at the
same time: the latency of small messages, then the bandwidth of large ones. Up to
64 nodes, every launch measures every pair, also alone; of more nodes, one launch
measures all pairs and others measure again what looked slow. Reports slow nodes,
and slow links between two, with one error rate for all. Prints the plan before it
runs, with its price in node hours.

In a job of Slurm, its nodes are measured, as far as its time allows; --resume goes
on in another job of the same nodes. --sbatch writes the script of such a job.

The folder has nodes.jsonl (all that was measured), nodes.json and nodes.html;
`nearpeak report DIR` makes both again.

{sentence("nodes")}

Examples:

  nearpeak nodes --mpi openmpi --hosts node1,node2,node3,node4

  nearpeak nodes --mpi mpich --hosts node1,node2,node3 --slot-ms 50 -o rack7

  nearpeak nodes --mpi openmpi --nodes 512 --dry-run

  nearpeak nodes --mpi openmpi --nodes 16 --sbatch job.sh

  nearpeak nodes --mpi openmpi --require "bandwidth>=20GB/s" --require "latency<=3us"

  nearpeak nodes --resume -o nodes
"""
DEFAULT_FOLDER = "nodes"
LONGER = 2.0  # times the estimate, that a job is asked for


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("nodes", help=HELP)(nodes)


def nodes(
    mpi: Annotated[
        str | None,
        typer.Option(metavar="SPEC[@SETTINGS]", help="The library: its name, or a path."),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C[,...]",
            help="The nodes, three or more, all pairs of which are measured; this one must be among"
            " them. The others are called by ssh, which must ask for no password. Default: those of"
            " the Slurm job.",
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            metavar="N",
            min=1,
            help="With --dry-run or --sbatch: the number of nodes, whichever they are.",
        ),
    ] = None,
    remote_shell: RemoteShell = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Rounds of the first launch, each with half as many pairs as there are nodes: for"
            " thousands of nodes, as links outside of these pairs are not tested. Default: every"
            " pair once.",
        ),
    ] = None,
    launches: Annotated[
        int | None, typer.Option(metavar="N", help="Launches, 4 or more. Default: 5.")
    ] = None,
    slot_ms: Annotated[
        float | None,
        typer.Option(
            metavar="MS",
            min=0.1,
            help="Time for the latency of a round, and for its bandwidth. Default: 10.",
        ),
    ] = None,
    small: Annotated[
        str | None, typer.Option(metavar="SIZE", help="A message of latency. Default: 8.")
    ] = None,
    large: Annotated[
        str | None, typer.Option(metavar="SIZE", help="A message of bandwidth. Default: 1M.")
    ] = None,
    launch_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="A launch that ends no round for this time is ended as hung. Default: 2m.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Repeat a run in the same order.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REQUIREMENT",
            help="What the usual pair must reach: 'bandwidth>=20GB/s' (both ways), 'latency<=3us',"
            " 'alone bandwidth>=20GB/s'. May be given several times.",
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="The folder.")
    ] = DEFAULT_FOLDER,
    resume: Annotated[
        bool, typer.Option("--resume", help="Complete the run in DIR, with its own options.")
    ] = False,
    sbatch: Annotated[
        Path | None,
        typer.Option(
            "--sbatch",
            metavar="FILE",
            help="Write the script of a Slurm job that measures this, and measure nothing.",
        ),
    ] = None,
    accept_commands: AcceptCommands = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and its cost, and measure nothing.")
    ] = False,
) -> None:
    from nearpeak.launching.paths import hosts_of_job
    from nearpeak.nodes import plan, required
    from nearpeak.terms.sizes import parse_seconds, parse_sizes, split_list

    of_plan = (rounds, launches, slot_ms, small, large, launch_limit, seed)
    given = (mpi, hosts, number, remote_shell, require, *of_plan)
    if sbatch is not None and (resume or dry_run):
        raise UserError(
            "--sbatch writes a script that completes its run by itself: leave --resume and "
            "--dry-run out"
        )
    if number is not None and (hosts or not (sbatch or dry_run)):
        raise UserError(
            "--nodes N is for --dry-run and --sbatch, in the place of --hosts: which nodes are"
            " measured, --hosts or a job says"
        )
    if resume:
        if any(value is not None for value in given):
            raise UserError(
                "--resume takes every option from the run that it completes: give only -o DIR"
            )
        conclude(_run(Path(output), None, dry_run, accept=accept_commands))
        return
    if accept_commands:
        raise UserError("--accept-commands needs --resume: give it, or leave this out")
    if not mpi:
        raise UserError(
            "name a library with --mpi, one of `nearpeak mpi list` or a path, like `nearpeak nodes "
            "--mpi openmpi`"
        )
    usual = plan.Chosen(nodes=[], mpi=mpi)

    def size(option: str, text: str | None, default: int) -> int:
        sizes = [default] if text is None else parsed(option, parse_sizes, text)
        if len(sizes) != 1 or (option == "--large" and not sizes[0]):
            raise UserError(f"{option} {text}: give one size, like 8 or 1M")
        return sizes[0]

    if number is not None:
        nodes = [""] * number
    else:
        nodes = parsed("--hosts", split_list, hosts) if hosts else hosts_of_job()
    chosen = plan.Chosen(
        nodes=nodes,
        mpi=mpi,
        launches=usual.launches if launches is None else launches,
        rounds=rounds,
        slot_ms=usual.slot_ms if slot_ms is None else slot_ms,
        small_bytes=size("--small", small, usual.small_bytes),
        large_bytes=size("--large", large, usual.large_bytes),
        seed=random.SystemRandom().getrandbits(32) if seed is None else seed,
        launch_limit_seconds=usual.launch_limit_seconds
        if launch_limit is None
        else parsed("--launch-limit", parse_seconds, launch_limit),
        remote_shell=remote_shell,
        require=require or [],
    )
    if not chosen.nodes:
        raise UserError(
            "no nodes: name three or more with --hosts, like --hosts a,b,c, or run it in a job of"
            " Slurm that has as many (salloc --nodes=3, or --nodes 3 --sbatch FILE)"
        )
    plan.check(chosen)
    required.check(chosen.require, alone=plan.has_alone(chosen))
    if sbatch is not None:
        _write_script(sbatch, chosen, Path(output))
        return
    if dry_run:
        for line in _lacking(mpi):
            say(f"nearpeak: {line}")
    conclude(_run(Path(output), chosen, dry_run))


def _lacking(mpi: str) -> list[str]:
    """Reasons why the library is not on this machine; UserError for an unknown name, or one of no
    MPI library."""
    from nearpeak.libraries import discover, settings
    from nearpeak.libraries.families import is_native
    from nearpeak.nodes.run import check_library
    from nearpeak.planning.contenders import why_missing
    from nearpeak.planning.options import library_choice

    lacking = [*why_missing([library_choice(mpi)])]
    if not lacking:
        library = discover.resolve(settings.split(mpi)[0])
        check_library(library, is_native(library))
    return lacking


def _write_script(file: Path, chosen: "Chosen", folder: Path) -> None:
    from nearpeak.launching.batch import JobRequest
    from nearpeak.nodes import plan
    from nearpeak.nodes.journal import NAME

    lacking = _lacking(chosen.mpi)
    seconds = plan.cost(chosen, plan.planned(chosen)).seconds
    hosts = [node for node in chosen.nodes if node]
    job = JobRequest(LONGER * seconds, len(chosen.nodes), hosts, folder, NAME)
    for line in plan.summary(chosen):
        print(printable(line))
    write_script(file, job, lacking, "--nodes")


def _run(
    folder: Path, chosen: "Chosen | None", dry_run: bool, *, accept: bool = False
) -> "Found | None":
    """Measures the run of `chosen`, or with None what is left of the run in the folder. Returns
    None if nothing was measured. `accept`: as for `check_run`."""
    import msgspec

    import nearpeak
    from nearpeak.launching.paths import check_hosts, check_same_hosts
    from nearpeak.launching.programs import TOOLS
    from nearpeak.launching.starting import starting_here
    from nearpeak.libraries import discover as libraries
    from nearpeak.libraries import settings
    from nearpeak.libraries.families import is_native
    from nearpeak.libraries.launch import check_launcher
    from nearpeak.machine.allocation import job, measuring_seconds
    from nearpeak.machine.discover import discover
    from nearpeak.nodes import plan
    from nearpeak.nodes.journal import FORM, SCHEMA, Begin, NodesJournal, read
    from nearpeak.nodes.run import Run, check_library, path_of
    from nearpeak.study import begun
    from nearpeak.terms.sizes import format_seconds

    new = chosen is not None
    if chosen is None:
        chosen = read(folder).begin.chosen
    elif not dry_run:
        FORM.check_new(folder)
    for line in plan.summary(chosen):
        print(printable(line), flush=True)
    if dry_run:
        return None
    if not new:
        names = begun.named_in([chosen.mpi], chosen.remote_shell, chosen.nodes)
        check_run(folder, FORM.command, read(folder).begin, names, accept=accept)
    if new:
        nodes = check_hosts(chosen.nodes, chosen.remote_shell)
        chosen = msgspec.structs.replace(chosen, nodes=nodes)
    else:
        check_same_hosts(chosen.nodes, chosen.remote_shell)
    spec, wanted = settings.split(chosen.mpi)
    library = libraries.resolve(spec)
    check_library(library, is_native(library))
    check_launcher(library)
    say_lacking(library)
    if not new and (before := read(folder).begin.version) != library.version:
        raise UserError(
            f"{folder} was begun with {library.name} {before}, which is {library.version} now:"
            " start anew with -o"
        )
    named = settings.find(library, wanted or "default", say)
    TOOLS.mpi_program(library)
    shell = chosen.remote_shell
    started = starting_here(library, discover(), [chosen.nodes], shell, TOOLS, say)
    path = path_of(started.machine, chosen.nodes)
    seconds = measuring_seconds()
    begin = Begin(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        started=now(),
        host=started.machine.hostname,
        library=library.name,
        settings=named.name,
        version=library.version,
        chosen=chosen,
    )
    journal = NodesJournal(folder, begin if new else None)
    if new:
        begun.remember(begin)

    def tell(line: str) -> None:
        print(printable(line), flush=True)

    try:
        run = Run(journal, started.library, named, path, TOOLS, tell, seconds)
        if seconds is not None and run.expected() > seconds:
            say(
                f"{format_seconds(seconds)} are measured, not {format_seconds(run.expected())}: "
                f"job {job()} ends soon after."
            )
        ended_by = run.run()
    finally:
        journal.close()
    results = write(folder, read(folder))
    if run.cut_short:
        print(f"Complete it in another job: {FORM.resume_command(folder)}", flush=True)
    if ended_by is not None:
        print(f"nearpeak: interrupted; complete it with: {FORM.resume_command(folder)}")
        raise typer.Exit(128 + ended_by)
    return results


def write(folder: Path | None, recorded: "Recorded", require: Sequence[str] = ()) -> "Found":
    """Builds the results from the records, prints and writes them. `folder` None: only prints.
    `require`: replaces the run's requirements; UserError."""
    from nearpeak.document.page import write_page
    from nearpeak.document.terminal import print_document
    from nearpeak.files import write_whole
    from nearpeak.nodes import plan, required
    from nearpeak.nodes.build import build, to_json
    from nearpeak.nodes.present import present

    required.check(require, alone=plan.has_alone(recorded.begin.chosen))
    results = build(recorded, require)
    document = present(results)
    page = folder and folder / "nodes.html"
    if folder is not None and page is not None:
        write_whole(folder / "nodes.json", to_json(results))
        write_page(document, page)
    print_document(document, page)
    return results


def conclude(results: "Found | None") -> None:
    """Exits with status 1 if something is slow, wrong or lacking, or a requirement is missed."""
    if results is None or not results.bad:
        return
    from nearpeak.nodes.wording import faults

    sys.stdout.flush()
    print(printable(f"Exit status 1: {faults(results)}"))
    raise typer.Exit(1)
