# SPDX-License-Identifier: Apache-2.0
"""A tuning from what was asked to what came of it; the study that confirms is run by others."""

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
from nearpeak.libraries import preload
from nearpeak.libraries.families import is_native
from nearpeak.libraries.given import fixed
from nearpeak.libraries.launch import forced_network, needed
from nearpeak.libraries.library import UNSET, Library, Settings
from nearpeak.libraries.profiles import SCHEMA as PROFILE_SCHEMA
from nearpeak.libraries.profiles import Apart, Evidence, Profile, build_of
from nearpeak.libraries.rules import Table, rules_text
from nearpeak.libraries.settings import split
from nearpeak.libraries.tunables import (
    Offered,
    Tunable,
    files,
    for_one_host,
    known,
    may_break,
    offered,
    versions,
)
from nearpeak.numbers import count
from nearpeak.statistics.intervals import interval
from nearpeak.study.estimate import APPLICATION_SECONDS, GUESSES
from nearpeak.study.fit import OVERTIME, blocks_wanted, budget_for, rounded
from nearpeak.study.paths import select_paths
from nearpeak.study.prepare import prepare as study
from nearpeak.study.single import Single, another_benchmark, choose
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
from nearpeak.tune.search import CALIBRATED_ROUNDS, Outcome, Search
from nearpeak.tune.targets import Target, by_benchmark, parse_targets, resolved
from nearpeak.tune.trials import Trials
from nearpeak.tune.tried import tried
from nearpeak.tune.written import ONLY

TRIED = "tried"  # the folder of the file of rules that trials name, below the search's own
BEFORE = "as-it-was"  # settings that were tuned before
UCX = "ucx"  # the component whose cost model takes ceilings
SHARE_RULED = 1 / 3  # of the search's time, at most, for the algorithms of collective operations
SHARE_RULED_ALONE = 1 / 2  # where all targets are such operations
MOST_HINTED = 2  # sizes that are explained, the largest: some 10 s each
# Launches of a search that may end with something taken: two looks and the library as it is, trials
# by chance, a race of two, what is won proved twice, and what works with it and without.
LEAST_LAUNCHES = 10 + 3 + 20 + 6 + 3 + 2 * 8 + 2 * 4


@dataclass(frozen=True)
class Prepared:
    """What is launched, and what is tried."""

    asked: Asked
    launches: Launches
    candidates: list[Candidate]
    calibrated: list[Tunable]  # those that take ceilings
    thresholds: list[Tunable]  # those between two protocols that can be forced within a host
    operations: list[rules.Operation]  # the collective ones that a file of rules may say
    ruled: Tunable | None  # what names it
    collective: list[str]  # variables that say how collective operations of any ranks are done
    of_ucx: list[str]  # variables of UCX
    paths: list[str]  # ids of those that are guarded, the own one first
    usual: list[str]  # benchmarks that are guarded by the study
    kinds: list[str]  # buffers that it measures, where the paths' own have not all of them
    host: confirm.HostCheck | None  # with buffers in a GPU, where a path has host memory alone
    study_seconds: float  # of the least study that confirms, all in all

    @property
    def single(self) -> Single:
        """One of what is launched: all have library, settings, path and buffers in common."""
        return next(iter(self.launches.subjects.values()))

    @property
    def mpi(self) -> str:
        """The library's name without its settings."""
        return split(self.asked.mpi)[0]


def prepare(asked: Asked, say: Callable[[str], None] = lambda _: None) -> Prepared:
    """UserError for what cannot be tuned, and for a budget that does not hold it. `say`: as of
    `choose`."""
    wanted = parse_targets(asked.targets)
    names = list(dict.fromkeys(each.benchmark for each in wanted))

    def check_budget(library: Library, benchmarks: Sequence[Benchmark]) -> None:
        targets = resolved(wanted, {name: named(benchmarks, name) for name in names})
        launches = len(names) if is_native(library) else 1
        least = least_seconds(asked.buffers, launches, _problems(targets))
        if asked.budget_seconds < least:
            raise UserError(
                f"--budget: {format_seconds(asked.budget_seconds)} is too short for a search and"
                f" its confirmation: give {format_seconds(least)} or more"
            )

    first = choose(
        names[0],
        asked.mpi,
        "tune",
        path=asked.path,
        buffers=asked.buffers,
        say=say,
        check=check_budget,
    )
    subjects = {names[0]: first} | {
        name: another_benchmark(first, name, path=first.path.id, buffers=asked.buffers)
        for name in names[1:]
    }
    targets = resolved(wanted, {name: single.benchmark for name, single in subjects.items()})
    described = programs.describe_library(first.library, programs.TOOLS)
    usual = list(dict.fromkeys(text.partition(":")[0] for text in described.defaults))
    own = [target.benchmark for target in targets if target.of_messages]
    guards = _guards(first, list(dict.fromkeys([*usual, *own])), first.path.id, asked.buffers)
    paths = {first.path.id: asked.buffers}
    guarded_paths = [first.path]
    for path in select_paths(first.machine, [], []):
        pair = path.transport == "memory" and len(path.ends) == 2
        if pair and not path.gpu_support and path.id not in paths:
            paths[path.id] = default_buffers(path, symmetric=True)[0]
            guarded_paths.append(path)
    kinds = _kinds(guarded_paths, [single.benchmark for single in subjects.values()], asked.buffers)
    host = None
    if needs_gpu(asked.buffers):
        guards += _guards(first, usual, None, confirm.HOST_BUFFERS)
        messages = {each.name for each in described.benchmarks if each.one_message}
        checked = [name for name in usual if name in messages]
        paths_of_hosts = [path.id for path in guarded_paths if _of_hosts(path)]
        host = next((confirm.HostCheck(path, checked) for path in paths_of_hosts), None)
    tcp = first.path.transport == "network" and not first.path.between_hosts
    forced = forced_network(first.library).env if tcp else {}
    there = possible(
        [*offered(first.library), *(cures(first.library) if first.path.gpu_support else [])],
        None if _problems(targets) else names,
        {
            **fixed(first.library),
            **dict.fromkeys(first.settings.unset, UNSET),
            **first.settings.env,
            **forced,
        },
        gpu=needs_gpu(asked.buffers),
        network=first.path.between_hosts,
    )
    if not there:
        raise UserError(
            f"nothing is known that could be set of {first.library.name} for these buffers: see"
            f" `nearpeak mpi settings {first.library.name}`"
        )
    pairs = {each.name for each in described.benchmarks if each.is_pair}
    measured = [each for each in described.benchmarks if each.ceiling == "measured"]
    one = [each.name for each in measured if each.one_message or each.one_way]
    guarded = [each.name for each in measured if each.name in usual]
    others = {f"{path} {kinds}": _guards(first, one, path, kinds) for path, kinds in paths.items()}
    return Prepared(
        asked,
        Launches(subjects, guards, targets, {k: v for k, v in others.items() if v}),
        candidates(there),
        [each.tunable for each in there if each.tunable.calibrated],
        [each.tunable for each in there if each.tunable.threshold and not first.path.between_hosts],
        _operations(there, subjects, targets),
        next((each.tunable for each in there if each.tunable.file), None),
        [
            each.name
            for each in known(first.library)
            if each.benchmarks and not each.file and pairs.isdisjoint(each.benchmarks)
        ],
        [each.tunable.name for each in there if each.tunable.component == UCX],
        list(paths),
        guarded,
        kinds,
        host,
        _study_seconds(
            split(asked.mpi)[0], first.settings, list(paths), targets, guarded, kinds, host
        ),
    )


def _operations(
    there: Sequence[Offered], subjects: Mapping[str, Single], targets: Sequence[Target]
) -> list[rules.Operation]:
    """Those of the targets with several algorithms that a file of rules can say."""
    found = []
    for name, sizes in by_benchmark(targets).items():
        single = subjects[name]
        ways = rules.ways(there, name)
        ruled = next(
            (e.tunable.ruled for e in there if name in e.tunable.benchmarks and e.tunable.ruled),
            None,
        )
        if ruled is None or len(ways) < 2:
            continue
        measured = rules.sizes_of(single.benchmark.sizes(confirm.GUARDED_SIZES), sizes)
        found.append(
            rules.Operation(
                name, ruled, tuple(ways), tuple(measured), tuple(sizes), len(single.path.ends)
            )
        )
    return found


def _kinds(paths: Sequence[DataPath], targets: Sequence[Benchmark], asked: str) -> list[str]:
    """The buffers that the study measures: those asked for beside each path's own; none where the
    first path's own are those."""
    if all(asked in default_buffers(paths[0], target.symmetric) for target in targets):
        return []
    own = [default_buffers(path, symmetric) for path in paths for symmetric in (True, False)]
    return list(dict.fromkeys([asked, *itertools.chain(*own)]))


def _study_seconds(
    mpi: str,
    base: Settings,
    paths: Sequence[str],
    targets: Sequence[Target],
    usual: Sequence[str],
    kinds: Sequence[str],
    host: confirm.HostCheck | None,
) -> float:
    """What a study of two settings takes that leaves out all that it may, by its own guess."""
    two = [_as_it_is(base), msgspec.structs.replace(base, name=TUNED)]
    wanted = confirm.options(
        mpi, two, paths, targets, usual, LEAST_SECONDS, buffers=kinds, host=host
    )
    _, plan = study(wanted, programs.TOOLS, lambda _: None, retry=False, dry_run=True)
    return budget_for(plan, blocks_wanted(plan)) * OVERTIME


def _problems(targets: Sequence[Target]) -> int:
    """How many of them are problems of applications."""
    return sum(not target.of_messages for target in targets)


def least_seconds(buffers: str, launches: int, problems: int = 0) -> float:
    """The least budget, by a guess of how long launches take. `launches`: of a trial; `problems`:
    of applications, in it."""
    start = GUESSES["mpi", "gpu" if needs_gpu(buffers) else "memory"].start
    trial = launches * start + problems * APPLICATION_SECONDS
    return rounded(LEAST_LAUNCHES * trial / SEARCHED)


def _of_hosts(path: DataPath) -> bool:
    return all(end.memory == "host" for end in path.ends)


def _guards(first: Single, names: list[str], path: str | None, buffers: str) -> list[Single]:
    """Those of these benchmarks that run there."""
    found = []
    for name in names:
        try:
            found.append(another_benchmark(first, name, path=path, buffers=buffers))
        except UserError:  # it does not fit the path or the buffers
            continue
    return found


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
    """Searches, or goes on with it; UserError where the library or the catalogue has changed."""
    begun = journal.begin
    here = begin(prepared)
    if (begun.library, begun.version, begun.host, begun.candidates) != (
        here.library,
        here.version,
        here.host,
        here.candidates,
    ) or (begun.build and (begun.build, begun.components) != (here.build, here.components)):
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
    named = [*hinted.named, *crossed, *(each.env[-1] for each in ruled)]
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
    """The thresholds of what moves the messages, each with the value at which its protocols
    cross."""
    idle_names = prepared.of_ucx if hinted.over_ucx is False else []
    there = [each for each in prepared.thresholds if each.name not in idle_names]
    if not there:
        return []
    with prepared.single.mps():
        return trials.thresholds(
            lambda limit, left: thresholds.measure(prepared.launches, there, tell, limit, left)
        )


def _with_crossed(prepared: Prepared, crossed: Mapping[str, str]) -> list[Candidate]:
    """The values, with those at which protocols cross. The others stay: beside other settings they
    cross elsewhere (MPICH's, with larger cells)."""
    own = [
        Candidate(tuple(each.env(crossed[each.name]).items()))
        for each in prepared.thresholds
        if each.name in crossed
    ]
    return list(dict.fromkeys([*own, *prepared.candidates]))


def _ruled(
    prepared: Prepared, trials: Trials, folder: Path, tell: Callable[[str], None]
) -> list[Candidate]:
    """The value of a file of rules for collective operations, with what it needs; the file is
    written. Nothing where nothing is faster."""
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
    """Those of the file of rules that trials name."""
    return [
        table for record in journal.records if isinstance(record, Ruled) for table in record.tables
    ]


def _unforced(
    prepared: Prepared, journal: TuneJournal, values: Sequence[Candidate]
) -> list[Candidate]:
    """Without those that force an algorithm of what has rules: they would have the last word over
    these, at all sizes and with any number of ranks, of which those of the trials tell nothing."""
    forced = rules.forced(prepared.operations, _tables(journal))
    return [each for each in values if not any(name in forced for name, _ in each.env)]


def borders(prepared: Prepared, journal: TuneJournal, env: Env) -> list[int]:
    """Sizes between those that were measured, at which the file of rules of these variables changes
    the algorithm."""
    taken = prepared.ruled is not None and prepared.ruled.name in env
    return rules.borders(prepared.operations, _tables(journal)) if taken else []


def _last(prepared: Prepared, hinted: Hints, tried: Sequence[Candidate]) -> list[Candidate]:
    """The values of UCX, where it was asked, moves none of the messages, and nothing that is tried
    chooses it."""
    return idle(tried, UCX, prepared.of_ucx) if hinted.over_ucx is False else []


def _calibrated(
    prepared: Prepared, trials: Trials, tell: Callable[[str], None], used: Sequence[str]
) -> list[Candidate]:
    """The values of the library's own cost model that follow from ceilings of this machine. `used`:
    the components that move the messages, of those that have such a model."""
    model = [each for each in prepared.calibrated if each.component in used]
    if not model:
        return []
    ceilings = trials.ceilings(lambda limit: calibrate.measure(prepared.single, model, tell, limit))
    return calibrate.values(model, ceilings)


def _hints(prepared: Prepared, tell: Callable[[str], None], limit_seconds: float) -> Hints:
    """By what goes on for the largest of the targets' messages."""
    subjects = prepared.launches.subjects.values()
    targets = prepared.launches.targets
    sizes = sorted({target.size for target in targets if target.of_messages})
    looked = next((single for single in subjects if single.benchmark.one_message), None)
    if looked is None:
        return hints(prepared.single, [], tell, limit_seconds)
    return hints(looked, sizes[-MOST_HINTED:], tell, limit_seconds)


def _as_it_is(base: Settings) -> Settings:
    """What a tuning starts from, told apart from what it finds where it was tuned before."""
    return msgspec.structs.replace(base, name=BEFORE) if base.name in (TUNED, FREE) else base


def settings(prepared: Prepared, outcome: Outcome) -> list[Settings]:
    """Those that are confirmed: as it is, as it was tuned, and that without what costs something
    elsewhere, if something does."""
    base = _as_it_is(prepared.single.settings)

    def made(name: str, env: Env, summary: str) -> Settings:
        summary = f"nearpeak tune: {summary}"
        return msgspec.structs.replace(base.changed(env), name=name, summary=summary)

    found = [base, made(TUNED, outcome.taken, "all that it found")]
    if outcome.free not in ({}, outcome.taken):
        found.append(made(FREE, outcome.free, "what costs nothing elsewhere"))
    return found


def summed_up(
    prepared: Prepared,
    journal: TuneJournal,
    outcome: Outcome,
    judged: Mapping[str, Confirmed],
    unused_seconds: float,
) -> tuned.Tuned:
    """All that came of it. `judged`: what was confirmed, by the settings' name; `unused_seconds`:
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
    known = {pair for env in begun.candidates for pair in env.items()}
    further = [
        {name: value} for name, value in [*named, *by_ceilings] if (name, value) not in known
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
        offers=[
            tuned.Offered(
                setting=offer.candidate.label,
                times=[round(math.exp(gain), 3) for gain in offer.gains],
            )
            for offer in outcome.offers
        ],
        lacking=outcome.lacking,
        tried=tried(trials, [*begun.candidates, *by_rules, *further], named),
        unused_seconds=round(unused_seconds, 1),
        refused=[tuned.Refused(setting=name, why=why) for name, why in outcome.refused.items()],
    )


def _searched_at(prepared: Prepared, trials: Sequence[Trial]) -> dict[str, list[Apart]]:
    """The distances of the CPUs in the trials; nothing but between host memories."""
    known = [trial.distance_ns for trial in trials if trial.distance_ns]
    if needs_gpu(prepared.asked.buffers) or not known:
        return {}
    return {prepared.single.path.id: apart(known)}


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
        ci95=[list(found) for found in intervals if found],
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


def _not_far(found: tuned.Tuned) -> str:
    """`, with the CPUs 60.0 ns apart and not 300 ns`, where a case is slower at one of several
    distances."""
    there = [each for each in found.slower if each.case.startswith(f"{found.path}, ")]
    far = [at for each in [*found.evidence, *there] for at in each.slower_at]
    own = found.distances.get(found.path, [])
    slower = [
        apart.words
        for apart in own
        if any(at.low_ns <= apart.high_ns and apart.low_ns <= at.high_ns for at in far)
    ]
    if not slower:
        return ""
    others = [apart.words for apart in own if apart.words not in slower]
    return (
        f", with the CPUs {' or '.join(others)} apart and not {' or '.join(slower)} (something is"
        " slower there; on a virtual machine nobody can choose, so do not use it)"
    )


def _some(found: tuned.Tuned) -> str:
    """`, for latency H,D at 8 B`: the targets that are faster, where another one is slower."""
    slower = {each.case for each in found.slower}
    if not any(each.case in slower for each in found.evidence):
        return ""
    cases = [e.case for e in found.evidence if e.verdict == "faster" and e.case not in slower]
    return f", for {' and '.join(case.removeprefix(f'{found.path}, ') for case in cases)}"


def _unknown(prepared: Prepared, env: Env) -> list[str]:
    """What these variables do of which no launch tells: `A with other than 2 ranks`."""
    path = prepared.single.path
    found = [
        f"{name} with other than {len(path.ends)} ranks"
        for name in prepared.collective
        if name in env
    ]
    if files(prepared.single.library, env) and not path.between_hosts:
        found.append(f"its rules for {len(path.ends)} ranks on several hosts")
    return found


def profiles(prepared: Prepared, journal: TuneJournal, found: tuned.Tuned) -> dict[str, Profile]:
    """What was taken, by the folder below the search's own that it is written to: "" for what costs
    nothing elsewhere, so that it may be used for all."""
    begun, buffers = journal.begin, prepared.asked.buffers
    library, base = prepared.single.library, prepared.single.settings

    def made(
        scope: str,
        taken: tuned.Tuned | tuned.Free,
        slower: Sequence[Evidence] = (),
    ) -> Profile:
        given = base.changed({**taken.env, **dict.fromkeys(taken.unset, UNSET)})
        env = preload.alone(given.env)
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
            distances=found.distances,
            lacking=found.lacking,
        )

    everywhere = f"on this machine, with this version of {begun.library}"
    if found.unguarded:
        everywhere += f" (not measured: {', '.join(found.unguarded)})"
    here = f"for {begun.path} with buffers {buffers}{_some(found)} alone{_not_far(found)}"
    if not all(each.is_slower_by_distance for each in found.slower):
        here += ": elsewhere it is slower"
    if found.verdict == "taken":
        return {"": made(everywhere, found)}
    written = {}
    if found.free and found.free.taken:
        written[""] = made(everywhere, found.free)
    if found.verdict == "taken here alone":
        folder = ONLY + re.sub(r"[^\w.]+", "-", f"{begun.path} {buffers}")
        written[folder] = made(here, found, found.slower)
    return written
