# SPDX-License-Identifier: Apache-2.0
"""A tuning, from its options to its result; callers run the study that confirms it."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec
import numpy as np

import nearpeak
from nearpeak.clock import now
from nearpeak.errors import UserError
from nearpeak.files import make_inside, write_whole
from nearpeak.launching import programs
from nearpeak.launching.paths import select_paths
from nearpeak.launching.single import Single, another_benchmark, choose
from nearpeak.libraries import preload
from nearpeak.libraries.families import is_native
from nearpeak.libraries.given import fixed
from nearpeak.libraries.launch import forced_network, needed
from nearpeak.libraries.library import UNSET, Library, Settings
from nearpeak.libraries.profiles import SCHEMA as PROFILE_SCHEMA
from nearpeak.libraries.profiles import Apart, Evidence, Profile, build_of, slower_at
from nearpeak.libraries.rules import Table, rules_text
from nearpeak.libraries.settings import split
from nearpeak.libraries.tunables import (
    Offered,
    Tunable,
    files,
    for_one_host,
    library_tunables,
    may_break,
    offered,
    versions,
)
from nearpeak.numbers import count
from nearpeak.planning.estimate import APPLICATION_SECONDS, GUESSES
from nearpeak.planning.fit import OVERTIME, blocks_wanted, budget_for, rounded
from nearpeak.planning.prepare import prepare as prepare_study
from nearpeak.statistics.intervals import interval
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.buffers import default_buffers, needs_gpu
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_seconds
from nearpeak.tune import calibrate, confirm, rules, thresholds, tuned
from nearpeak.tune.budget import LEAST_SECONDS, SEARCHED
from nearpeak.tune.candidates import (
    Candidate,
    Env,
    candidates,
    chosen_with,
    idle,
    possible,
    with_named,
)
from nearpeak.tune.confirm import FREE, TUNED, Confirmed, Shown, apart
from nearpeak.tune.cures import cures
from nearpeak.tune.hints import Hints, hints
from nearpeak.tune.journal import (
    SCHEMA,
    Asked,
    Begin,
    Calibrated,
    Crossed,
    Hinted,
    Ruled,
    Trial,
    TuneJournal,
)
from nearpeak.tune.launches import Launches
from nearpeak.tune.search import CALIBRATED_ROUNDS, Offer, Outcome, Search
from nearpeak.tune.targets import Target, by_benchmark, parse_targets, resolved
from nearpeak.tune.trials import Trials
from nearpeak.tune.tried import tried
from nearpeak.tune.written import ONLY

TRIED = "tried"  # the folder of the file of rules of the trials, in the search's folder
BEFORE = "as-it-was"  # settings that were tuned before
UCX = "ucx"  # the component whose cost model takes ceilings
SHARE_RULED = 1 / 3  # of the search's time, at most, for the algorithms of collective operations
SHARE_RULED_ALONE = 1 / 2  # if all targets are such operations
MOST_HINTED = 2  # sizes that are explained, the largest: some 10 s each
# Launches of the shortest search that can take settings: looks, default settings, random trials, a
# race of two, two proofs of the winner, and checks with and without it.
LEAST_LAUNCHES = 10 + 3 + 20 + 6 + 3 + 2 * 8 + 2 * 4


@dataclass(frozen=True)
class Prepared:
    """The launches of a tuning, and the candidates that it tries."""

    asked: Asked
    launches: Launches
    candidates: list[Candidate]
    calibrated: list[Tunable]  # variables that take ceilings
    thresholds: list[Tunable]  # between two protocols that can be forced within a host
    operations: list[rules.Operation]  # collective operations that a file of rules can express
    ruled: Tunable | None  # the variable that names the file of rules
    collective: list[str]  # variables for collective operations among any number of ranks
    of_ucx: list[str]  # variables of UCX
    paths: list[str]  # ids of the guarded ones, first that of the targets
    usual: list[str]  # benchmarks that are guarded by the study
    kinds: list[str]  # buffers that the study measures; empty: each path's own
    host: confirm.HostCheck | None  # with buffers in a GPU, if a path has only host memory
    study_seconds: float  # of the smallest confirming study, overrun included

    @property
    def single(self) -> Single:
        """One of the launched benchmarks: all share library, settings, path and buffers."""
        return next(iter(self.launches.subjects.values()))

    @property
    def mpi(self) -> str:
        """The library's name without its settings."""
        return split(self.asked.mpi)[0]


def prepare(request: Asked, say: Callable[[str], None] = lambda _: None) -> Prepared:
    """Prepares a tuning. UserError if nothing can be tuned, or if the budget is too short. `say`:
    as in `choose`."""
    wanted = parse_targets(request.targets)
    names = list(dict.fromkeys(target.benchmark for target in wanted))

    def check_budget(library: Library, benchmarks: Sequence[Benchmark]) -> None:
        targets = resolved(wanted, {name: named(benchmarks, name) for name in names})
        launches = len(names) if is_native(library) else 1
        least = least_seconds(request.buffers, launches, _problems(targets))
        if request.budget_seconds < least:
            raise UserError(
                f"--budget: {format_seconds(request.budget_seconds)} is too short for a search and"
                f" its confirmation: give {format_seconds(least)} or more"
            )

    first = choose(
        names[0],
        request.mpi,
        "tune",
        path=request.path,
        buffers=request.buffers,
        say=say,
        check=check_budget,
    )
    subjects = {names[0]: first} | {
        name: another_benchmark(first, name, path=first.path.id, buffers=request.buffers)
        for name in names[1:]
    }
    targets = resolved(wanted, {name: single.benchmark for name, single in subjects.items()})
    described = programs.describe_library(first.library, programs.TOOLS)
    usual = list(dict.fromkeys(text.partition(":")[0] for text in described.defaults))
    target_benchmarks = [target.benchmark for target in targets if target.of_messages]
    guards = _guards(
        first, list(dict.fromkeys([*usual, *target_benchmarks])), first.path.id, request.buffers
    )
    paths = {first.path.id: request.buffers}
    guarded_paths = [first.path]
    for path in select_paths(first.machine, [], []):
        pair = path.transport == "memory" and len(path.ends) == 2
        if pair and not path.gpu_support and path.id not in paths:
            paths[path.id] = default_buffers(path, symmetric=True)[0]
            guarded_paths.append(path)
    kinds = _kinds(
        guarded_paths, [single.benchmark for single in subjects.values()], request.buffers
    )
    host = None
    if needs_gpu(request.buffers):
        guards += _guards(first, usual, None, confirm.HOST_BUFFERS)
        messages = {benchmark.name for benchmark in described.benchmarks if benchmark.one_message}
        checked = [name for name in usual if name in messages]
        paths_of_hosts = [path.id for path in guarded_paths if _of_hosts(path)]
        host = next((confirm.HostCheck(path, checked) for path in paths_of_hosts), None)
    tcp = first.path.transport == "network" and not first.path.between_hosts
    forced = forced_network(first.library).env if tcp else {}
    offers = possible(
        [*offered(first.library), *(cures(first.library) if first.path.gpu_support else [])],
        None if _problems(targets) else names,
        {
            **fixed(first.library),
            **dict.fromkeys(first.settings.unset, UNSET),
            **first.settings.env,
            **forced,
        },
        gpu=needs_gpu(request.buffers),
        network=first.path.between_hosts,
    )
    if not offers:
        raise UserError(
            f"nothing is known that could be set of {first.library.name} for these buffers: see"
            f" `nearpeak mpi settings {first.library.name}`"
        )
    pairs = {benchmark.name for benchmark in described.benchmarks if benchmark.is_pair}
    measured = [benchmark for benchmark in described.benchmarks if benchmark.ceiling == "measured"]
    priced = [
        benchmark.name for benchmark in measured if benchmark.one_message or benchmark.one_way
    ]
    guarded = [benchmark.name for benchmark in measured if benchmark.name in usual]
    others = {
        f"{path} {kinds}": _guards(first, priced, path, kinds) for path, kinds in paths.items()
    }
    return Prepared(
        request,
        Launches(subjects, guards, targets, {k: v for k, v in others.items() if v}),
        candidates(offers),
        [offer.tunable for offer in offers if offer.tunable.calibrated],
        [
            offer.tunable
            for offer in offers
            if offer.tunable.threshold and not first.path.between_hosts
        ],
        _operations(offers, subjects, targets),
        next((offer.tunable for offer in offers if offer.tunable.file), None),
        [
            tunable.name
            for tunable in library_tunables(first.library)
            if tunable.benchmarks and not tunable.file and pairs.isdisjoint(tunable.benchmarks)
        ],
        [offer.tunable.name for offer in offers if offer.tunable.component == UCX],
        list(paths),
        guarded,
        kinds,
        host,
        _study_seconds(
            split(request.mpi)[0], first.settings, list(paths), targets, guarded, kinds, host
        ),
    )


def _operations(
    offers: Sequence[Offered], subjects: Mapping[str, Single], targets: Sequence[Target]
) -> list[rules.Operation]:
    """Returns the targets with several algorithms that a file of rules can express."""
    operations = []
    for name, sizes in by_benchmark(targets).items():
        single = subjects[name]
        ways = rules.ways(offers, name)
        ruled = next(
            (e.tunable.ruled for e in offers if name in e.tunable.benchmarks and e.tunable.ruled),
            None,
        )
        if ruled is None or len(ways) < 2:
            continue
        measured = rules.sizes_of(single.benchmark.sizes(confirm.GUARDED_SIZES), sizes)
        operations.append(
            rules.Operation(
                name, ruled, tuple(ways), tuple(measured), tuple(sizes), len(single.path.ends)
            )
        )
    return operations


def _kinds(paths: Sequence[DataPath], targets: Sequence[Benchmark], buffers: str) -> list[str]:
    """Returns the buffers that the study measures: the tuned ones with each path's own. Empty if
    the first path has the tuned ones by default."""
    if all(buffers in default_buffers(paths[0], target.symmetric) for target in targets):
        return []
    default_kinds = [
        default_buffers(path, symmetric) for path in paths for symmetric in (True, False)
    ]
    return list(dict.fromkeys([buffers, *itertools.chain(*default_kinds)]))


def _study_seconds(
    mpi: str,
    base: Settings,
    paths: Sequence[str],
    targets: Sequence[Target],
    usual: Sequence[str],
    kinds: Sequence[str],
    host: confirm.HostCheck | None,
) -> float:
    """Returns the seconds of a study of two settings without all optional parts, by its own
    estimate."""
    two = [_as_it_is(base), msgspec.structs.replace(base, name=TUNED)]
    wanted = confirm.options(
        mpi, two, paths, targets, usual, LEAST_SECONDS, buffers=kinds, host=host
    )
    _, plan = prepare_study(wanted, programs.TOOLS, lambda _: None, retry=False, dry_run=True)
    return budget_for(plan, blocks_wanted(plan)) * OVERTIME


def _problems(targets: Sequence[Target]) -> int:
    """Counts the targets that are problems of applications."""
    return sum(not target.of_messages for target in targets)


def least_seconds(buffers: str, launches: int, problems: int = 0) -> float:
    """Returns the least budget in seconds, by an estimate of the time of launches. `launches`: of a
    trial; `problems`: of applications, in it."""
    start = GUESSES["mpi", "gpu" if needs_gpu(buffers) else "memory"].start
    trial = launches * start + problems * APPLICATION_SECONDS
    return rounded(LEAST_LAUNCHES * trial / SEARCHED)


def _of_hosts(path: DataPath) -> bool:
    return all(end.memory == "host" for end in path.ends)


def _guards(first: Single, names: list[str], path: str | None, buffers: str) -> list[Single]:
    """Returns the benchmarks that run on this path with these buffers."""
    guards = []
    for name in names:
        try:
            guards.append(another_benchmark(first, name, path=path, buffers=buffers))
        except UserError:  # it does not fit the path or the buffers
            continue
    return guards


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
    begun = journal.begin
    current = begin(prepared)
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
    tried, first = with_named(values, list(dict.fromkeys(named)), given)
    if hinted.over_ucx is False:
        tried = chosen_with(tried, UCX, prepared.of_ucx)
    calibrated = _calibrated(prepared, trials, tell, [UCX] if hinted.over_ucx else [])
    last = _last(prepared, hinted, tried)
    if last:
        tell(f"{count(len(last), 'value')} of UCX are tried last: it moves none of these messages")
    with single.mps():
        return Search(trials, tried, prepared.asked.seed, tell, first, calibrated, last).run()


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


def _tables(journal: TuneJournal) -> list[Table]:
    """Returns the tables of the file of rules that trials name."""
    return [
        table for record in journal.records if isinstance(record, Ruled) for table in record.tables
    ]


def _unforced(
    prepared: Prepared, journal: TuneJournal, values: Sequence[Candidate]
) -> list[Candidate]:
    """Leaves out values that force an algorithm of an operation with rules. They would override the
    rules at all sizes and for any number of ranks, while trials measure only one number."""
    forced = rules.forced(prepared.operations, _tables(journal))
    return [candidate for candidate in values if forced.isdisjoint(dict(candidate.env))]


def borders(prepared: Prepared, journal: TuneJournal, env: Env) -> list[int]:
    """Returns sizes between the measured ones, at which the file of rules of these variables
    changes the algorithm."""
    taken = prepared.ruled is not None and prepared.ruled.name in env
    return rules.borders(prepared.operations, _tables(journal)) if taken else []


def _last(prepared: Prepared, hinted: Hints, tried: Sequence[Candidate]) -> list[Candidate]:
    """Returns the values of UCX if it moves none of the messages, and if no value that is tried
    selects it."""
    return idle(tried, UCX, prepared.of_ucx) if hinted.over_ucx is False else []


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


def _as_it_is(base: Settings) -> Settings:
    """Returns the base settings of a tuning, renamed if an earlier tuning made them."""
    return msgspec.structs.replace(base, name=BEFORE) if base.name in (TUNED, FREE) else base


def settings(prepared: Prepared, outcome: Outcome) -> list[Settings]:
    """Returns the settings to confirm: the base, the tuned ones, and the part of these that costs
    nothing elsewhere, if it differs."""
    base = _as_it_is(prepared.single.settings)

    def made(name: str, env: Env, summary: str) -> Settings:
        summary = f"nearpeak tune: {summary}"
        return msgspec.structs.replace(base.changed(env), name=name, summary=summary)

    compared = [base, made(TUNED, outcome.taken, "all that it found")]
    if outcome.free not in ({}, outcome.taken):
        compared.append(made(FREE, outcome.free, "what costs nothing elsewhere"))
    return compared


def summed_up(
    prepared: Prepared,
    journal: TuneJournal,
    outcome: Outcome,
    judged: Mapping[str, Confirmed],
    unused_seconds: float,
) -> tuned.Tuned:
    """Returns the result of a tuning. `judged`: the confirmed settings, by name; `unused_seconds`:
    of the budget."""
    confirmed, free = judged.get(TUNED), judged.get(FREE)
    taken = Settings().changed(outcome.taken)
    begun, single = journal.begin, prepared.single
    trials = [record for record in journal.records if isinstance(record, Trial)]
    calibration = _calibration(journal, outcome)
    by_ceilings = calibration.env.items() if calibration else ()
    named: list[tuple[str, str]] = []
    for record in journal.records:
        if isinstance(record, Hinted | Crossed):
            named += record.named if isinstance(record, Hinted) else record.found
    catalogued = {pair for env in begun.candidates for pair in env.items()}
    further = [
        {name: value} for name, value in [*named, *by_ceilings] if (name, value) not in catalogued
    ]
    by_rules = [
        prepared.ruled.env(record.file)
        for record in journal.records
        if isinstance(record, Ruled) and record.tables and prepared.ruled
    ]
    return tuned.Tuned(
        schema=tuned.SCHEMA,
        nearpeak=begun.nearpeak,
        started=begun.started,
        library=begun.library,
        family=begun.family,
        version=begun.version,
        base=single.settings.name,
        path=begun.path,
        path_summary=begun.path_summary,
        buffers=prepared.asked.buffers,
        targets=[target.label for target in prepared.launches.targets],
        host=begun.host,
        candidates=outcome.tried,
        launches=len(trials),
        seconds=round(sum(trial.seconds for trial in trials), 1),
        env=taken.env,
        unset=taken.unset,
        rules=_tables(journal) if files(single.library, outcome.taken) else [],
        verdict=_verdict(trials, outcome, confirmed),
        evidence=[_evidence(shown) for shown in confirmed.targets] if confirmed else [],
        slower=[_evidence(shown) for shown in confirmed.slower] if confirmed else [],
        broken=confirmed.broken if confirmed else [],
        breaks=may_break(single.library, {**single.settings.env, **taken.env})
        if outcome.taken
        else [],
        unguarded=confirmed.unguarded if confirmed else [],
        guarded=confirmed.guarded if confirmed else 0,
        uncertain=[_evidence(shown) for shown in confirmed.uncertain] if confirmed else [],
        detectable_loss=_rounded(confirmed.detectable_loss) if confirmed else None,
        distances=confirmed.distances if confirmed else _searched_at(prepared, trials),
        host_messages=[_evidence(shown) for shown in confirmed.host_messages] if confirmed else [],
        free=_free(outcome, free) if free else None,
        calibration=calibration,
        offers=list(map(_offered, outcome.offers)),
        lacking=outcome.lacking,
        tried=tried(trials, [*begun.candidates, *by_rules, *further], named),
        unused_seconds=round(unused_seconds, 1),
        refused=[
            tuned.Refused(setting=name, why=reason) for name, reason in outcome.refused.items()
        ],
    )


def _searched_at(prepared: Prepared, trials: Sequence[Trial]) -> dict[str, list[Apart]]:
    """Returns the distances of the CPUs in the trials; empty unless buffers are in host memory."""
    distances = [trial.distance_ns for trial in trials if trial.distance_ns]
    if needs_gpu(prepared.asked.buffers) or not distances:
        return {}
    return {prepared.single.path.id: apart(distances)}


def _free(outcome: Outcome, confirmed: Confirmed) -> tuned.Free:
    free = Settings().changed(outcome.free)
    return tuned.Free(
        env=free.env,
        unset=free.unset,
        taken=confirmed.everywhere,
        evidence=[_evidence(shown) for shown in confirmed.targets],
        slower=[_evidence(shown) for shown in confirmed.slower],
        detectable_loss=_rounded(confirmed.detectable_loss),
        host_messages=[_evidence(shown) for shown in confirmed.host_messages],
    )


def _offered(offer: Offer) -> tuned.Offered:
    times = [round(math.exp(gain), 3) for gain in offer.gains]
    return tuned.Offered(setting=offer.candidate.label, times=times)


def _rounded(loss: float | None) -> float | None:
    return None if loss is None else round(loss, 2)


def _calibration(journal: TuneJournal, outcome: Outcome) -> tuned.Calibration | None:
    if outcome.calibration is None:
        return None
    measured = [record for record in journal.records if isinstance(record, Calibrated)]
    gains = outcome.calibration.gains
    enough = len(gains) >= CALIBRATED_ROUNDS
    by_target = list(np.exp(np.array(gains)).T) if enough else []
    intervals = [interval(times) for times in by_target]
    return tuned.Calibration(
        ceilings=[ceiling for record in measured for ceiling in record.ceilings],
        env=dict(outcome.calibration.candidate.env),
        rounds=len(gains),
        times=[float(median(times)) for times in by_target],
        ci95=[list(bounds) for bounds in intervals if bounds],
    )


def _verdict(trials: list[Trial], outcome: Outcome, confirmed: Confirmed | None) -> tuned.Word:
    if not outcome.taken or confirmed is None:
        worked = any(not trial.failed for trial in trials if not trial.env)
        return "nothing helps" if worked else "fails"
    if confirmed.everywhere:
        return "taken"
    return "taken here alone" if confirmed.gaining else "not taken"


def _evidence(shown: Shown) -> Evidence:
    comparison, before, after = shown.comparison, shown.before, shown.after
    return Evidence(
        case=shown.label,
        before=before.median or 0.0,
        after=after.median or 0.0,
        unit=before.unit,
        times=comparison.ratio,
        ci95=list(comparison.ci95 or ()),
        verdict=comparison.verdict,
        ceiling=before.ceiling.value if before.ceiling else None,
        distances=shown.distances,
    )


def _distances_scope(confirmed: Confirmed, path: str, measured: Sequence[Apart]) -> str:
    """`, with the CPUs 60.0 ns apart and not 300 ns`, where a case on this path is slower at one of
    several distances."""
    on_path = [shown for shown in confirmed.slower if shown.path == path]
    far = [
        distance
        for shown in [*confirmed.targets, *on_path]
        for distance in slower_at(shown.distances)
    ]

    def is_slower(group: Apart) -> bool:
        return any(
            distance.low_ns <= group.high_ns and group.low_ns <= distance.high_ns
            for distance in far
        )

    slower = [group.label for group in measured if is_slower(group)]
    if not slower:
        return ""
    others = [group.label for group in measured if group.label not in slower]
    return (
        f", with the CPUs {' or '.join(others)} apart and not {' or '.join(slower)} (something is"
        " slower there; on a virtual machine nobody can choose, so do not use it)"
    )


def _targets_scope(confirmed: Confirmed) -> str:
    """`, for latency H,D at 8 B`: the faster targets, where another one is slower; else nothing."""
    if not any(shown in confirmed.slower for shown in confirmed.targets):
        return ""
    faster = [
        shown.label_on_path
        for shown in confirmed.targets
        if shown.comparison.verdict == "faster" and shown not in confirmed.slower
    ]
    return f", for {' and '.join(faster)}"


def _unknown(prepared: Prepared, env: Env) -> list[str]:
    """Lists untested effects of these variables: `A with other than 2 ranks`."""
    path = prepared.single.path
    unknown = [
        f"{name} with other than {len(path.ends)} ranks"
        for name in prepared.collective
        if name in env
    ]
    if files(prepared.single.library, env) and not path.between_hosts:
        unknown.append(f"its rules for {len(path.ends)} ranks on several hosts")
    return unknown


def profiles(
    prepared: Prepared,
    journal: TuneJournal,
    tuning: tuned.Tuned,
    judged: Mapping[str, Confirmed],
) -> dict[str, Profile]:
    """Returns the profiles of the taken settings, by folder below that of the search. "" is the
    folder of settings that cost nothing elsewhere and may be used for all."""
    begun, buffers = journal.begin, prepared.asked.buffers
    library, base = prepared.single.library, prepared.single.settings

    def made(
        scope: str,
        taken: tuned.Tuned | tuned.Free,
        slower: Sequence[Evidence] = (),
    ) -> Profile:
        given = base.changed({**taken.env, **dict.fromkeys(taken.unset, UNSET)})
        env = preload.without_others(given.env)
        on = needs_gpu(buffers) or prepared.single.path.gpu_support
        anyway = needed(library, gpu=on)
        if unknown := _unknown(prepared, env):
            scope += f" (nothing is known of {', '.join(unknown)})"
        return Profile(
            schema=PROFILE_SCHEMA,
            name=TUNED,
            family=begun.family,
            version=begun.version,
            build=begun.build,
            components=begun.components,
            made=begun.started[:10],
            host=begun.host,
            cpu=begun.cpu,
            gpus=begun.gpus,
            driver=begun.driver or "",
            path=begun.path,
            scope=f"for jobs on one host, {scope}" if for_one_host(library, env) else scope,
            breaks=may_break(library, env),
            env=env,
            unset=given.unset,
            files={**files(library, env), **preload.files(env)},
            needed=given.kept_of(anyway),
            evidence=taken.evidence,
            host_messages=taken.host_messages if needs_gpu(buffers) else None,
            slower=list(slower),
            distances=tuning.distances,
            lacking=tuning.lacking,
        )

    everywhere = f"on this machine, with this version of {begun.library}"
    if tuning.unguarded:
        everywhere += f" (not measured: {', '.join(tuning.unguarded)})"
    if tuning.verdict == "taken":
        return {"": made(everywhere, tuning)}
    written = {}
    if tuning.free and tuning.free.taken:
        written[""] = made(everywhere, tuning.free)
    if tuning.verdict == "taken here alone":
        folder = ONLY + re.sub(r"[^\w.]+", "-", f"{begun.path} {buffers}")
        written[folder] = made(_local_scope(tuning, judged[TUNED]), tuning, tuning.slower)
    return written


def _local_scope(tuning: tuned.Tuned, confirmed: Confirmed) -> str:
    """`for host-gpu pcie with buffers H,D alone: elsewhere it is slower`."""
    distances = tuning.distances.get(tuning.path, [])
    scope = (
        f"for {tuning.path} with buffers {tuning.buffers}{_targets_scope(confirmed)} alone"
        f"{_distances_scope(confirmed, tuning.path, distances)}"
    )
    if all(evidence.is_slower_by_distance for evidence in tuning.slower):
        return scope
    return f"{scope}: elsewhere it is slower"
