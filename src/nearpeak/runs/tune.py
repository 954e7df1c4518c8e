# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak tune`: settings are searched, and confirmed by a study of their own."""

import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from nearpeak.document.page import write_page
from nearpeak.document.terminal import print_document
from nearpeak.files import write_whole
from nearpeak.findings import build
from nearpeak.launching import programs
from nearpeak.libraries import discover, settings
from nearpeak.libraries.profiles import Profile
from nearpeak.libraries.tunables import library_tunables
from nearpeak.numbers import count
from nearpeak.report.page import write_report
from nearpeak.runs import lifecycle, study
from nearpeak.runs.messages import check_words, introduce, say
from nearpeak.study import begun
from nearpeak.study.journal import NAME as RECORDS
from nearpeak.terms.sizes import format_seconds, format_sizes
from nearpeak.trace.measured import read_trace
from nearpeak.tune import confirm, run, thresholds
from nearpeak.tune import present as presenter
from nearpeak.tune.confirm import Confirmed
from nearpeak.tune.journal import (
    FORM,
    Amended,
    Asked,
    TuneJournal,
    budget_of,
    resume_command,
    seconds_of,
)
from nearpeak.tune.progress import Progress
from nearpeak.tune.run import Prepared
from nearpeak.tune.search import Outcome
from nearpeak.tune.targets import by_benchmark
from nearpeak.tune.traced import choose
from nearpeak.tune.tuned import Tuned
from nearpeak.tune.written import withdraw, write

MORE = "10m"  # the time that is proposed to add
STUDY = "study"  # the folder of the confirming study, below that of the run


def targets_of_trace(file: Path, mpi: str, buffers: str) -> str:
    """The targets, as of --for, that the application of a trace spends most time in; UserError."""
    trace = read_trace(file)
    library = discover.resolve(settings.split(mpi)[0])
    described = programs.describe_library(library, programs.TOOLS)
    chosen = choose(trace, buffers, described.benchmarks)
    say(chosen.summary)
    return chosen.targets


def start(folder: Path, request: Asked, *, dry_run: bool, verbose: bool) -> int:
    """Searches, confirms, writes and prints, with `verbose` all of it; returns the exit status.
    UserError, CannotWriteError."""
    if not dry_run:
        FORM.check_new(folder)
    prepared = _prepare(request)
    if dry_run:
        return _show(prepared)
    started = time.monotonic()  # what had to be compiled is done
    introduce(prepared.single)
    with closing(TuneJournal(folder, run.begin(prepared))) as journal:
        begun.remember(journal.begin)
        return _tune(prepared, journal, started, verbose=verbose)


def resume(folder: Path, added: float | None, *, accept: bool, dry_run: bool, verbose: bool) -> int:
    """Completes the run in the folder, as `start` does. `added`: seconds to add to it; `accept`: as
    for `check_begun`."""
    begin = FORM.begin(FORM.read(folder))
    mpi = begin.asked.mpi
    lifecycle.check_begun(
        folder,
        FORM.command,
        begin,
        lambda: [f"the variables of {FORM.name}", *begun.named_in([mpi])],
        accept=accept,
    )
    prepared = _prepare(begin.asked)
    if dry_run:
        return _show(prepared)
    started = time.monotonic()
    introduce(prepared.single)
    with closing(TuneJournal(folder)) as journal:
        started -= seconds_of(journal.records)  # of a run before this one
        for_study = None
        if added is not None:
            amendment = _amended(added, folder)
            journal.append(amendment)
            for_study = added if amendment.study else None
        return _tune(prepared, journal, started, for_study, verbose=verbose)


def _prepare(request: Asked) -> Prepared:
    prepared = run.prepare(request, say)
    for name, sizes in by_benchmark(prepared.launches.targets).items():
        check_words(prepared.launches.subjects[name], ["--sizes", format_sizes(sizes)], "tune")
    return prepared


def _show(prepared: Prepared) -> int:
    print("\n".join(candidate.label for candidate in prepared.candidates))
    return 0


def _amended(seconds: float, folder: Path) -> Amended:
    """An amendment of this much time, for the confirming study if it has begun, else for the search
    and its study."""
    study = (folder / STUDY / RECORDS).exists()
    time_added = format_seconds(seconds)
    say(f"Adds {time_added} to {'the study that confirms' if study else 'the search'}")
    return Amended(budget_seconds=seconds, asked=f"--resume --budget {time_added}", study=study)


def _tune(
    prepared: Prepared,
    journal: TuneJournal,
    started: float,
    for_study: float | None = None,
    *,
    verbose: bool,
) -> int:
    """Does what the journal lacks. `started`: when it would have, in one go; `for_study`: seconds
    to add to a confirming study that has begun."""
    folder, budget = journal.folder, budget_of(journal.records)

    def spent() -> float:
        return time.monotonic() - started

    with lifecycle.interruptible(journal, say) as interruption:
        outcome = _search(prepared, journal)
        interruption.signal = _measure(
            prepared, journal, outcome, budget.study_seconds(spent()), for_study
        )
        judged = _judge(prepared, outcome, folder) if interruption.signal is None else {}
    if interruption.signal is not None:
        return lifecycle.cut_short(interruption.signal, resume_command(folder), say)
    unused = 0.0 if outcome.taken else budget.unused(spent())
    tuned = run.summed_up(prepared, journal, outcome, judged, unused)
    present(tuned, run.profiles(prepared, journal, tuned, judged), folder, verbose=verbose)
    if warning := budget.overdrawn(spent()):
        say(warning)
    return lifecycle.conclude(tuned.verdict == "fails")


def _search(prepared: Prepared, journal: TuneJournal) -> Outcome:
    say(
        f"Trying {count(len(prepared.candidates), 'value')} of settings. A line names a value and"
        " says how many times as fast each target is with it:"
        f" {' '.join(target.label for target in prepared.launches.targets)}"
    )
    with Progress() as progress:
        return run.search(prepared, journal, progress.tell, progress.tick)


def _measure(
    prepared: Prepared,
    journal: TuneJournal,
    outcome: Outcome,
    seconds: float,
    added: float | None,
) -> int | None:
    """Runs the study that confirms the settings that were taken, if any; returns the signal that
    ended it. `seconds`: its budget; `added`: seconds to add to one that has begun."""
    if not outcome.taken:
        return None
    options = confirm.options(
        prepared.mpi,
        run.settings(prepared, outcome),
        prepared.paths,
        prepared.launches.targets,
        prepared.usual,
        seconds,
        [
            *thresholds.moved(library_tunables(prepared.single.library), outcome.taken),
            *run.borders(prepared, journal, outcome.taken),
        ],
        prepared.kinds,
        prepared.host,
    )
    return study.measure(options, journal.folder / STUDY, added)


def _judge(prepared: Prepared, outcome: Outcome, folder: Path) -> dict[str, Confirmed]:
    """The study's verdicts on the settings that were taken, by name; empty if none were. Writes the
    report of the study."""
    if not outcome.taken:
        return {}
    results = build.build_results(folder / STUDY)
    write_report(results, folder / STUDY)
    base, *others = run.settings(prepared, outcome)
    return {
        settings.name: confirm.judge(
            results,
            prepared.single.library.name,
            base.name,
            prepared.launches.targets,
            prepared.paths,
            prepared.asked.buffers,
            settings.name,
        )
        for settings in others
    }


def present(tuned: Tuned, profiles: Mapping[str, Profile], folder: Path, *, verbose: bool) -> None:
    """Writes the results, the files of the profiles (by the folder below `folder`) and the page,
    and prints them, with `verbose` all of them; withdraws the files of earlier profiles."""
    withdraw(folder)
    text = msgspec.json.format(msgspec.json.encode(tuned), indent=1).decode()
    write_whole(folder / "tune.json", text)
    files = {profile.scope: write(profile, folder / name) for name, profile in profiles.items()}
    document, page = presenter.present(tuned, files), folder / "report.html"
    write_page(document, page)
    print_document(document, page, verbose=verbose)
    # The study has begun where something was taken: all that is added is its own.
    to_study = " to the study" if tuned.env or tuned.unset else ""
    if tuned.unguarded or (tuned.lacking and not to_study):
        say(f"To add time{to_study}: {resume_command(folder)} --budget {MORE}")
    if tuned.lacking and to_study:
        say(
            "What the search had no time for takes a new one with a longer --budget, and another -o"
        )
