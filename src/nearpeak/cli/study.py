# SPDX-License-Identifier: Apache-2.0
"""`nearpeak study`: plans, runs and reports a whole study."""

import contextlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from nearpeak.cli import (
    AcceptCommands,
    Hosts,
    Libraries,
    Oversubscribe,
    RemoteShell,
    Require,
    T,
    check_begun,
    conclude,
    judged,
    parsed,
    requirements_of,
    say,
    warn,
    write_script,
)
from nearpeak.errors import UserError
from nearpeak.numbers import count, printable
from nearpeak.terms.exit_statuses import paragraphs

if TYPE_CHECKING:
    from nearpeak.machine.machine import Machine
    from nearpeak.planning.options import Options
    from nearpeak.planning.plan import Plan
    from nearpeak.results.results import Results
    from nearpeak.study.history import History
    from nearpeak.study.journal import StudyJournal
    from nearpeak.study.records import AmendmentRecord, SessionRecord
    from nearpeak.study.schedule import Schedule

HELP = f"""Measure every MPI library on every data path, and what the path carries without MPI.

Shows the plan with an estimate, runs it, prints a table and writes a report into the study folder.

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
_FEW_LINES = 10  # of launches, as many as a terminal shows beside the plan


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(help=HELP)(study)


def study(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.toml", help="A study file (docs/study.md).")
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
            min=1,
            help="After the measuring: where the time of the N messages goes that are furthest from"
            " the ceiling (nearpeak explain). Some 15 s each, beside the budget.",
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
) -> None:
    from nearpeak.planning.options import (
        Options,
        check_launches,
        library_choice,
        merge,
        parse_ranks,
        read_study_file,
    )
    from nearpeak.terms.buffers import parse_buffers
    from nearpeak.terms.sizes import parse_seconds, parse_sizes, split_list

    line = Options(
        libraries=[library_choice(spec) for spec in mpi or []],
        paths=_parse("--paths", split_list, paths) or [],
        all_pairs=all_pairs or None,
        ranks=_parse("--ranks", parse_ranks, ranks) or [],
        oversubscribe=oversubscribe or None,
        operations=_parse("--operations", split_list, operations) or [],
        benchmarks=[*(_parse("--benchmarks", split_list, benchmarks) or []), *(benchmark or [])],
        buffers=[_parse("--buffers", parse_buffers, kind) or "" for kind in buffers or []],
        sizes=_parse("--sizes", parse_sizes, sizes) or [],
        problem_sizes=problem_sizes or [],
        hosts=_parse("--hosts", split_list, hosts) or [],
        budget_seconds=_parse("--budget", parse_seconds, budget),
        launches=None if launches is None else check_launches(launches),
        slot_ms=slot_ms,
        launch_limit_seconds=_parse("--launch-limit", parse_seconds, launch_limit),
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
    additions = Options(
        budget_seconds=line.budget_seconds,
        launches=line.launches,
        output=line.output,
        require=line.require,
    )
    if extend is not None:
        additions.libraries = line.libraries
        if resume or file is not None or output is not None or line != additions:
            raise UserError(
                "--extend takes every option from the study that it adds to: give only DIR, --mpi, "
                "--budget or --launches, --require, --retry and --force"
            )
        if not additions.libraries:
            raise UserError("--extend needs --mpi: name the libraries that are added")
        _extend(
            Path(extend),
            additions,
            force=force,
            accept=accept_commands,
            retry=retry,
            explain=explain,
            dry_run=dry_run,
        )
        return
    if resume:
        if file is not None or line != additions:
            raise UserError(
                "--resume takes every option from the study that it completes: give only -o DIR, "
                "--budget or --launches to add to it, and --require"
            )
        if retry:
            raise UserError(
                "--retry is for a new study: a resumed one keeps the outcome of its trials"
            )
        folder = Path(output or DEFAULT_FOLDER)
        _resume(
            folder,
            additions,
            force=force,
            accept=accept_commands,
            explain=explain,
            dry_run=dry_run,
        )
        return
    for option, given in (("--force", force), ("--accept-commands", accept_commands)):
        if given:
            raise UserError(
                f"{option} needs --resume or --extend: give one of them, or leave it out"
            )
    options = merge(read_study_file(file), line) if file else line
    folder = Path(options.output or DEFAULT_FOLDER)
    if sbatch is not None:
        from nearpeak.planning.contenders import why_missing
        from nearpeak.planning.job import check_paths, of_study
        from nearpeak.planning.prepare import check_named

        if dry_run:
            raise UserError(
                "--sbatch writes a script, and --dry-run nothing: leave one of them out"
            )
        check_named(options)
        requirements = requirements_of(options.require)
        check_paths(options, [requirement.path for requirement in requirements])
        write_script(sbatch, of_study(options, folder), why_missing(options.libraries))
        return
    _start(options, folder, retry, explain, dry_run)


def _parse(option: str, parser: Callable[[str], T], text: str | None) -> T | None:
    """The value of an option as by `parsed`; None without it."""
    return None if text is None else parsed(option, parser, text)


def _start(
    options: "Options",
    folder: Path,
    retry: bool,
    explain: int | None,
    dry_run: bool,
) -> None:
    from nearpeak.launching.hosts import remarks
    from nearpeak.launching.paths import why_not
    from nearpeak.launching.programs import TOOLS
    from nearpeak.planning.fit import expected_blocks
    from nearpeak.planning.prepare import prepare
    from nearpeak.planning.subjects import planned
    from nearpeak.results.requirements import check
    from nearpeak.study import begun
    from nearpeak.study.folder import check_new, create
    from nearpeak.study.history import History
    from nearpeak.study.schedule import Schedule

    requirements = requirements_of(options.require)
    if not dry_run:
        check_new(folder)
    sizes = {requirement.size for requirement in requirements if requirement.size is not None}
    options = replace(
        options,
        kept_sizes=sorted(sizes),
        kept_paths=[requirement.path for requirement in requirements],
        kept_benchmarks=[requirement.figure.partition(" ")[0] for requirement in requirements],
    )
    machine, plan = prepare(options, TOOLS, say, retry=retry, dry_run=dry_run)
    check(requirements, planned(plan), lambda path: why_not(path, machine, plan.hosts))
    plan.requirements = options.require
    if dry_run:  # what is read first stands last
        _print_lines(plan, Schedule(plan), expected_blocks(plan))
    _show(plan, dry_run)
    if dry_run:
        return
    begun.remember(plan)  # before it can be cut off
    with contextlib.closing(create(folder, machine, plan)) as journal:
        if not options.libraries:
            say(
                "All libraries that were found are measured; choose with --mpi NAME (`nearpeak mpi"
                " list` shows them)."
            )
        warn(machine.diagnoses, sys.stdout)
        _print([*remarks(machine, plan.hosts, plan.remote_shell)], sys.stdout)
        history = History(folder, plan)
        session = _session(folder, plan, machine, history)
        ended_by = _run(folder, plan, journal, history, session, explain=explain)
        _conclude(folder, options.require, history, ended_by)


def measure(options: "Options", folder: Path, added: float | None = None) -> int | None:
    """Runs a study, or completes the one in the folder, which has these options; makes no report.
    `added`: seconds to add to an existing one, from now on. Returns the signal that ended it, if
    any; UserError."""
    from nearpeak.launching.programs import TOOLS
    from nearpeak.machine.discover import discover
    from nearpeak.planning.options import Options
    from nearpeak.planning.prepare import prepare
    from nearpeak.study import begun
    from nearpeak.study.folder import create, read_plan, reopen
    from nearpeak.study.history import History
    from nearpeak.terms.study_files import PLAN

    if (folder / PLAN).exists():
        machine = discover()
        check_begun(folder, read_plan(folder))
        plan, journal = reopen(folder)
    else:
        machine, plan = prepare(options, TOOLS, say, retry=False, dry_run=False)
        begun.remember(plan)
        journal = create(folder, machine, plan)
    with contextlib.closing(journal):
        history = History(folder, plan)
        amendment = _amendment(history, Options(budget_seconds=added))
        if history.over and amendment is None:
            return None
        session = _session(folder, plan, machine, history)
        return _run(folder, plan, journal, history, session, amendment, explain=None)


def _resume(
    folder: Path,
    additions: "Options",
    *,
    force: bool,
    accept: bool,
    explain: int | None,
    dry_run: bool,
) -> None:
    from nearpeak.launching.paths import why_not
    from nearpeak.machine.allocation import measuring_seconds
    from nearpeak.machine.discover import discover
    from nearpeak.owners import check_output
    from nearpeak.planning.subjects import planned
    from nearpeak.results.requirements import check
    from nearpeak.study.amendments import remaining_lines
    from nearpeak.study.folder import read_plan, reopen, repair
    from nearpeak.study.history import History

    if not dry_run:
        check_output(folder)  # before anything in it is changed
        repair(folder)
    plan = read_plan(folder)
    requirements = requirements_of(additions.require or plan.requirements)
    check(requirements, planned(plan), lambda path: why_not(path, discover(), plan.hosts))
    if dry_run:
        history = History(folder, plan)
        amendment = _amendment(history, additions)
        if history.over and amendment is None:
            _say_complete(folder, history, sys.stderr)
        else:
            _print_rest(plan, history, amendment)
        return
    history = History(folder, plan)
    amendment = _amendment(history, additions)
    if accept or not history.over or amendment is not None:  # else nothing is run
        check_begun(folder, plan, accept=accept)
    plan, journal = reopen(folder)
    with contextlib.closing(journal):
        history = History(folder, plan)
        amendment = _amendment(history, additions)
        if history.over and amendment is None:
            _say_complete(folder, history, sys.stdout)
            _conclude(folder, additions.require, history)
            return
        session = _session(folder, plan, discover(), history, force=force)
        expected = History(folder, plan)  # a second one: the run feeds its session to the first
        _print(remaining_lines(_begun(expected, amendment), measuring_seconds()), sys.stdout)
        print(_session_words(session, history, amendment), flush=True)
        ended_by = _run(folder, plan, journal, history, session, amendment, explain=explain)
        _conclude(folder, additions.require, history, ended_by)


def _extend(
    folder: Path,
    additions: "Options",
    *,
    force: bool,
    accept: bool,
    retry: bool,
    explain: int | None,
    dry_run: bool,
) -> None:
    from nearpeak.launching.paths import why_not
    from nearpeak.launching.programs import TOOLS
    from nearpeak.machine.discover import discover
    from nearpeak.planning.additions import choose_new, prepare_addition
    from nearpeak.planning.subjects import planned
    from nearpeak.results.requirements import check
    from nearpeak.study.amendments import extend, plan_of_new_blocks
    from nearpeak.study.folder import read_plan, reopen
    from nearpeak.study.history import History

    with contextlib.ExitStack() as opened:
        plan = read_plan(folder)
        check_begun(folder, plan, accept=accept)
        if not dry_run:
            plan, journal = reopen(folder)
            opened.enter_context(contextlib.closing(journal))
        before = History(folder, plan)
        contenders = choose_new(plan, additions.libraries, say)
        machine = discover()
        _session(folder, plan, machine, before, force=force)  # refused before anything is tried
        blocks = before.state.begun_blocks
        adds = prepare_addition(
            plan, contenders, blocks, machine, TOOLS, say, retry=retry, dry_run=dry_run
        )
        amendment = extend(
            before.state, before.ended, adds, additions.budget_seconds, additions.launches
        )
        plan = plan.grown(adds)
        requirements = requirements_of(additions.require or plan.requirements)
        check(requirements, planned(plan), lambda path: why_not(path, machine, plan.hosts))
        history = History(folder, plan)
        if dry_run:
            _print_rest(plan, history, amendment)
        _show(plan_of_new_blocks(plan, amendment), dry_run)
        if dry_run:
            return
        session = _session(folder, plan, machine, history, force=force)
        print(_session_words(session, history, amendment), flush=True)
        ended_by = _run(folder, plan, journal, history, session, amendment, explain=explain)
        _conclude(folder, additions.require, history, ended_by)


def _amendment(history: "History", additions: "Options") -> "AmendmentRecord | None":
    """The amendment that adds to the study, if any."""
    from nearpeak.study.amendments import amend

    if additions.budget_seconds is None and additions.launches is None:
        return None
    return amend(history.state, history.ended, additions.budget_seconds, additions.launches)


def _show(plan: "Plan", dry_run: bool) -> None:
    from nearpeak.planning.summary import summary

    # With --dry-run, stdout holds only the launch lines.
    _print(summary(plan), sys.stderr if dry_run else sys.stdout)


def _print(lines: list[str], to: TextIO) -> None:
    if lines:
        print("\n".join(printable(line) for line in lines), file=to, flush=True)


def _begun(history: "History", amendment: "AmendmentRecord | None") -> "Schedule":
    """The state as another session begins with it."""
    history.state.begin_session()
    if amendment:
        history.state.amend(amendment)
    return history.state


def _print_rest(plan: "Plan", history: "History", amendment: "AmendmentRecord | None") -> None:
    """Prints the launches that another session would run."""
    state = _begun(history, amendment)
    _print_lines(plan, state, state.expected_blocks())


def _print_lines(plan: "Plan", state: "Schedule", blocks: int) -> None:
    """Prints the launches left of the first `blocks` blocks; to a terminal, the first lines."""
    from nearpeak.launching.programs import TOOLS
    from nearpeak.libraries.launch import shell_line
    from nearpeak.planning.commands import make_command

    left = [planned for block in range(blocks) for planned in state.remaining(block)]
    shown = left[:_FEW_LINES] if sys.stdout.isatty() else left
    for planned in shown:
        print(shell_line(make_command(plan, planned, TOOLS)))
    if hidden := len(left) - len(shown):
        print(f"... and {count(hidden, 'more line')}; into a pipe or a file, all are printed")


def _session(
    folder: Path, plan: "Plan", machine: "Machine", history: "History", *, force: bool = False
) -> "SessionRecord":
    """Begins a session; UserError if the machine or the software has changed."""
    from nearpeak.launching.fingerprints import fingerprint
    from nearpeak.launching.paths import check_same_hosts
    from nearpeak.launching.programs import TOOLS
    from nearpeak.study.sessions import begin

    check_same_hosts(plan.hosts, plan.remote_shell)
    now = fingerprint(machine, plan.contenders, TOOLS)
    return begin(folder, now, history.session, force=force)


def _run(
    folder: Path,
    plan: "Plan",
    journal: "StudyJournal",
    history: "History",
    session: "SessionRecord",
    amendment: "AmendmentRecord | None" = None,
    *,
    explain: int | None,
) -> int | None:
    """Runs the study; returns the signal that ended it, if any."""
    from nearpeak.cli.explain import explain_worst
    from nearpeak.journal import resume_study
    from nearpeak.launching.programs import TOOLS
    from nearpeak.machine.allocation import measuring_seconds
    from nearpeak.study import begun
    from nearpeak.study.forecast import MORE_SECONDS, sentence
    from nearpeak.study.progress import make_progress
    from nearpeak.study.run import StudyRun

    begun.remember(plan)
    seconds = measuring_seconds()
    with make_progress(plan) as progress:
        study = StudyRun(
            folder, plan, journal, TOOLS, progress, session, history, amendment, seconds
        )
        end = study.run()
    ended = "interrupted" if end.status == "interrupted" else "complete"
    print(f"{ended}: {end.message}", flush=True)
    if end.status == "interrupted" and study.signal is None:
        print(f"Complete it in another job: {resume_study(folder)}", flush=True)
    if end.status == "imprecise":
        if forecast := study.forecast():
            command = resume_study(folder, "--budget", f"{MORE_SECONDS / 60:g}m")
            print(sentence(forecast, command), flush=True)
        else:
            print(f"More time adds nothing. To add launches: {_more_launches(folder, history)}")
    if explain is not None and study.signal is None:
        explain_worst(folder, explain)
    return study.signal


def _say_complete(folder: Path, history: "History", to: TextIO) -> None:
    """Prints that nothing is left to run, and how to add to the study."""
    from nearpeak.journal import resume_study

    command = _more_launches(folder, history)
    if history.state.forecast():
        command = f"{resume_study(folder, '--budget', '5m')}, or {command}"
    print(
        f"complete: {history.ended}; nothing is left to run. To add to it: {command}",
        file=to,
        flush=True,
    )


def _more_launches(folder: Path, history: "History") -> str:
    """The command that adds launches of all cells."""
    from nearpeak.journal import resume_study

    command = resume_study(folder, "--launches", str(history.state.begun_blocks + 1))
    return f"{command} (or more launches)"


def _conclude(
    folder: Path, required: list[str], history: "History", ended_by: int | None = None
) -> None:
    """Makes the report and judges; exits with status 1 if something is wrong, or by the signal that
    ended the study."""
    from nearpeak.journal import resume_study
    from nearpeak.report.sessions import blocks_lacking
    from nearpeak.study.journal import cannot_write

    try:
        results = _report(folder, required)
    except (OSError, UserError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError):
            raise cannot_write(folder, cause) from None
        raise
    if ended_by is not None:
        print(f"nearpeak: interrupted; complete it with: {resume_study(folder)}")
        raise typer.Exit(128 + ended_by)
    if lacking := blocks_lacking(results):
        command = resume_study(folder, "--launches", str(history.state.begun_blocks + lacking))
        print(f"Verdicts lack {count(lacking, 'block')}; to add what they lack: {command}")
    conclude(results)
    if not results.complete:
        print("Exit status 1: the study is not complete")
        raise typer.Exit(1)


def _session_words(
    session: "SessionRecord", history: "History", amendment: "AmendmentRecord | None"
) -> str:
    from nearpeak.study.amendments import describe

    begun = history.state.begun_blocks
    position = f"after {count(begun, 'block')}"
    if begun and history.state.remaining(begun - 1):
        position = f"in the middle of block {begun}"
    line = f"session:    {session.session + 1} of this study, {position}"
    return f"{line}; adds {describe(amendment)}" if amendment else line


def _report(folder: Path, required: list[str]) -> "Results":
    from nearpeak.report.page import write_report
    from nearpeak.report.terminal import print_summary

    results = judged(folder, required)
    print_summary(results, write_report(results, folder), study=folder)
    return results
