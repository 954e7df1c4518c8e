# SPDX-License-Identifier: Apache-2.0
"""Prepares a tuning: its launches, and the values that it may try."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from nearpeak.errors import UserError
from nearpeak.launching import programs
from nearpeak.launching.describe import Description
from nearpeak.launching.paths import select_paths
from nearpeak.launching.single import Single, another_benchmark, choose
from nearpeak.libraries.families import is_native
from nearpeak.libraries.given import fixed
from nearpeak.libraries.launch import forced_network
from nearpeak.libraries.library import UNSET, Library, Settings
from nearpeak.libraries.settings import split
from nearpeak.libraries.tunables import Offered, Tunable, library_tunables, offered
from nearpeak.planning.estimate import APPLICATION_SECONDS, GUESSES
from nearpeak.planning.fit import OVERTIME, blocks_wanted, budget_for, rounded
from nearpeak.planning.gate import Preparation
from nearpeak.planning.prepare import prepare as prepare_study
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.buffers import default_buffers, needs_gpu
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_seconds
from nearpeak.tune import confirm, rules
from nearpeak.tune.budget import LEAST_SECONDS, SEARCHED
from nearpeak.tune.candidates import Candidate, candidates, possible
from nearpeak.tune.confirm import FREE, TUNED
from nearpeak.tune.cures import cures
from nearpeak.tune.journal import Asked
from nearpeak.tune.launches import Launches
from nearpeak.tune.targets import Target, Wanted, by_benchmark, parse_targets, resolved

BEFORE = "as-it-was"  # settings that were tuned before
UCX = "ucx"  # the component whose cost model takes ceilings
# Launches of the shortest search that can take settings: looks, default settings, trials, a choice
# of three, dropping, the proof, and checks with and without the settings.
LEAST_LAUNCHES = 10 + 3 + 21 + 8 + 4 + 12 + 2 * 4


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
    first = choose(
        names[0],
        request.mpi,
        "tune",
        path=request.path,
        buffers=request.buffers,
        say=say,
        check=lambda library, benchmarks: _check_budget(request, wanted, library, benchmarks),
    )
    subjects = {names[0]: first} | {
        name: another_benchmark(first, name, path=first.path.id, buffers=request.buffers)
        for name in names[1:]
    }
    targets = resolved(wanted, {name: single.benchmark for name, single in subjects.items()})
    described = programs.describe_library(first.library, programs.TOOLS)
    usual = _usual(described)
    paths = _guarded_paths(first, request.buffers)
    kinds = _kinds(
        [path for path, _ in paths],
        [single.benchmark for single in subjects.values()],
        request.buffers,
    )
    host = _host_check(described, usual, paths) if needs_gpu(request.buffers) else None
    offers = _offers(first, targets, request.buffers)
    guarded = [benchmark.name for benchmark in _with_ceilings(described) if benchmark.name in usual]
    path_ids = [path.id for path, _ in paths]
    return Prepared(
        asked=request,
        launches=_launches(subjects, targets, described, paths),
        candidates=candidates(offers),
        calibrated=[offer.tunable for offer in offers if offer.tunable.calibrated],
        thresholds=[
            offer.tunable
            for offer in offers
            if offer.tunable.threshold and not first.path.between_hosts
        ],
        operations=_operations(offers, subjects, targets),
        ruled=next((offer.tunable for offer in offers if offer.tunable.file), None),
        collective=_collective(first.library, described),
        of_ucx=[offer.tunable.name for offer in offers if offer.tunable.component == UCX],
        paths=path_ids,
        usual=guarded,
        kinds=kinds,
        host=host,
        study_seconds=_study_seconds(
            split(request.mpi)[0], first.settings, path_ids, targets, guarded, kinds, host
        ),
    )


def as_it_is(base: Settings) -> Settings:
    """Returns the base settings of a tuning, renamed if an earlier tuning made them."""
    return msgspec.structs.replace(base, name=BEFORE) if base.name in (TUNED, FREE) else base


def least_seconds(buffers: str, launches: int, problems: int = 0) -> float:
    """Returns the least budget in seconds, by an estimate of the time of launches. `launches`: of a
    trial; `problems`: of applications, in it."""
    start = GUESSES["mpi", "gpu" if needs_gpu(buffers) else "memory"].start
    trial = launches * start + problems * APPLICATION_SECONDS
    return rounded(LEAST_LAUNCHES * trial / SEARCHED)


def _check_budget(
    request: Asked, wanted: Sequence[Wanted], library: Library, benchmarks: Sequence[Benchmark]
) -> None:
    """Raises UserError if the budget is too short."""
    names = dict.fromkeys(target.benchmark for target in wanted)
    targets = resolved(wanted, {name: named(benchmarks, name) for name in names})
    launches = len(names) if is_native(library) else 1
    least = least_seconds(request.buffers, launches, _problems(targets))
    if request.budget_seconds < least:
        raise UserError(
            f"--budget: {format_seconds(request.budget_seconds)} is too short for a search and"
            f" its confirmation: give {format_seconds(least)} or more"
        )


def _problems(targets: Sequence[Target]) -> int:
    """Counts the targets that are problems of applications."""
    return sum(not target.of_messages for target in targets)


def _usual(described: Description) -> list[str]:
    """Returns the names of the benchmarks of a usual study."""
    return list(dict.fromkeys(text.partition(":")[0] for text in described.defaults))


def _with_ceilings(described: Description) -> list[Benchmark]:
    return [benchmark for benchmark in described.benchmarks if benchmark.ceiling == "measured"]


def _guarded_paths(first: Single, buffers: str) -> list[tuple[DataPath, str]]:
    """Returns the paths of two ranks that the study guards, first that of the targets, each with
    its buffers."""
    others = [
        path
        for path in select_paths(first.machine, [], [])
        if path.transport == "memory" and len(path.ends) == 2 and not path.gpu_support
    ]
    return [
        (first.path, buffers),
        *(
            (path, default_buffers(path, symmetric=True)[0])
            for path in others
            if path.id != first.path.id
        ),
    ]


def _kinds(paths: Sequence[DataPath], targets: Sequence[Benchmark], buffers: str) -> list[str]:
    """Returns the buffers that the study measures: the tuned ones with each path's own. Empty if
    the first path has the tuned ones by default."""
    if all(buffers in default_buffers(paths[0], target.symmetric) for target in targets):
        return []
    default_kinds = [
        default_buffers(path, symmetric) for path in paths for symmetric in (True, False)
    ]
    return list(dict.fromkeys([buffers, *itertools.chain(*default_kinds)]))


def _host_check(
    described: Description, usual: Sequence[str], paths: Sequence[tuple[DataPath, str]]
) -> confirm.HostCheck | None:
    """Returns the first path with only host memory, and the benchmarks of messages that the study
    measures there."""
    messages = {benchmark.name for benchmark in described.benchmarks if benchmark.one_message}
    checked = [name for name in usual if name in messages]
    of_hosts = (path.id for path, _ in paths if all(end.memory == "host" for end in path.ends))
    return next((confirm.HostCheck(path, checked) for path in of_hosts), None)


def _launches(
    subjects: Mapping[str, Single],
    targets: Sequence[Target],
    described: Description,
    paths: Sequence[tuple[DataPath, str]],
) -> Launches:
    """Returns the launches of the targets, and of what must neither break nor become slower."""
    first = next(iter(subjects.values()))
    (tuned_path, buffers), *_ = paths
    usual = _usual(described)
    of_messages = [target.benchmark for target in targets if target.of_messages]
    guards = _guards(first, list(dict.fromkeys([*usual, *of_messages])), tuned_path.id, buffers)
    if needs_gpu(buffers):
        guards += _guards(first, usual, None, confirm.HOST_BUFFERS)
    priced = [
        benchmark.name
        for benchmark in _with_ceilings(described)
        if benchmark.one_message or benchmark.one_way
    ]
    others = {f"{path.id} {kinds}": _guards(first, priced, path.id, kinds) for path, kinds in paths}
    return Launches(subjects, guards, targets, {k: v for k, v in others.items() if v})


def _guards(first: Single, names: Sequence[str], path: str | None, buffers: str) -> list[Single]:
    """Returns the benchmarks that run on this path with these buffers."""
    guards = []
    for name in names:
        try:
            guards.append(another_benchmark(first, name, path=path, buffers=buffers))
        except UserError:  # it does not fit the path or the buffers
            continue
    return guards


def _offers(first: Single, targets: Sequence[Target], buffers: str) -> list[Offered]:
    """Returns the settings that may matter for the targets; UserError if there are none."""
    names = None if _problems(targets) else [target.benchmark for target in targets]
    tcp = first.path.transport == "network" and not first.path.between_hosts
    forced = forced_network(first.library).env if tcp else {}
    offers = possible(
        [*offered(first.library), *(cures(first.library) if first.path.gpu_support else [])],
        names,
        {
            **fixed(first.library),
            **dict.fromkeys(first.settings.unset, UNSET),
            **first.settings.env,
            **forced,
        },
        gpu=needs_gpu(buffers),
        network=first.path.between_hosts,
    )
    if not offers:
        raise UserError(
            f"nothing is known that could be set of {first.library.name} for these buffers: see"
            f" `nearpeak mpi settings {first.library.name}`"
        )
    return offers


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


def _collective(library: Library, described: Description) -> list[str]:
    """Returns the variables for collective operations."""
    pairs = {benchmark.name for benchmark in described.benchmarks if benchmark.is_pair}
    return [
        tunable.name
        for tunable in library_tunables(library)
        if tunable.benchmarks and not tunable.file and pairs.isdisjoint(tunable.benchmarks)
    ]


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
    two = [as_it_is(base), msgspec.structs.replace(base, name=TUNED)]
    wanted = confirm.options(
        mpi, two, paths, targets, usual, LEAST_SECONDS, buffers=kinds, host=host
    )
    _, plan = prepare_study(wanted, Preparation(programs.TOOLS, lambda _: None, dry_run=True))
    return budget_for(plan, blocks_wanted(plan)) * OVERTIME
