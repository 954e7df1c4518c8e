# SPDX-License-Identifier: Apache-2.0
"""What a study of the library as it is and as it was tuned says: taken, taken for some cases alone,
or not."""

from collections.abc import Sequence
from dataclasses import dataclass

from nearpeak.libraries.library import Settings
from nearpeak.numbers import size
from nearpeak.results.results import Cell, Comparison, Results
from nearpeak.study.options import LibraryChoice, Options
from nearpeak.terms.identity import Who
from nearpeak.terms.left_out import LEAST_BLOCKS
from nearpeak.tune.targets import Target

TUNED = "tuned"
FREE = "tuned-everywhere"  # of it what costs nothing elsewhere
# Bytes: one for each of the ways in which libraries move messages, from short to rendezvous.
GUARDED_SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 16 << 20]
PRICE = 1 / 1.05  # what is no faster than this is told as slower


def options(
    mpi: str,
    settings: Sequence[Settings],
    paths: Sequence[str],
    targets: Sequence[Target],
    usual: Sequence[str],
    seconds: float,
) -> Options:
    """The study: all settings side by side where it was tuned, the first of the paths, and on those
    that are guarded, in the targets and in the benchmarks that are `usual`. Where the time does not
    hold six blocks of all of it, only the targets are sure to stay."""
    own = list(dict.fromkeys(target.benchmark for target in targets))
    return Options(
        libraries=[LibraryChoice(mpi=mpi, settings=tuple(settings))],
        paths=list(paths),
        benchmarks=list(dict.fromkeys([*own, *usual])),
        sizes=sorted({*GUARDED_SIZES, *(target.size_bytes for target in targets)}),
        budget_seconds=seconds,
        kept_sizes=sorted({target.size_bytes for target in targets}),
        kept_paths=list(paths[:1]),
        kept_benchmarks=own,
        kept_alone=True,
    )


@dataclass(frozen=True)
class Shown:
    """A case of both."""

    comparison: Comparison
    before: Cell
    after: Cell

    @property
    def label(self) -> str:
        """`host-gpu pcie, latency H,D at 16 MiB`."""
        case = self.before.case
        where = f"{self.before.place.path}, {case.figure} {case.buffers}"
        return f"{where} at {size(case.x)}"


@dataclass(frozen=True)
class Confirmed:
    """What came of it."""

    targets: list[Shown]
    slower: list[Shown]  # the price
    broken: list[str]  # what does not work any more
    unguarded: list[str]  # ids of paths on which too little was measured to tell

    @property
    def faster(self) -> bool:
        """Whether it is worth using where it was tuned: a target is faster, and none slower."""
        words = [shown.comparison.verdict for shown in self.targets]
        return not self.broken and "faster" in words and "slower" not in words

    @property
    def everywhere(self) -> bool:
        """Whether it costs nothing in any case that was measured."""
        return self.faster and not self.slower


def judge(
    results: Results,
    library: str,
    base: str,
    targets: Sequence[Target],
    paths: Sequence[str],
    buffers: str,
    tuned: str = TUNED,
) -> Confirmed:
    """The library with these settings against itself, on these paths; the targets are on the first
    of them, with these buffers."""
    before, after = Who(library, base), Who(library, tuned)
    cells = {(cell.who, cell.place, cell.case): cell for cell in results.cells}
    shown = [
        Shown(
            each,
            cells[before, each.place, each.case],
            cells[after, each.place, each.case],
        )
        for each in results.comparisons
        if (each.first, each.second) == (before, after)
    ]
    wanted = {(target.benchmark, target.size_bytes) for target in targets}
    own = [
        each
        for each in shown
        if each.before.place.path == paths[0]
        and each.before.case.buffers == buffers
        and (each.before.case.benchmark, each.before.case.x) in wanted
        and _is_main(results, each.before)
    ]
    slower = [
        each
        for each in shown
        if each.comparison.verdict == "slower" and each.comparison.ratio < PRICE
    ]
    guarded = {each.before.place.path for each in shown if each.comparison.blocks >= LEAST_BLOCKS}
    return Confirmed(
        own,
        sorted(slower, key=_ratio),
        _broken(results, before, after),
        [path for path in paths if path not in guarded],
    )


def _ratio(shown: Shown) -> float:
    return shown.comparison.ratio


def _is_main(results: Results, cell: Cell) -> bool:
    """Whether a cell has the first figure of its benchmark, in its usual way."""
    return any(
        benchmark.name == cell.case.benchmark
        and benchmark.main.name == cell.case.metric
        and all(axis.default == cell.case.axes.get(axis.name) for axis in benchmark.axes)
        for benchmark in results.benchmarks
    )


def _broken(results: Results, before: Who, after: Who) -> list[str]:
    """What ended badly tuned, and well as it was."""
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
    return [
        f"{failure.place.path}, {', '.join(failure.benchmarks)}: {failure.message}"
        for failure in results.failures
        if failure.who == after
        and any(
            (failure.place, name) in well and (failure.place, name) not in failed_before
            for name in failure.benchmarks
        )
    ]
