# SPDX-License-Identifier: Apache-2.0
"""Verdict of a study of a library with default and with tuned settings: taken, taken only for some
cases, or not."""

import itertools
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple, TypeVar

from nearpeak.libraries.library import Settings
from nearpeak.libraries.profiles import Apart, At, slower_at
from nearpeak.numbers import extent
from nearpeak.observations.observed import Block
from nearpeak.planning.options import LibraryChoice, Options
from nearpeak.results.comparisons import pair_of
from nearpeak.results.results import Cell, Comparison, Results
from nearpeak.statistics.comparisons import better_by, better_in
from nearpeak.statistics.intervals import interval
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL, TOLERATED
from nearpeak.statistics.power import detectable_loss
from nearpeak.statistics.strata import strata
from nearpeak.terms.benchmarks import Benchmark, named, x_unit
from nearpeak.terms.buffers import needs_gpu
from nearpeak.terms.identity import Curve, Place, Who
from nearpeak.terms.sizes import format_sizes
from nearpeak.tune.targets import Target, by_benchmark

TUNED = "tuned"
FREE = "tuned-everywhere"  # the part of the tuned settings that costs nothing elsewhere
# Bytes: one for each protocol of libraries, from short to rendezvous.
GUARDED_SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 16 << 20]
HOST_BUFFERS = "H,H"
Key = TypeVar("Key", bound=Hashable)
LEAST_SHARE = 0.05  # of launches: rarer distances are left out
PRICE = 1 / TOLERATED  # a lower ratio counts as slower
FEW = 1 / 1.25  # as PRICE, of each launch, if launches are too few for an interval
# Of guarded cases, which are many: each launch with the settings against each one without; the
# second if either has only one launch, which may be chance.
FEW_GUARDED, SINGLE_GUARDED = 1 / 1.5, 1 / 2


class HostCheck(NamedTuple):
    """Path and benchmarks that show the effect of settings for device buffers on messages in host
    memory."""

    path: str
    benchmarks: list[str]


def options(
    mpi: str,
    settings: Sequence[Settings],
    paths: Sequence[str],
    targets: Sequence[Target],
    usual: Sequence[str],
    seconds: float,
    moved: Sequence[int] = (),
    buffers: Sequence[str] = (),
    host: HostCheck | None = None,
) -> Options:
    """Returns the options of the study: all settings on the path of the targets (the first of
    `paths`) and on the guarded paths, with the targets and the `usual` benchmarks. If the time does
    not hold enough blocks, only the targets and the benchmarks of `host` are kept for certain.
    `moved`: further sizes. `buffers`: instead of those of each path."""
    target_benchmarks = list(dict.fromkeys(target.benchmark for target in targets))
    messages = sorted({target.size for target in targets if target.of_messages})
    problems = by_benchmark([target for target in targets if not target.of_messages])
    kept = list(dict.fromkeys([*target_benchmarks, *(host.benchmarks if host else [])]))
    return Options(
        libraries=[LibraryChoice(mpi=mpi, settings=tuple(settings))],
        paths=list(paths),
        benchmarks=list(dict.fromkeys([*kept, *usual])),
        buffers=list(buffers),
        sizes=sorted({*GUARDED_SIZES, *messages, *moved}),
        problem_sizes=[f"{name}={format_sizes(sizes)}" for name, sizes in problems.items()],
        budget_seconds=seconds,
        kept_sizes=messages,
        kept_paths=[*paths[:1], *([host.path] if host else [])],
        kept_benchmarks=kept,
        kept_alone=True,
    )


@dataclass(frozen=True)
class Shown:
    """A case with default and with tuned settings."""

    comparison: Comparison
    before: Cell
    after: Cell
    x_unit: str  # of its size
    distances: list[At]  # of the CPUs, nearest first
    target: bool  # else it is guarded

    @property
    def is_slower_far(self) -> bool:
        """True if it is slower at one of several distances of the CPUs."""
        return bool(slower_at(self.distances))

    @property
    def path(self) -> str:
        """The id of its path."""
        return self.before.place.path

    @property
    def label_on_path(self) -> str:
        """`latency H,D at 16 MiB`."""
        case = self.before.case
        return f"{case.figure} {case.buffers} at {extent(case.x, self.x_unit)}"

    @property
    def label(self) -> str:
        """`host-gpu pcie, latency H,D at 16 MiB`."""
        return f"{self.path}, {self.label_on_path}"


@dataclass(frozen=True)
class Confirmed:
    """The cases of the study, and the verdicts on them."""

    targets: list[Shown]
    slower: list[Shown]  # the price; guarded cases also if slower at one distance of the CPUs
    broken: list[str]  # operations that no longer work
    # Ids of paths with too few measurements, or benchmarks on them.
    unguarded: list[str]
    distances: dict[str, list[Apart]]  # of the CPUs, by path of host memory
    guarded: int  # cases that are no targets
    uncertain: list[Shown]  # guarded cases whose interval includes ratios below `PRICE`
    # The smallest relative loss of everything that the verdicts find, with `power.POWER`; None:
    # nothing but targets was measured, or launches are too few to find any.
    detectable_loss: float | None
    # With targets in a GPU: messages in host memory at each size, on the first path that has them.
    host_messages: list[Shown]

    @property
    def gaining(self) -> list[Shown]:
        """The targets that are faster; none where something does not work any more."""
        if self.broken:
            return []
        return [shown for shown in self.targets if shown.comparison.verdict == "faster"]

    @property
    def losing(self) -> list[Shown]:
        """The targets that are slower, by more than what is allowed to any case."""
        return [shown for shown in self.targets if _is_slower(shown)]

    @property
    def faster(self) -> bool:
        """True if it is worth using where it was tuned: a target is faster, and none is slower."""
        return bool(self.gaining) and not self.losing

    @property
    def far(self) -> list[Shown]:
        """The targets that are slower at one of several distances of the CPUs: a price too."""
        return [shown for shown in self.targets if shown.is_slower_far]

    @property
    def everywhere(self) -> bool:
        """True if no case that was measured is slower."""
        return self.faster and not self.slower and not self.far


def judge(
    results: Results,
    library: str,
    base: str,
    targets: Sequence[Target],
    paths: Sequence[str],
    buffers: str,
    tuned: str = TUNED,
) -> Confirmed:
    """Compares the library with tuned settings with itself, on these paths. The targets are on the
    first path, with these buffers."""
    before, after = Who(library, base), Who(library, tuned)
    cells = {(cell.who, cell.place, cell.case): cell for cell in results.cells}
    wanted = {(target.benchmark, target.size) for target in targets}

    def is_target(cell: Cell) -> bool:
        return (
            cell.place.path == paths[0]
            and cell.case.buffers == buffers
            and (cell.case.benchmark, cell.case.x) in wanted
            and _is_main(results, cell)
        )

    shown = [
        _shown(
            comparison,
            plain := cells[before, comparison.place, comparison.case],
            cells[after, comparison.place, comparison.case],
            x_unit(results.benchmarks, comparison.case.benchmark),
            target=is_target(plain),
        )
        for comparison in results.comparisons
        if (comparison.first, comparison.second) == (before, after)
    ]
    others = [case for case in shown if not case.target]
    slower = [case for case in shown if _is_slower(case) or (case.is_slower_far and case in others)]
    uncertain = [case for case in others if case not in slower and _may_be_slower(case)]
    return Confirmed(
        [case for case in shown if case.target],
        sorted(slower, key=_ratio),
        _broken(results, before, after),
        _unguarded(shown, paths, {name for left in results.left_out for name in left.benchmarks}),
        _by_path(shown),
        len(others),
        sorted(uncertain, key=lambda case: (case.comparison.ci95 or (0.0,))[0]),
        _detectable_loss(results, shown) if others else None,
        _host_messages(results, others, paths) if needs_gpu(buffers) else [],
    )


def _host_messages(results: Results, shown: Sequence[Shown], paths: Sequence[str]) -> list[Shown]:
    """Returns the cases of messages in host memory, smallest first; none if none was measured."""
    messages = [
        case
        for case in shown
        if named(results.benchmarks, case.before.case.benchmark).one_message
        and case.before.case.buffers == HOST_BUFFERS
        and set(case.before.place.ends) == {"host"}
        and case.before.place.path in paths
        and _is_main(results, case.before)
    ]
    first = min((paths.index(case.before.place.path) for case in messages), default=0)
    on_first = [case for case in messages if case.before.place.path == paths[first]]
    return sorted(on_first, key=lambda case: case.before.case.x)


def _detectable_loss(results: Results, shown: Sequence[Shown]) -> float | None:
    """Returns `power.detectable_loss` of all cases, from the launches that the verdicts rest on."""
    curves: dict[tuple[Place, Curve], list[Shown]] = {}
    for case in shown:
        curves.setdefault((case.before.place, case.before.case.curve), []).append(case)
    sessions = {session.session for session in results.sessions if session.verdicts}
    pairs = []
    for cases in curves.values():
        before, after = [case.before for case in cases], [case.after for case in cases]
        pairs.append(pair_of(before, after, sessions))
    judged = results.judging.pairs - len(results.judging.left_out)
    return detectable_loss([pair.question for pair in pairs if pair], judged, PRICE)


def _is_slower(shown: Shown) -> bool:
    return shown.comparison.verdict == "slower" and shown.comparison.ratio < PRICE


def _may_be_slower(shown: Shown) -> bool:
    ci95 = shown.comparison.ci95
    return not ci95 or ci95[0] < PRICE


def _unguarded(
    shown: Sequence[Shown], paths: Sequence[str], left_out: Collection[str]
) -> list[str]:
    """Lists `PATH` for a path with fewer than six blocks of any benchmark, and `PATH (bw)` for a
    path where benchmarks are missing that the time did not hold."""
    unguarded = []
    for path in paths:
        measured = {
            case.before.case.benchmark
            for case in shown
            if case.before.place.path == path and case.comparison.blocks >= FEWEST_FOR_INTERVAL
        }
        missing = sorted(set(left_out) - measured)
        if not measured:
            unguarded.append(path)
        elif missing:
            unguarded.append(f"{path} ({', '.join(missing)})")
    return unguarded


def _shown(comparison: Comparison, before: Cell, after: Cell, unit: str, *, target: bool) -> Shown:
    """Returns a case, also compared at each distance of the CPUs."""
    ratios = better_in(after.by_block, before.by_block, before.better)
    distances = []
    for apart, blocks in _strata([_distances(cell) for cell in (before, after)]):
        speedups = [ratios[block] for block in blocks if block in ratios]
        speedups = speedups or _by_medians(before, after, apart)
        if speedups:
            slower = _is_slower_at(speedups, before, after, apart, target=target)
            distances.append(_outcome_at(apart, speedups, slower))
    return Shown(comparison, before, after, unit, distances, target)


def _outcome_at(apart: Apart, speedups: Sequence[float], slower: bool) -> At:
    return At(
        low_ns=apart.low_ns,
        high_ns=apart.high_ns,
        launches=apart.launches,
        times=median(speedups),
        ci95=list(interval(speedups) or ()),
        slower=slower,
    )


def _is_slower_at(
    speedups: Sequence[float], before: Cell, after: Cell, apart: Apart, *, target: bool
) -> bool:
    """True if a case is significantly slower at a distance."""
    if ci95 := interval(speedups):
        return ci95[1] < 1 and median(speedups) < (PRICE if target else FEW)
    return max(speedups) < FEW if target else _are_apart(before, after, apart)


def _by_medians(before: Cell, after: Cell, apart: Apart) -> list[float]:
    """Returns the ratio of the medians at a distance at which no block has both settings; empty if
    either has no launch there."""
    first, second = (_values_at(cell, apart) for cell in (before, after))
    if not (first and second):
        return []
    return [better_by(median(second), median(first), before.better)]


def _are_apart(before: Cell, after: Cell, apart: Apart) -> bool:
    """True if few launches at a distance leave no doubt that a guarded case is slower there."""
    first, second = (_values_at(cell, apart) for cell in (before, after))
    ratios = [better_by(new, old, before.better) for old in first for new in second]
    limit = FEW_GUARDED if min(len(first), len(second)) > 1 else SINGLE_GUARDED
    return max(ratios, default=1.0) < limit


def _values_at(cell: Cell, apart: Apart) -> list[float]:
    """Returns the values of a case in the launches at a distance."""
    distances = _distances(cell).items()
    return [cell.by_block[block] for block, ns in distances if apart.low_ns <= ns <= apart.high_ns]


def _distances(cell: Cell) -> dict[Block, float]:
    """Returns the distance of the CPUs in each block; empty unless all memory is host memory."""
    if set(cell.place.ends) != {"host"}:
        return {}
    return {b: ns for b, ns in zip(cell.blocks, cell.cache_line_ns, strict=False) if ns}


def _strata(cells: Sequence[Mapping[Key, float]]) -> list[tuple[Apart, set[Key]]]:
    """Groups the distances, and gives each group the blocks in which all of `cells` were at it.
    Rare distances are left out."""
    values = [ns for distances in cells for ns in distances.values()]
    stratum_of = dict(zip(values, map(int, strata(values)), strict=True))
    groups = []
    for stratum in sorted(set(stratum_of.values())):
        members = [ns for ns in values if stratum_of[ns] == stratum]
        if len(members) < LEAST_SHARE * len(values):
            continue
        apart = Apart(low_ns=min(members), high_ns=max(members), launches=len(members))
        blocks = set(cells[0])
        for distances in cells:
            blocks &= {b for b, ns in distances.items() if stratum_of[ns] == stratum}
        groups.append((apart, blocks))
    return groups


def _by_path(shown: Sequence[Shown]) -> dict[str, list[Apart]]:
    """Groups the distances of each path, by settings and block."""
    by_path: dict[str, dict[tuple[Who, Block], float]] = {}
    for case in shown:
        for cell in (case.before, case.after):
            for block, ns in _distances(cell).items():
                by_path.setdefault(cell.place.path, {})[cell.who, block] = ns
    return {path: apart(list(values.values())) for path, values in by_path.items()}


def apart(distances_ns: Sequence[float]) -> list[Apart]:
    """Groups distances in ns, nearest first."""
    return [stratum for stratum, _ in _strata([dict(enumerate(distances_ns))])]


def _ratio(shown: Shown) -> float:
    return shown.comparison.ratio


def _is_main(results: Results, cell: Cell) -> bool:
    """True if a cell has the main metric of its benchmark, with default axes."""
    case = cell.case
    on_host = not needs_gpu(case.buffers)

    def has_default_axes(benchmark: Benchmark) -> bool:
        return all(axis.default_of(on_host) == case.axes.get(axis.name) for axis in benchmark.axes)

    return any(
        (benchmark.name, benchmark.main.name) == (case.benchmark, case.metric)
        and has_default_axes(benchmark)
        for benchmark in results.benchmarks
    )


def _broken(results: Results, before: Who, after: Who) -> list[str]:
    """Describes the failures with tuned settings of benchmarks that worked with the default
    ones."""
    well = {
        (cell.place, cell.case.benchmark)
        for cell in results.cells
        if cell.who == before and cell.median is not None
    }
    failed_before = {
        (failure.place, name)
        for failure in results.failures
        if failure.who == before
        for name in failure.benchmarks
    }
    broken = well - failed_before
    return [
        f"{failure.place.path}, {', '.join(failure.benchmarks)}: {failure.message}"
        for failure in results.failures
        if failure.who == after
        and not broken.isdisjoint(itertools.product([failure.place], failure.benchmarks))
    ]
