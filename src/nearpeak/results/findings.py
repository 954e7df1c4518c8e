# SPDX-License-Identifier: Apache-2.0
"""What stands out in the cells: each finding one sentence with its figures."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from nearpeak.libraries.model import Settings
from nearpeak.numbers import number, size, unit
from nearpeak.results.model import CeilingValue, Cell, Finding
from nearpeak.results.names import axes_words, figure, staged
from nearpeak.study.benchmarks import Benchmark
from nearpeak.study.model import STAGING, Contender, label, staging

BLOCKING = 3.0  # windowed against blocking: beyond this a finding ...
EXPLAINED = 0.5  # ... unless the ceilings' own ratio is this part of it or more
TWICE = 1.5  # settings, MPS, directions: how many times better
STAGED = 1.1  # the staged baseline: how many times faster than the library's own way
# Of so many launches each, all on one side of all others come by chance in 2 of (8 over 4) = 70
# orders (Mann and Whitney's exact test: 2.9 %).
FEWEST = 4

Axes = tuple[tuple[str, str], ...]
Varied = set[tuple[str, str]]  # benchmark and axis, where a study has several values


class Seen(NamedTuple):
    """One candidate: the cell that loses, the figure that it is set against, and the words."""

    cell: Cell
    loss: float
    sentence: Callable[[Varied], str]


def find(
    cells: Sequence[Cell], contenders: Iterable[Contender], benchmarks: Iterable[Benchmark]
) -> list[Finding]:
    """All findings of a study, the greatest loss first. `benchmarks`: those of the cells."""
    known = {benchmark.name: benchmark for benchmark in benchmarks}
    given = {(one.library.name, one.settings.name): one.settings for one in contenders}
    measured = [cell for cell in cells if cell.median]
    own = [cell for cell in measured if staging(cell.axes) is None]
    varied = _varied(cells)
    found = [
        *_worst("blocking", _blocking(own, known), varied),
        *_worst("settings", _settings(own, given), varied),
        *_worst("mps", _mps(own), varied),
        *_worst("directions", _directions(own, known), varied),
        *_worst("staged", _staged(measured), varied),
    ]
    return sorted(found, key=lambda finding: (_only_tried(finding), -finding.loss))


def _only_tried(finding: Finding) -> bool:
    """Whether what loses are settings that nobody has unless they ask for them."""
    return finding.kind == "settings" and finding.settings != Settings().name


def _varied(cells: Sequence[Cell]) -> Varied:
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    for cell in cells:
        for name, value in cell.axes.items():
            values[cell.benchmark, name].add(value)
    return {case for case, several in values.items() if len(several) > 1}


def _worst(kind: str, seen: Iterator[Seen], varied: Varied) -> list[Finding]:
    """One finding for each library, path and buffers: the cell where most is lost.

    Of all pairs of a machine only the worst is told: a study may have hundreds.
    """
    worst: dict[Hashable, Seen] = {}
    for one in seen:
        cell = one.cell
        path = cell.path.partition(" pair ")[0]
        curve = (cell.library, cell.settings, path, cell.buffers)
        if curve not in worst or one.loss > worst[curve].loss:
            worst[curve] = one
    return [
        Finding(
            kind=kind,
            loss=one.loss,
            sentence=one.sentence(varied),
            library=one.cell.library,
            settings=one.cell.settings,
            path=one.cell.path,
            benchmark=one.cell.benchmark,
            metric=one.cell.metric,
            buffers=one.cell.buffers,
            axes=one.cell.axes,
            size_bytes=one.cell.size_bytes,
        )
        for one in worst.values()
    ]


def _blocking(cells: list[Cell], known: dict[str, Benchmark]) -> Iterator[Seen]:
    """Windowed bandwidth far above the one that the latency of the same size comes to.

    Some of it is in the nature of the path: the ceilings of both say how much.
    """
    windowed: dict[Hashable, list[Cell]] = defaultdict(list)
    for cell in cells:
        # A window of 1: of messages as large as may fly.
        if not known[cell.benchmark].one_way or cell.unit != "GB/s" or cell.window == 1:
            continue
        if cell.axes.get("calls", "nonblocking") == "nonblocking":
            windowed[_place(cell)].append(cell)
    for cell in cells:
        if not known[cell.benchmark].one_message or cell.unit != "us" or not cell.size_bytes:
            continue
        if cell.axes.get("calls", "blocking") != "blocking":
            continue
        for other in windowed[_place(cell)]:
            if any(
                other.axes.get(name, value) != value
                for name, value in cell.axes.items()
                if name != "calls"
            ):
                continue
            slow = _rate(cell.size_bytes, cell.median or 0.0)
            ratio = (other.median or 0.0) / slow
            one, many = cell.ceiling, other.ceiling
            if one is None or many is None:
                continue
            natural = many.value / _rate(cell.size_bytes, one.value)
            if ratio > BLOCKING and natural < EXPLAINED * ratio:
                yield Seen(cell, ratio, _blocking_words(cell, other, slow, ratio, natural))


def _blocking_words(
    cell: Cell, other: Cell, slow: float, ratio: float, natural: float
) -> Callable[[Varied], str]:
    return lambda varied: (
        f"{_where(cell)}, {_case(cell, varied)}: one message at a time moves"
        f" {number(slow)} GB/s ({_value(cell)}), {other.window} in flight move"
        f" {number(other.median)} GB/s, {_times(ratio)} as much; for the ceilings it is"
        f" {_times(natural)}."
    )


def _settings(cells: list[Cell], given: dict[tuple[str, str], Settings]) -> Iterator[Seen]:
    """A library's settings against the best ones of the same library."""
    places: dict[Hashable, list[Cell]] = defaultdict(list)
    for cell in cells:
        what = (cell.benchmark, cell.metric, _axes(cell))
        places[cell.library, what, _place(cell)[2:]].append(cell)
    for alternatives in places.values():
        if len(alternatives) < 2:
            continue
        best = min(alternatives, key=_cost)
        for cell in alternatives:
            if _beats(best, cell, TWICE):
                yield Seen(cell, _loss(best, cell), _settings_words(best, cell, given))


def _settings_words(
    best: Cell, cell: Cell, given: dict[tuple[str, str], Settings]
) -> Callable[[Varied], str]:
    def words(varied: Varied) -> str:
        settings = given.get((best.library, best.settings), Settings())
        other = given.get((cell.library, cell.settings), Settings())
        return (
            f"{best.library}, {cell.path}, {_case(cell, varied)}: {_value(best)} with the"
            f" settings {best.settings} against {_value(cell)} with {cell.settings},"
            f" {_times(_loss(best, cell))}; the difference: {difference(settings, other)}."
        )

    return words


def difference(one: Settings, other: Settings) -> str:
    """What the first settings give that the second do not, and what they leave out."""
    names = [*one.env, *(name for name in other.env if name not in one.env)]
    parts = []
    for name in names:
        if name not in other.env:
            parts.append(f"{name}={one.env[name]}")
        elif name not in one.env:
            parts.append(f"no {name}={other.env[name]}")
        elif one.env[name] != other.env[name]:
            parts.append(f"{name}={one.env[name]} in place of {other.env[name]}")
    if one.flags != other.flags:
        flags = [" ".join(settings.flags) or "none" for settings in (one, other)]
        parts.append(f"flags {flags[0]} in place of {flags[1]}")
    return ", ".join(parts) or "none that the plan knows"


def _mps(cells: list[Cell]) -> Iterator[Seen]:
    """One GPU shared by the ranks, with a daemon of MPS and without."""
    places: dict[Hashable, dict[str, Cell]] = defaultdict(dict)
    for cell in cells:
        bare = cell.path.removesuffix(" mps")
        owner = (cell.library, cell.settings, cell.benchmark, cell.metric)
        places[bare, owner, cell.buffers, cell.size_bytes, _axes(cell)][cell.path] = cell
    for pair in places.values():
        for better, worse in permutations(pair.values(), 2):
            if _beats(better, worse, TWICE):
                yield Seen(worse, _loss(better, worse), _mps_words(better, worse))


def _mps_words(better: Cell, worse: Cell) -> Callable[[Varied], str]:
    ways = ("under MPS", "without") if better.path.endswith(" mps") else ("without MPS", "under it")
    shared = better.path.removesuffix(" mps")
    return lambda varied: (
        f"{label(better.library, better.settings)}, {shared}, {_case(better, varied)}:"
        f" {_value(better)} {ways[0]} against {_value(worse)} {ways[1]},"
        f" {_times(_loss(better, worse))}."
    )


def _directions(cells: list[Cell], known: dict[str, Benchmark]) -> Iterator[Seen]:
    """One way faster than the other, where the ceilings of both ways differ less."""
    places: dict[Hashable, Cell] = {}
    for cell in cells:
        if not known[cell.benchmark].symmetric:
            places[_place(cell), cell.benchmark, cell.metric, _axes(cell)] = cell
    for cell in list(places.values()):
        kinds = ",".join(reversed(cell.buffers.split(",")))
        back = (cell.library, cell.settings, cell.path, kinds, cell.size_bytes)
        other = places.get((back, cell.benchmark, cell.metric, _axes(cell)))
        if other is None or kinds == cell.buffers or not _beats(other, cell, TWICE):
            continue
        mine, theirs = cell.ceiling, other.ceiling
        if mine is not None and theirs is not None and theirs.value < TWICE * mine.value:
            yield Seen(cell, _loss(other, cell), _direction_words(other, cell, mine, theirs))


def _direction_words(
    other: Cell, cell: Cell, mine: CeilingValue, theirs: CeilingValue
) -> Callable[[Varied], str]:
    return lambda varied: (
        f"{_where(cell)}, {_case(cell, varied)}: {_value(cell)} against {_value(other)}"
        f" the other way ({other.buffers}), {_times(_loss(other, cell))}; the ceilings are"
        f" {number(mine.value)} and {number(theirs.value)} {unit(cell.unit)}."
    )


def _staged(cells: list[Cell]) -> Iterator[Seen]:
    """What a library does with a GPU's memory itself, against the copies any user would write."""
    baselines: dict[Hashable, Cell] = {}
    for cell in cells:
        if staging(cell.axes) is not None:
            place = _bare(cell)
            if place not in baselines or _cost(cell) < _cost(baselines[place]):
                baselines[place] = cell
    for cell in cells:
        baseline = baselines.get(_bare(cell))
        if staging(cell.axes) is None and baseline and _beats(baseline, cell, STAGED):
            yield Seen(cell, _loss(baseline, cell), _staged_words(baseline, cell))


def _staged_words(baseline: Cell, cell: Cell) -> Callable[[Varied], str]:
    return lambda varied: (
        f"{_where(cell)}, {_case(cell, varied)}: {_value(cell)} by the library's own way against"
        f" {_value(baseline)} with {label(baseline.library, baseline.settings)}"
        f" {staged(baseline.axes[STAGING])}, {_times(_loss(baseline, cell))}."
    )


def _axes(cell: Cell) -> Axes:
    return tuple(sorted(cell.axes.items()))


def _bare(cell: Cell) -> Hashable:
    """The case of a cell but for who measured it and what was staged."""
    axes = tuple(pair for pair in _axes(cell) if pair[0] != STAGING)
    return cell.path, cell.benchmark, cell.metric, cell.buffers, cell.size_bytes, axes


def _place(cell: Cell) -> tuple[str, str, str, str, int]:
    return cell.library, cell.settings, cell.path, cell.buffers, cell.size_bytes


def _rate(size_bytes: int, micros: float) -> float:
    """GB/s of a message that takes so long."""
    return size_bytes / micros / 1e3


def _cost(cell: Cell) -> float:
    """Smaller is better, whatever the cell measures."""
    median = cell.median or 0.0
    return median if cell.better == "lower" else -median


def _loss(better: Cell, worse: Cell) -> float:
    one, other = better.median or 0.0, worse.median or 0.0
    return other / one if better.better == "lower" else one / other


def _beats(better: Cell, worse: Cell, times: float) -> bool:
    """Whether it is so many times better, with intervals, or ranges, that do not touch."""
    one, other = _bounds(better), _bounds(worse)
    if one is None or other is None:
        return False
    apart = one[1] < other[0] if better.better == "lower" else one[0] > other[1]
    return apart and _loss(better, worse) > times


def _bounds(cell: Cell) -> tuple[float, float] | None:
    """The interval of a cell; where it has none, the range of enough launches."""
    return cell.ci95 or (cell.range if cell.launches >= FEWEST else None)


def _value(cell: Cell) -> str:
    return f"{number(cell.median)} {unit(cell.unit)}"


def _times(ratio: float) -> str:
    return f"{number(ratio)} times"


def _where(cell: Cell) -> str:
    return f"{label(cell.library, cell.settings)}, {cell.path}"


def _case(cell: Cell, varied: Varied) -> str:
    """`latency D,D at 8 B (calls=blocking)`: what tells it from all other cells of its path."""
    told = {
        name: value
        for name, value in cell.axes.items()
        if name == STAGING or (cell.benchmark, name) in varied
    }
    axes = ", ".join(axes_words(told))
    words = f"{figure(cell.benchmark, cell.metric)} {cell.buffers} at {size(cell.size_bytes)}"
    return f"{words} ({axes})" if axes else words
