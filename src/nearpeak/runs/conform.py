# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak conform`: every case of every library is tried, or those that are left."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from nearpeak.conform import present as presenter
from nearpeak.conform import run
from nearpeak.conform.build import build, to_json
from nearpeak.conform.conformance import Conformance
from nearpeak.conform.journal import FORM, Begin, ConformJournal
from nearpeak.conform.plan import Chosen
from nearpeak.conform.progress import Progress
from nearpeak.conform.wording import finding
from nearpeak.errors import UserError
from nearpeak.launching import programs
from nearpeak.launching.describe import Description
from nearpeak.launching.mps import MpsError
from nearpeak.launching.paths import paths_within
from nearpeak.libraries.library import Contender
from nearpeak.machine import discover
from nearpeak.numbers import listed
from nearpeak.owners import check_output
from nearpeak.planning.contenders import choose_contenders
from nearpeak.planning.gate import Preparation
from nearpeak.planning.options import library_choice
from nearpeak.planning.prepare import start as started
from nearpeak.runs import lifecycle
from nearpeak.runs.messages import say, say_inherited, say_lacking, tell
from nearpeak.study import begun


@dataclass(frozen=True)
class _Prepared:
    """The cases of a run, and the libraries and places that they are tried with."""

    contenders: list[Contender]
    described: Description
    places: dict[str, run.Place]
    begin: Begin


def start(folder: Path, chosen: Chosen, *, verbose: bool) -> int:
    """Tries the cases of `chosen`, and prints the results, with `verbose` all of them; returns the
    exit status. UserError, CannotWriteError."""
    FORM.check_new(folder)
    prepared = _prepare(chosen)
    with closing(ConformJournal(folder, prepared.begin)) as journal:
        begun.remember(prepared.begin)
        return _try(journal, prepared, verbose=verbose)


def resume(folder: Path, *, accept: bool, verbose: bool) -> int:
    """Tries the cases that are left of the run in the folder, as `start` does. `accept`: as for
    `check_begun`."""
    check_output(folder)  # before anything in it is changed
    FORM.repair(folder)
    begin = FORM.begin(FORM.read(folder))
    libraries = begin.chosen.libraries
    lifecycle.check_begun(
        folder, FORM.command, begin, lambda: begun.named_in(libraries), accept=accept
    )
    with closing(ConformJournal(folder)) as journal:
        prepared = _prepare(journal.begin.chosen)
        run.check_resumed(journal.records, prepared.begin, prepared.contenders)
        return _try(journal, prepared, verbose=verbose)


def _prepare(chosen: Chosen) -> _Prepared:
    contenders = choose_contenders([library_choice(spec) for spec in chosen.libraries], say)
    for contender in contenders:
        run.check_library(contender)
        say_lacking(contender.library)
    machine, tools = discover.discover(), programs.TOOLS
    libraries = [contender.library for contender in contenders]
    described = programs.build_programs(libraries, tools).described
    contenders, lent = started(contenders, machine, [[]], None, Preparation(tools, say))
    path = run.named_path(lent, chosen.path) if chosen.path else None
    places = run.places(paths_within(lent), chosen, path)
    begin = run.begin(machine, chosen, described, list(places))
    return _Prepared(contenders, described, places, begin)


def _try(journal: ConformJournal, prepared: _Prepared, *, verbose: bool) -> int:
    """Tries what the journal lacks. The results are written also after an interrupt."""
    trials = run.Run(journal, prepared.described, prepared.places, programs.TOOLS)
    for contender in prepared.contenders:
        given = contender.settings
        say_inherited(contender.library, {**given.kept_of(contender.library.env), **given.env})
    left = sum(len(trials.left(contender)) for contender in prepared.contenders)
    try:
        with (
            lifecycle.interruptible(journal, tell) as interruption,
            Progress(left, finding) as progress,
        ):
            trials.begin(prepared.contenders)
            for contender in prepared.contenders:
                trials.try_library(contender, progress.tell)
    except MpsError as error:
        raise UserError(str(error)) from None
    conformance = build(journal.records)
    present(conformance, journal.folder, verbose=verbose)
    if interruption.signal is not None:
        return lifecycle.cut_short(interruption.signal, FORM.resume_command(journal.folder))
    return conclude(conformance)


def read(folder: Path) -> Conformance:
    """The results of the run in a folder; UserError."""
    return build(FORM.read(folder))


def present(conformance: Conformance, folder: Path | None, *, verbose: bool) -> Path | None:
    """Writes the results and their page into a folder, if there is one, and prints them, with
    `verbose` all of them. Returns the page's path."""
    document, results = presenter.present(conformance), to_json(conformance)
    return lifecycle.present(document, folder, "conform", results, verbose=verbose)


def conclude(conformance: Conformance) -> int:
    """Returns the exit status: 1 if something failed, or nothing was tried, which it prints."""
    why = f"nothing could be tried of {listed(conformance.untried)}" if conformance.untried else ""
    return lifecycle.conclude(bool(conformance.failed or conformance.untried), why)
