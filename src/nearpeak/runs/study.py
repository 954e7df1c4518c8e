# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak study`: a study is planned and measured, completed, or extended."""

import copy
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from nearpeak.errors import UserError
from nearpeak.journal import resume_study
from nearpeak.launching import hosts, paths, programs
from nearpeak.launching.fingerprints import fingerprint
from nearpeak.launching.interrupts import why_ended
from nearpeak.libraries.launch import shell_line
from nearpeak.machine import discover
from nearpeak.machine.allocation import measuring_seconds
from nearpeak.machine.machine import Machine
from nearpeak.numbers import count
from nearpeak.observations import explained
from nearpeak.owners import check_output
from nearpeak.planning.additions import choose_new, prepare_addition
from nearpeak.planning.commands import make_command
from nearpeak.planning.contenders import why_missing
from nearpeak.planning.fit import expected_blocks
from nearpeak.planning.gate import Preparation
from nearpeak.planning.job import check_paths, of_study
from nearpeak.planning.options import Options
from nearpeak.planning.plan import Plan
from nearpeak.planning.prepare import check_named, prepare
from nearpeak.planning.subjects import planned
from nearpeak.planning.summary import brief, summary
from nearpeak.planning.usual import budget_of
from nearpeak.report.sessions import blocks_lacking
from nearpeak.results.requirements import Requirement, check
from nearpeak.runs import judged, lifecycle
from nearpeak.runs.explain import add_worst
from nearpeak.runs.job import write_script
from nearpeak.runs.judged import requirements_of
from nearpeak.runs.messages import say, show, tell, warn
from nearpeak.signals import ending, status_of
from nearpeak.study import amendments, begun, progress
from nearpeak.study.folder import check_new, create, read_plan, reopen
from nearpeak.study.forecast import MORE_SECONDS, sentence
from nearpeak.study.history import History
from nearpeak.study.journal import StudyJournal, cannot_write
from nearpeak.study.records import AmendmentRecord, SessionRecord, StudyEndRecord
from nearpeak.study.run import StudyRun
from nearpeak.study.schedule import Schedule
from nearpeak.study.sessions import begin
from nearpeak.terms.study_files import PLAN

EXPLAINED = 3  # messages of a usual study
EXPLAIN_SECONDS = 15.0  # of each
SHARE_TO_EXPLAIN = 0.1  # of the budget, at most
FEW_LINES = 10  # of launches, as many as a terminal shows beside the plan


@dataclass(frozen=True)
class Request:
    """A study that is to be measured, completed or extended."""

    folder: Path
    options: Options  # of a new study; those that add to one that has begun
    force: bool = False  # go on though the machine or the software differs
    accept: bool = False  # run the programs that the folder names: as for `check_begun`
    retry: bool = False  # try operations again, though their outcome is known
    # So many messages after the measuring; None: of a usual study three, as far as a tenth of the
    # budget holds them.
    explain: int | None = None
    dry_run: bool = False  # only print what would be run
    verbose: bool = False  # print all of the plan, and all that the answer rests on

    @property
    def preparation(self) -> Preparation:
        """The preparation of its plan."""
        return Preparation(programs.TOOLS, say, self.retry, self.dry_run)


@dataclass(frozen=True)
class _Study:
    """A study as its folder has it, and what is added to it now."""

    folder: Path
    plan: Plan
    history: History
    amendment: AmendmentRecord | None = None

    @property
    def complete(self) -> bool:
        """True if nothing is left to run."""
        return self.history.over and self.amendment is None

    def schedule(self) -> Schedule:
        """The launches of the session that begins now, looked at before it is recorded."""
        state = copy.deepcopy(self.history.state)  # the run has the other one
        state.begin_session()
        if self.amendment:
            state.amend(self.amendment)
        return state

    def more_launches(self) -> str:
        """The command that adds launches of all cells."""
        launches = str(self.history.state.begun_blocks + 1)
        return f"{resume_study(self.folder, '--launches', launches)} (or more launches)"


def write_job(file: Path, request: Request, command: Sequence[str]) -> None:
    """Writes the script of a job that runs a new study. `command`: this one."""
    options = request.options
    check_named(options)
    required = [requirement.path for requirement in requirements_of(options.require)]
    check_paths(options, required)
    job = of_study(options, request.folder)
    write_script(file, job, command, why_missing(options.libraries))


def start(request: Request) -> int:
    """Plans and measures a new study; returns the exit status. UserError, CannotWriteError."""
    folder, options = request.folder, request.options
    requirements = requirements_of(options.require)
    if not request.dry_run:
        check_new(folder)
    request = _with_explanations(request)
    options = _keeping(requirements, request.options)
    machine, plan = prepare(options, request.preparation)
    _check(requirements, plan, lambda: machine)
    plan.requirements, plan.explain = options.require, request.explain or 0
    if request.dry_run:  # what is read first stands last
        _print_launches(plan, Schedule(plan), expected_blocks(plan))
        show(summary(plan), sys.stderr)
        return 0
    show(summary(plan) if request.verbose else brief(plan), sys.stdout)
    begun.remember(plan)  # before it can be cut off
    with closing(create(folder, machine, plan)) as journal:
        if not options.libraries:
            say(
                "All libraries that were found are measured; choose with --mpi NAME (`nearpeak mpi"
                " list` shows them)."
            )
        warn(machine.diagnoses, sys.stdout, [one.library for one in plan.contenders])
        show(hosts.remarks(machine, plan.hosts, plan.remote_shell), sys.stdout)
        study = _Study(folder, plan, History(folder, plan))
        return _finish(study, journal, _session(study, machine), request)


def resume(request: Request) -> int:
    """Completes the study in a folder, or adds launches to it; as `start`."""
    folder = request.folder
    if request.dry_run:
        study = _read(request, read_plan(folder))
        if study.complete:
            _say_complete(study, sys.stderr)
        else:
            _print_rest(study)
        return 0
    check_output(folder)  # before anything in it is changed
    plan, journal = reopen(folder)
    with closing(journal):
        study = _read(request, plan)
        if request.accept or not study.complete:  # else nothing is run
            _check_begun(study.folder, plan, accept=request.accept)
        if study.complete:
            _say_complete(study, sys.stdout)
            return _conclude(study, request)
        session = _session(study, discover.discover(), force=request.force)
        show(amendments.remaining_lines(study.schedule(), measuring_seconds()), sys.stdout)
        tell(_session_line(study, session))
        return _finish(study, journal, session, _with_explanations_left(request, study))


def extend(request: Request) -> int:
    """Adds libraries to the study in a folder; as `start`."""
    folder = request.folder
    plan = read_plan(folder)
    _check_begun(folder, plan, accept=request.accept)
    if request.dry_run:
        study, _ = _extended(request, plan)
        _print_rest(study)
        _show_new(study, sys.stderr)
        return 0
    plan, journal = reopen(folder)
    with closing(journal):
        study, session = _extended(request, plan)
        _show_new(study, sys.stdout)
        tell(_session_line(study, session))
        return _finish(study, journal, session, request)


def measure(options: Options, folder: Path, added: float | None = None) -> int | None:
    """Runs a study, or completes the one in the folder, which has these options; makes no report.
    `added`: seconds to add to an existing one, from now on. Returns the signal that ended it, if
    any; UserError."""
    if (folder / PLAN).exists():
        machine = discover.discover()
        _check_begun(folder, read_plan(folder), accept=False)
        plan, journal = reopen(folder)
    else:
        machine, plan = prepare(options, Preparation(programs.TOOLS, say))
        begun.remember(plan)
        journal = create(folder, machine, plan)
    with closing(journal):
        history = History(folder, plan)
        study = _Study(folder, plan, history, _amendment(history, Options(budget_seconds=added)))
        if study.complete:
            return None
        _, ended_by = _run(study, journal, _session(study, machine))
        return ended_by


def _with_explanations(request: Request) -> Request:
    """The request with a number of messages to explain, and the budget that is left without."""
    options = request.options
    budget = budget_of(options)
    usual = not (options.benchmarks or options.operations or options.hosts)
    if request.explain is not None or budget is None or not usual:
        return request
    number = min(EXPLAINED, int(SHARE_TO_EXPLAIN * budget / EXPLAIN_SECONDS))
    rest = replace(options, budget_seconds=budget - number * EXPLAIN_SECONDS)
    return replace(request, options=rest, explain=number)


def _with_explanations_left(request: Request, study: _Study) -> Request:
    """A request that completes a study, with the number of messages that its plan has for its end,
    unless some are explained already."""
    if request.explain is not None:
        return request
    done = study.amendment or any((study.folder / explained.FOLDER).glob("*.json"))
    return replace(request, explain=0 if done else study.plan.explain)


def _keeping(requirements: Iterable[Requirement], options: Options) -> Options:
    """The options with all that is required, of which a budget leaves nothing out."""
    required = list(requirements)
    sizes = {requirement.size for requirement in required if requirement.size is not None}
    return replace(
        options,
        kept_sizes=sorted(sizes),
        kept_paths=[requirement.path for requirement in required],
        kept_benchmarks=[requirement.figure.partition(" ")[0] for requirement in required],
    )


def _check(requirements: Sequence[Requirement], plan: Plan, machine: Callable[[], Machine]) -> None:
    """UserError for requirements of what the plan does not measure."""
    check(requirements, planned(plan), lambda path: paths.why_not(path, machine(), plan.hosts))


def _check_begun(folder: Path, plan: Plan, *, accept: bool) -> None:
    lifecycle.check_begun(folder, "study", plan, lambda: begun.foreign(plan), accept=accept)


def _read(request: Request, plan: Plan) -> _Study:
    """A study that is to be completed; UserError for a request that does not fit."""
    options = request.options
    _check(requirements_of(options.require or plan.requirements), plan, discover.discover)
    history = History(request.folder, plan)
    return _Study(request.folder, plan, history, _amendment(history, options))


def _amendment(history: History, options: Options) -> AmendmentRecord | None:
    """The amendment that adds to the study, if any."""
    if options.budget_seconds is None and options.launches is None:
        return None
    return amendments.amend(history.state, history.ended, options.budget_seconds, options.launches)


def _extended(request: Request, plan: Plan) -> tuple[_Study, SessionRecord]:
    """A study with the libraries that are added to it, and the session that measures them;
    UserError for some that do not fit."""
    folder, options = request.folder, request.options
    before = _Study(folder, plan, History(folder, plan))
    contenders = choose_new(plan, options.libraries, say)
    machine = discover.discover()
    session = _session(before, machine, force=request.force)  # refused before anything is tried
    since = before.history.state.begun_blocks
    adds = prepare_addition(plan, contenders, since, machine, request.preparation)
    amendment = amendments.extend(
        before.history.state, before.history.ended, adds, options.budget_seconds, options.launches
    )
    plan = plan.grown(adds)
    _check(requirements_of(options.require or plan.requirements), plan, lambda: machine)
    if not request.dry_run:  # with the added libraries
        session.fingerprint = fingerprint(machine, plan.contenders, programs.TOOLS)
    # The records once more, as they are checked and counted by the plan.
    return _Study(folder, plan, History(folder, plan), amendment), session


def _show_new(study: _Study, to: TextIO) -> None:
    assert study.amendment is not None
    show(summary(amendments.plan_of_new_blocks(study.plan, study.amendment)), to)


def _print_rest(study: _Study) -> None:
    """Prints the launches that another session would run."""
    schedule = study.schedule()
    _print_launches(study.plan, schedule, schedule.expected_blocks())


def _print_launches(plan: Plan, schedule: Schedule, blocks: int) -> None:
    """Prints the launches left of the first `blocks` blocks; to a terminal, the first lines."""
    left = [launch for block in range(blocks) for launch in schedule.remaining(block)]
    shown = left[:FEW_LINES] if sys.stdout.isatty() else left
    for launch in shown:
        print(shell_line(make_command(plan, launch, programs.TOOLS)))
    if hidden := len(left) - len(shown):
        print(f"... and {count(hidden, 'more line')}; into a pipe or a file, all are printed")


def _session(study: _Study, machine: Machine, *, force: bool = False) -> SessionRecord:
    """Begins a session; UserError if the machine or the software has changed."""
    plan = study.plan
    paths.check_same_hosts(plan.hosts, plan.remote_shell)
    now = fingerprint(machine, plan.contenders, programs.TOOLS)
    return begin(study.folder, now, study.history.session, force=force)


def _session_line(study: _Study, session: SessionRecord) -> str:
    schedule = study.history.state
    blocks = schedule.begun_blocks
    position = f"after {count(blocks, 'block')}"
    if blocks and schedule.remaining(blocks - 1):
        position = f"in the middle of block {blocks}"
    line = f"session:    {session.session + 1} of this study, {position}"
    return f"{line}; adds {amendments.describe(study.amendment)}" if study.amendment else line


def _say_complete(study: _Study, to: TextIO) -> None:
    """Prints that nothing is left to run, and how to add to the study."""
    command = study.more_launches()
    if study.history.state.forecast():
        command = f"{resume_study(study.folder, '--budget', '5m')}, or {command}"
    line = f"complete: {study.history.ended}; nothing is left to run. To add to it: {command}"
    show([line], to)


def _finish(study: _Study, journal: StudyJournal, session: SessionRecord, request: Request) -> int:
    """Runs a session, makes the report and judges; returns the exit status."""
    end, ended_by = _run(study, journal, session)
    explain = ""
    if request.explain and end.status != "interrupted":  # else the job has no time for it either
        explain = shlex.join(
            ["nearpeak", "explain", "--study", str(study.folder), "--worst", str(request.explain)]
        )
        ended_by = _explain(study.folder, request.explain, explain)
    return _conclude(study, request, ended_by, explain)


def _explain(folder: Path, number: int, later: str) -> int | None:
    """Explains that many messages; returns the signal that ended this, if any. Whatever happens,
    the study goes on to its report, which rests on the launches. `later`: the command that explains
    them."""
    try:
        with ending():
            add_worst(folder, number)
    except KeyboardInterrupt as interrupt:
        ended_by = status_of(interrupt) - 128
        say(f"nearpeak: explanations are left out: {why_ended(ended_by)}")
        return ended_by
    except (OSError, UserError) as error:
        say(f"nearpeak: explanations are left out: {error}; to explain later: {later}")
    return None


def _run(
    study: _Study, journal: StudyJournal, session: SessionRecord
) -> tuple[StudyEndRecord, int | None]:
    """Runs a session, and prints how it ended and how to go on; returns how it ended, and the
    signal that ended it, if any."""
    folder, plan = study.folder, study.plan
    begun.remember(plan)  # also as it has grown
    with progress.make_progress(plan) as shown:
        run = StudyRun(
            folder,
            plan,
            journal,
            programs.TOOLS,
            shown,
            session,
            study.history,
            study.amendment,
            measuring_seconds(),
        )
        end = run.run()
    tell(f"{'interrupted' if end.status == 'interrupted' else 'complete'}: {end.message}")
    if end.status == "interrupted" and run.signal is None:
        tell(f"Complete it in another job: {resume_study(folder)}")
    if end.status == "imprecise":
        if forecast := run.forecast():
            command = resume_study(folder, "--budget", f"{MORE_SECONDS / 60:g}m")
            tell(sentence(forecast, command))
        else:
            tell(f"More time adds nothing. To add launches: {study.more_launches()}")
    return end, run.signal


def _conclude(
    study: _Study, request: Request, ended_by: int | None = None, explain: str = ""
) -> int:
    """Makes the report and judges; returns the exit status: 1 if something is wrong or lacking, or
    that of the signal that ended the study. `explain`: the command that makes up for explanations,
    where the signal ended these; empty: it ended the measuring."""
    folder = study.folder
    try:
        results = judged.judged(folder, request.options.require)
        judged.present(results, folder, folder, verbose=request.verbose)
    except (OSError, UserError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError):
            raise cannot_write(folder, cause) from None
        raise
    if ended_by is not None:
        for judgement in results.requirements if explain else []:  # all was measured
            tell(judgement.sentence)
        return lifecycle.cut_short(ended_by, explain or resume_study(folder))
    if lacking := blocks_lacking(results):
        launches = str(study.history.state.begun_blocks + lacking)
        command = resume_study(folder, "--launches", launches)
        tell(f"Verdicts lack {count(lacking, 'block')}; to add what they lack: {command}")
    return judged.conclude(results) or lifecycle.conclude(
        not results.complete, "the study is not complete"
    )
