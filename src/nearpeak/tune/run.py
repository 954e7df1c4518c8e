# SPDX-License-Identifier: Apache-2.0
"""A tuning, from its options to its result; callers run the study that confirms it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

import nearpeak
from nearpeak.clock import now
from nearpeak.errors import UserError
from nearpeak.files import make_inside, write_whole
from nearpeak.libraries.library import Settings
from nearpeak.libraries.profiles import build_of
from nearpeak.libraries.rules import rules_text
from nearpeak.libraries.tunables import versions
from nearpeak.numbers import count
from nearpeak.tune import calibrate, rules, thresholds
from nearpeak.tune.candidates import Candidate, Env, chosen_with, idle, with_named
from nearpeak.tune.confirm import FREE, TUNED
from nearpeak.tune.hints import Hints, hints
from nearpeak.tune.journal import SCHEMA, Begin, TuneJournal, tables_of
from nearpeak.tune.prepare import UCX, Prepared, as_it_is, prepare
from nearpeak.tune.profiles import profiles
from nearpeak.tune.search import Outcome, Search
from nearpeak.tune.summary import summed_up
from nearpeak.tune.trials import Trials

__all__ = ["Prepared", "begin", "borders", "prepare", "profiles", "search", "settings", "summed_up"]

TRIED = "tried"  # the folder of the file of rules of the trials, in the search's folder
SHARE_RULED = 1 / 3  # of the search's time, at most, for the algorithms of collective operations
SHARE_RULED_ALONE = 1 / 2  # if all targets are such operations
MOST_HINTED = 2  # sizes that are explained, the largest: some 10 s each


def begin(prepared: Prepared) -> Begin:
    """The first line of the journal."""
    single = prepared.single
    machine = single.machine
    return Begin(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        started=now(),
        asked=prepared.asked,
        library=single.library.name,
        family=single.library.family,
        version=single.library.version,
        build=build_of(single.library),
        components=versions(single.library),
        path=single.path.id,
        path_summary=single.path.summary,
        host=machine.hostname,
        cpu=machine.cpu_model,
        gpus=[gpu.name for gpu in machine.gpus],
        driver=machine.provenance.nvidia_driver,
        candidates=[dict(candidate.env) for candidate in prepared.candidates],
        study_seconds=prepared.study_seconds,
    )


def search(
    prepared: Prepared,
    journal: TuneJournal,
    tell: Callable[[str], None],
    tick: Callable[[float], None],
) -> Outcome:
    """Searches, or continues a search; UserError if the library or the catalogue has changed."""
    _check_same(journal, begin(prepared))
    trials = Trials(journal, prepared.launches, tick)
    single = prepared.single
    hinted = trials.hints(lambda limit: _hints(prepared, tell, limit))
    for name, value in hinted.named:
        tell(f"{name}={value} is tried first: the time or the size of its messages names it")
    given = {*single.settings.env, *single.library.env}
    crossed = _crossed(prepared, trials, hinted, tell)
    ruled = _ruled(prepared, trials, journal.folder, tell)
    named = [*hinted.named, *crossed, *(candidate.env[-1] for candidate in ruled)]
    values = [*ruled, *_unforced(prepared, journal, _with_crossed(prepared, dict(crossed)))]
    values, first = with_named(values, list(dict.fromkeys(named)), given)
    if hinted.over_ucx is False:
        values = _without_idle(prepared, chosen_with(values, UCX, prepared.of_ucx), first, tell)
    calibrated = _calibrated(prepared, trials, tell, [UCX] if hinted.over_ucx else [])
    with single.mps():
        return Search(trials, values, prepared.asked.seed, tell, first, calibrated).run()


def _check_same(journal: TuneJournal, current: Begin) -> None:
    """Raises UserError if the library or the catalogue is not that of the journal."""
    begun = journal.begin
    if (begun.library, begun.version, begun.host, begun.candidates) != (
        current.library,
        current.version,
        current.host,
        current.candidates,
    ) or (begun.build and (begun.build, begun.components) != (current.build, current.components)):
        raise UserError(
            f"{journal.folder} was begun with {begun.library} {begun.version} on {begun.host} and"
            " its settings of then: start anew in another folder"
        )


def _crossed(
    prepared: Prepared, trials: Trials, hinted: Hints, tell: Callable[[str], None]
) -> list[tuple[str, str]]:
    """Returns the thresholds of the components that move the messages, each with the value at which
    its protocols cross."""
    idle_names = prepared.of_ucx if hinted.over_ucx is False else []
    active = [tunable for tunable in prepared.thresholds if tunable.name not in idle_names]
    if not active:
        return []
    with prepared.single.mps():
        return trials.thresholds(
            lambda limit, left: thresholds.measure(prepared.launches, active, tell, limit, left)
        )


def _with_crossed(prepared: Prepared, crossed: Mapping[str, str]) -> list[Candidate]:
    """Returns the values, preceded by those at which protocols cross. The others stay, since
    protocols cross elsewhere with other settings (MPICH's, with larger cells)."""
    at_crossings = [
        Candidate(tuple(tunable.env(crossed[tunable.name]).items()))
        for tunable in prepared.thresholds
        if tunable.name in crossed
    ]
    return list(dict.fromkeys([*at_crossings, *prepared.candidates]))


def _ruled(
    prepared: Prepared, trials: Trials, folder: Path, tell: Callable[[str], None]
) -> list[Candidate]:
    """Writes the file of rules for collective operations, and returns the variables that name it.
    Returns nothing if no algorithm is faster."""
    if not prepared.operations or prepared.ruled is None:
        return []
    file = folder.resolve() / TRIED / prepared.ruled.file
    ruled = {operation.name for operation in prepared.operations}
    alone = all(target.benchmark in ruled for target in prepared.launches.targets)
    with prepared.single.mps():
        tables = trials.rules(
            lambda limit, left: rules.measure(
                prepared.launches, prepared.operations, tell, limit, left
            ),
            file,
            SHARE_RULED_ALONE if alone else SHARE_RULED,
        )
    if not tables:
        return []
    library = prepared.single.library
    make_inside(file.parent)
    about = f"{library.family} {library.version}, by nearpeak tune"
    write_whole(file, rules_text(tables, about))
    return [Candidate(tuple(prepared.ruled.env(str(file)).items()))]


def _unforced(
    prepared: Prepared, journal: TuneJournal, values: Sequence[Candidate]
) -> list[Candidate]:
    """Leaves out values that force an algorithm of an operation with rules. They would override the
    rules at all sizes and for any number of ranks, while trials measure only one number."""
    forced = rules.forced(prepared.operations, tables_of(journal.records))
    return [candidate for candidate in values if forced.isdisjoint(dict(candidate.env))]


def borders(prepared: Prepared, journal: TuneJournal, env: Env) -> list[int]:
    """Returns sizes between the measured ones, at which the file of rules of these variables
    changes the algorithm."""
    taken = prepared.ruled is not None and prepared.ruled.name in env
    return rules.borders(prepared.operations, tables_of(journal.records)) if taken else []


def _without_idle(
    prepared: Prepared, values: Sequence[Candidate], first: int, tell: Callable[[str], None]
) -> list[Candidate]:
    """Leaves out the values of UCX, which moves none of the messages, unless another value selects
    it. The `first` values stay."""
    left_out = set(idle(values, UCX, prepared.of_ucx)).difference(values[:first])
    if left_out:
        tell(
            f"{count(len(left_out), 'value')} of UCX are left out: it moves none of these messages"
        )
    return [candidate for candidate in values if candidate not in left_out]


def _calibrated(
    prepared: Prepared, trials: Trials, tell: Callable[[str], None], used: Sequence[str]
) -> list[Candidate]:
    """Returns the values of the library's own cost model that follow from ceilings of this machine.
    `used`: the components with such a model that move the messages."""
    model = [tunable for tunable in prepared.calibrated if tunable.component in used]
    if not model:
        return []
    ceilings = trials.ceilings(lambda limit: calibrate.measure(prepared.single, model, tell, limit))
    return calibrate.values(model, ceilings)


def _hints(prepared: Prepared, tell: Callable[[str], None], limit_seconds: float) -> Hints:
    """Explains the largest messages of the targets."""
    subjects = prepared.launches.subjects.values()
    targets = prepared.launches.targets
    sizes = sorted({target.size for target in targets if target.of_messages})
    looked = next((single for single in subjects if single.benchmark.one_message), None)
    if looked is None:
        return hints(prepared.single, [], tell, limit_seconds)
    return hints(looked, sizes[-MOST_HINTED:], tell, limit_seconds)


def settings(prepared: Prepared, outcome: Outcome) -> list[Settings]:
    """Returns the settings to confirm: the base, the tuned ones, and the part of these that costs
    nothing elsewhere, if it differs."""
    base = as_it_is(prepared.single.settings)

    def made(name: str, env: Env, summary: str) -> Settings:
        summary = f"nearpeak tune: {summary}"
        return msgspec.structs.replace(base.changed(env), name=name, summary=summary)

    compared = [base, made(TUNED, outcome.taken, "all that it found")]
    if outcome.free not in ({}, outcome.taken):
        compared.append(made(FREE, outcome.free, "what costs nothing elsewhere"))
    return compared
