# SPDX-License-Identifier: Apache-2.0
"""`nearpeak conform`: which operations of which libraries are broken on which memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import (
    AcceptCommands,
    Libraries,
    check_run,
    keep_reason,
    parsed,
    say,
    say_inherited,
    say_lacking,
)
from nearpeak.errors import UserError
from nearpeak.numbers import listed, printable
from nearpeak.terms.exit_statuses import sentence

if TYPE_CHECKING:
    from nearpeak.conform.conformance import Conformance
    from nearpeak.conform.journal import Record
    from nearpeak.conform.plan import Chosen

HELP = f"""Try every MPI operation on every kind of memory; check every byte.

Two ranks run on the host and, where there are GPUs, between two of them; three
and four ranks too if an operation runs among more. The cases are: buffers of
every kind and allocator; odd addresses; sizes around the limits where libraries
change their protocol; 64 allocations in turn; the growth of memory while buffers
are allocated and freed. A crash or hang ends one job; the next job tries the
rest. The folder has conform.jsonl (all that was seen), conform.json and
conform.html; `nearpeak report DIR` makes both again.

{sentence("conform")}

Examples:

  nearpeak conform --mpi openmpi

  nearpeak conform --mpi intel --mpi openmpi-cuda --quick

  nearpeak conform --mpi mpich --operations rma,allreduce --buffers D,D

  nearpeak conform --mpi mpich --allocators async,vmm --full -o vmm

  nearpeak conform --mpi intel --quick --path "gpu-gpu same-gpu mps" -o mps

  nearpeak conform --resume -o conform
"""
DEFAULT_FOLDER = "conform"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("conform", help=HELP)(conform)


def conform(
    mpi: Libraries = None,
    operations: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Benchmarks, or families: pt2pt, collective, rma, datatype, overlap, stream.",
        ),
    ] = None,
    buffers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Memory of both ranks: H host, P pinned, D device, M managed. Default: all that"
            " this machine has.",
        ),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Where buffers on GPUs are tried, as `nearpeak machine` names it, like 'gpu-gpu"
            " same-gpu mps'. Default: between two GPUs, or within one, time-sliced.",
        ),
    ] = None,
    allocators: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="plain, async, vmm, ... (docs/conform.md)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Check only the data of three sizes in plain memory.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Every check with every allocator, even if some crash."),
    ] = False,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="A case that is silent for this time hangs. Default: 20s."
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="The folder.")
    ] = DEFAULT_FOLDER,
    resume: Annotated[
        bool, typer.Option("--resume", help="Complete the run in DIR, with its own options.")
    ] = False,
    accept_commands: AcceptCommands = False,
) -> None:
    from nearpeak.conform.plan import Chosen
    from nearpeak.terms.buffers import parse_buffers
    from nearpeak.terms.sizes import parse_seconds, split_list

    if quick and full:
        raise UserError("--quick and --full exclude each other: give one of them")
    chosen = Chosen(
        libraries=mpi or [],
        operations=[] if operations is None else parsed("--operations", split_list, operations),
        buffers=[parsed("--buffers", parse_buffers, kind) for kind in buffers or []],
        path=path,
        allocators=[] if allocators is None else parsed("--allocators", split_list, allocators),
        depth="quick" if quick else "full" if full else "default",
        limit_seconds=parsed("--limit", parse_seconds, limit) if limit else Chosen().limit_seconds,
    )
    if resume and chosen != Chosen():
        raise UserError(
            "--resume takes every option from the run that it completes: give only -o DIR"
        )
    if accept_commands and not resume:
        raise UserError("--accept-commands needs --resume: give it, or leave this out")
    conclude(_run(Path(output), None if resume else chosen, accept=accept_commands))


def _run(folder: Path, chosen: "Chosen | None", *, accept: bool) -> "Conformance":
    """Tries the cases of `chosen`, or with None those that are left of the run in the folder.
    Writes the results also after an interrupt. `accept`: as for `check_run`."""
    from nearpeak.conform import run
    from nearpeak.conform.journal import FORM, ConformJournal, check_new, read
    from nearpeak.conform.progress import Progress
    from nearpeak.conform.wording import finding
    from nearpeak.launching.mps import MpsError
    from nearpeak.launching.paths import paths_within
    from nearpeak.launching.programs import TOOLS, build_programs
    from nearpeak.machine.discover import discover
    from nearpeak.owners import check_output
    from nearpeak.planning.contenders import choose_contenders
    from nearpeak.planning.options import library_choice
    from nearpeak.planning.prepare import start
    from nearpeak.signals import ending, status_of
    from nearpeak.study import begun

    journal = None
    if chosen is None:
        check_output(folder)  # before anything in it is changed
        FORM.mend(folder)
        before = FORM.begin(read(folder))
        check_run(
            folder, FORM.command, before, begun.named_in(before.chosen.libraries), accept=accept
        )
        journal = ConformJournal(folder)
        chosen = journal.begin.chosen
    else:
        check_new(folder)
    contenders = choose_contenders([library_choice(spec) for spec in chosen.libraries], say)
    for contender in contenders:
        run.check_library(contender)
        say_lacking(contender.library)
    machine = discover()
    described = build_programs([contender.library for contender in contenders], TOOLS).described
    contenders, lent = start(contenders, machine, [[]], None, TOOLS, say)
    path = run.named_path(lent, chosen.path) if chosen.path else None
    places = run.places(paths_within(lent), chosen, path)
    now = run.begin(machine, chosen, described, list(places))
    if journal is None:
        journal = ConformJournal(folder, now)
        begun.remember(now)
    else:
        run.check_resumed(journal.records, now, contenders)
    try:
        trials = run.Run(journal, described, places, TOOLS)
        for contender in contenders:
            given = contender.settings
            env = {**given.kept_of(contender.library.env), **given.env}
            say_inherited(contender.library, env)
        left = sum(len(trials.left(contender)) for contender in contenders)
        with Progress(left, finding) as progress, ending():
            trials.begin(contenders)
            for contender in contenders:
                trials.try_library(contender, progress.tell)
    except MpsError as error:
        raise UserError(str(error)) from None
    except KeyboardInterrupt as interrupt:
        print(f"interrupted: {keep_reason(interrupt, journal)}")
        print(f"nearpeak: interrupted; complete it with: nearpeak conform --resume -o {folder}")
        write(folder, journal.records)
        raise typer.Exit(status_of(interrupt)) from None
    finally:
        journal.close()
    return write(folder, journal.records)


def write(folder: Path | None, records: "Sequence[Record]") -> "Conformance":
    """Builds the results from the records, prints and writes them. `folder` None: only prints."""
    from nearpeak.conform.build import build, to_json
    from nearpeak.conform.present import present
    from nearpeak.document.page import write_page
    from nearpeak.document.terminal import print_document
    from nearpeak.files import write_whole

    conformance = build(records)
    document = present(conformance)
    page = folder and folder / "conform.html"
    if folder is not None and page is not None:
        write_whole(folder / "conform.json", to_json(conformance))
        write_page(document, page)
    print_document(document, page)
    return conformance


def conclude(conformance: "Conformance") -> None:
    """Exits with status 1 if something failed, or nothing was tried, which it prints."""
    if conformance.untried:
        print(printable(f"Exit status 1: nothing could be tried of {listed(conformance.untried)}"))
    if conformance.failed or conformance.untried:
        raise typer.Exit(1)
