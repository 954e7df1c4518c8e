# SPDX-License-Identifier: Apache-2.0
"""`nearpeak tune`: which settings make a library faster, found by measurement and confirmed."""

import contextlib
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import (
    AcceptCommands,
    PathId,
    check_run,
    check_words,
    keep_reason,
    parsed,
    say,
    say_inherited,
    say_lacking,
    warn,
)
from nearpeak.errors import UserError
from nearpeak.numbers import count
from nearpeak.signals import ending, status_of
from nearpeak.terms.exit_statuses import sentence
from nearpeak.tune.targets import DEFAULT

if TYPE_CHECKING:
    from nearpeak.libraries.profiles import Profile
    from nearpeak.tune.confirm import Confirmed
    from nearpeak.tune.journal import Amended, Asked, TuneJournal
    from nearpeak.tune.run import Prepared
    from nearpeak.tune.search import Outcome
    from nearpeak.tune.tuned import Tuned

FOLDER = "tuned"
BUDGET = "15m"
MORE = "10m"  # the time that is proposed to add
STUDY = "study"  # the folder of the confirming study, below DIR

HELP = f"""Find settings that make a library faster; write them as a profile.

Each value that the catalogue has for this library (`nearpeak mpi settings NAME`) is
tried where --path, --buffers and --for say, with every launch's data verified. What
helps is put together, and what is not needed dropped. Then a study of fresh launches
measures the library with and without it, on every path of the machine: it decides
whether the settings are taken, taken for this path alone, or not at all.

What was taken is written into DIR: profile.toml for --mpi NAME@DIR/profile.toml of
every command, and a shell file, a module file and the library's own files. What makes
something else slower is in DIR/only-PATH-BUFFERS alone, with its price. DIR/report.html
shows it all, and DIR/study has the report of the study. `--resume --budget TIME` adds
time to it.

Examples:

  nearpeak tune --mpi openmpi-cuda --buffers H,D

  nearpeak tune --mpi intel --buffers D,D --path "gpu-gpu nvlink" --for latency:8,bw:16M

  nearpeak tune --mpi mpich --for latency:8,latency:64K --budget 5m -o tuned

  nearpeak tune --mpi mpich --for jacobi2d --budget 30m

  nearpeak tune --mpi openmpi --trace trace.json --budget 10m

  nearpeak tune --resume -o tuned --budget 10m

  nearpeak run latency --mpi mpich@tuned/profile.toml

{sentence("tune")}
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("tune", help=HELP)(tune)


def tune(
    mpi: Annotated[
        str | None,
        typer.Option(metavar="SPEC[@SETTINGS]", help="The library: its name, or a path."),
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="BENCHMARK:SIZE,...",
            help=f"What it is to be faster in; of an application, like jacobi2d, its name alone is"
            f" its usual sizes. Default: {DEFAULT}.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What `nearpeak trace -o FILE` wrote of an application: it is to be faster in what"
            " this one does longest, in place of --for.",
        ),
    ] = None,
    path: PathId = None,
    buffers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="As in `nearpeak run`: H host, P pinned, D device, M managed. Default: H,H.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"For search and confirmation. Default: {BUDGET}; with --resume, what it may take"
            " from now on. Default then: what is left.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Repeat a search in the same order.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where all of it goes.")
    ] = Path(FOLDER),
    resume: Annotated[
        bool, typer.Option("--resume", help="Complete what was begun in DIR.")
    ] = False,
    accept_commands: AcceptCommands = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the values that would be tried.")
    ] = False,
) -> None:
    """Searches, confirms, writes and prints."""
    from nearpeak.study import begun
    from nearpeak.terms.sizes import format_sizes, parse_seconds
    from nearpeak.tune import run
    from nearpeak.tune.journal import FORM, TuneJournal, budget_of, seconds_of
    from nearpeak.tune.targets import by_benchmark

    added: float | None = None
    if resume:
        if any(word is not None for word in (mpi, targets, trace, path, buffers, seed)):
            raise UserError(
                "--resume takes every option from the folder: give only -o DIR, and --budget for"
                " more time"
            )
        added = None if budget is None else parsed("--budget", parse_seconds, budget)
        before = FORM.begin(FORM.read(output))
        names = [f"the variables of {FORM.name}", *begun.named_in([before.asked.mpi])]
        check_run(output, FORM.command, before, names, accept=accept_commands)
        request = before.asked
    else:
        if accept_commands:
            raise UserError("--accept-commands needs --resume: give it, or leave this out")
        request = _request(mpi, targets, trace, path, buffers, budget, seed)
        if not dry_run:
            FORM.check_new(output)
    prepared = run.prepare(request, say)
    for name, sizes in by_benchmark(prepared.launches.targets).items():
        check_words(prepared.launches.subjects[name], ["--sizes", format_sizes(sizes)], "tune")
    if dry_run:
        print("\n".join(candidate.label for candidate in prepared.candidates))
        return
    start = time.monotonic()  # what had to be compiled is done
    single = prepared.single
    say(f"Path {single.path.id}: {single.path.summary}")
    say_lacking(single.library)
    warn(single.diagnoses, sys.stderr)
    say_inherited(single.library, single.line([]).env)
    with contextlib.closing(
        TuneJournal(output, None if resume else run.begin(prepared))
    ) as journal:
        begun.remember(journal.begin)
        start -= seconds_of(journal.records)  # of a run before this one
        for_study = None
        if added is not None:
            amendment = _amended(added, output)
            journal.append(amendment)
            for_study = added if amendment.study else None
        budget_left = budget_of(journal.records)
        try:
            with ending():
                outcome = _search(prepared, journal)
                spent = time.monotonic() - start
                judged = _confirm(
                    prepared, journal, outcome, output, budget_left.study_seconds(spent), for_study
                )
        except KeyboardInterrupt as interrupt:
            say(f"interrupted: {keep_reason(interrupt, journal)}")
            raise _interrupted(output, status_of(interrupt)) from None
        unused = 0.0 if outcome.taken else budget_left.unused(time.monotonic() - start)
        tuned = run.summed_up(prepared, journal, outcome, judged, unused)
        profiles = run.profiles(prepared, journal, tuned, judged)
    _write(tuned, profiles, output)
    if warning := budget_left.overdrawn(time.monotonic() - start):
        say(warning)
    if tuned.verdict == "fails":
        raise typer.Exit(1)


def _traced(file: Path, mpi: str, targets: str | None, buffers: str | None) -> str:
    """The targets, as of --for, that the application of a trace spends most time in."""
    from nearpeak.launching.programs import TOOLS, describe_library
    from nearpeak.libraries import discover, settings
    from nearpeak.tune.traced import choose, read_trace

    if targets is not None:
        raise UserError("--trace and --for both say what is to be faster: give one of them")
    trace = read_trace(file)
    described = describe_library(discover.resolve(settings.split(mpi)[0]), TOOLS)
    chosen = choose(trace, buffers or "H,H", described.benchmarks)
    say(chosen.summary)
    return chosen.targets


def _request(
    mpi: str | None,
    targets: str | None,
    trace: Path | None,
    path: str | None,
    buffers: str | None,
    budget: str | None,
    seed: int | None,
) -> "Asked":
    from nearpeak.terms.buffers import parse_buffers
    from nearpeak.terms.sizes import parse_seconds
    from nearpeak.tune.journal import Asked

    if mpi is None:
        raise UserError("name a library, like `nearpeak tune --mpi openmpi`")
    if trace is not None:
        targets = _traced(trace, mpi, targets, buffers)
    return Asked(
        mpi=mpi,
        targets=targets or DEFAULT,
        path=path,
        buffers=parsed("--buffers", parse_buffers, buffers or "H,H"),
        budget_seconds=parsed("--budget", parse_seconds, budget or BUDGET),
        seed=random.SystemRandom().getrandbits(31) if seed is None else seed,
    )


def _amended(seconds: float, output: Path) -> "Amended":
    """An amendment of this much time, for the confirming study if it has begun, else for the search
    and its study."""
    from nearpeak.study.journal import NAME
    from nearpeak.terms.sizes import format_seconds
    from nearpeak.tune.journal import Amended

    study = (output / STUDY / NAME).exists()
    time_added = format_seconds(seconds)
    say(f"Adds {time_added} to {'the study that confirms' if study else 'the search'}")
    return Amended(budget_seconds=seconds, asked=f"--resume --budget {time_added}", study=study)


def _search(prepared: "Prepared", journal: "TuneJournal") -> "Outcome":
    from nearpeak.tune import run
    from nearpeak.tune.progress import Progress

    say(
        f"Trying {count(len(prepared.candidates), 'value')} of settings. A line names a value and"
        " says how many times as fast each target is with it:"
        f" {' '.join(target.label for target in prepared.launches.targets)}"
    )
    with Progress() as progress:
        return run.search(prepared, journal, progress.tell, progress.tick)


def _confirm(
    prepared: "Prepared",
    journal: "TuneJournal",
    outcome: "Outcome",
    output: Path,
    seconds: float,
    added: float | None,
) -> "dict[str, Confirmed]":
    """The study's verdicts on the settings that were taken, by name; empty if none were.
    `seconds`: the budget of the study; `added`: seconds to add to one that has begun."""
    from nearpeak.cli.study import measure
    from nearpeak.findings.build import build_results
    from nearpeak.libraries.tunables import library_tunables
    from nearpeak.report.page import write_report
    from nearpeak.tune import confirm, run, thresholds

    if not outcome.taken:
        return {}
    folder = output / STUDY
    single = prepared.single
    base, *others = run.settings(prepared, outcome)
    options = confirm.options(
        prepared.mpi,
        [base, *others],
        prepared.paths,
        prepared.launches.targets,
        prepared.usual,
        seconds,
        [
            *thresholds.moved(library_tunables(single.library), outcome.taken),
            *run.borders(prepared, journal, outcome.taken),
        ],
        prepared.kinds,
        prepared.host,
    )
    ended_by = measure(options, folder, added)
    if ended_by is not None:
        raise _interrupted(output, 128 + ended_by)
    results = build_results(folder)
    write_report(results, folder)
    return {
        settings.name: confirm.judge(
            results,
            single.library.name,
            base.name,
            prepared.launches.targets,
            prepared.paths,
            prepared.asked.buffers,
            settings.name,
        )
        for settings in others
    }


def _interrupted(output: Path, status: int) -> typer.Exit:
    from nearpeak.tune.journal import resume_command

    say(f"nearpeak: interrupted; complete it with: {resume_command(output)}")
    return typer.Exit(status)


def _write(tuned: "Tuned", profiles: "dict[str, Profile]", output: Path) -> None:
    import msgspec

    from nearpeak.document.page import write_page
    from nearpeak.document.terminal import print_document
    from nearpeak.files import write_whole
    from nearpeak.tune.journal import resume_command
    from nearpeak.tune.present import present
    from nearpeak.tune.written import withdraw, write

    withdraw(output)
    text = msgspec.json.format(msgspec.json.encode(tuned), indent=1).decode()
    write_whole(output / "tune.json", text)
    files = {profile.scope: write(profile, output / folder) for folder, profile in profiles.items()}
    document, page = present(tuned, files), output / "report.html"
    write_page(document, page)
    print_document(document, page)
    # The study has begun where something was taken: all that is added is its own.
    to_study = " to the study" if tuned.env or tuned.unset else ""
    if tuned.unguarded or (tuned.lacking and not to_study):
        say(f"To add time{to_study}: {resume_command(output)} --budget {MORE}")
    if tuned.lacking and to_study:
        say(
            "What the search had no time for takes a new one with a longer --budget, and another -o"
        )
