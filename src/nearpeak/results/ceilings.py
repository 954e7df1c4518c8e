# SPDX-License-Identifier: Apache-2.0
"""The rates and times of each path without MPI, and the one lookup of the ceiling of a case."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from nearpeak.grouping import collected, grouped, present
from nearpeak.observations.observed import Block, Observation, Observations
from nearpeak.results.blocks import middle, sessions_of
from nearpeak.results.results import HOST_CACHES, Attainable, CeilingPoint, Pace
from nearpeak.statistics.bimodal import borders, in_better_mode
from nearpeak.statistics.choice import Choice
from nearpeak.statistics.comparisons import SIGN, better_by
from nearpeak.statistics.intervals import of_readings
from nearpeak.terms.axes import CALLS, ONE_WAIT, state_of
from nearpeak.terms.benchmarks import GPU_FACTS, Better
from nearpeak.terms.buffers import ceiling_buffers, on_host
from nearpeak.terms.identity import CEILING, Case, Curve, Place

DISTURBED = 1.5  # times: a trial that is worse by more than what its launch measured in full


class Reached(NamedTuple):
    """The median of a method in one block."""

    value: float
    otherwise: float  # the same, if its paces are judged as they may be too
    paces: tuple[Pace, ...] = ()  # the better one first, where the method and the launch have two
    cache_line_ns: float | None = None
    trial: bool = False  # a few samples, as other methods were better there


C = TypeVar("C", Curve, Case)
Key = tuple[Place, Case]
Methods = dict[str, dict[Block, Reached]]  # by name and block


def find(observations: Observations) -> list[CeilingPoint]:
    """Every ceiling, in order of place and case.

    A launch of a ceiling counts with the median of its samples, as one of a library does; where
    its method has two paces, in all launches together, with that of the better one, for it is what
    the path can carry. Where that is not sure, the interval spans both. In a block the method
    counts that is best in the other half of the blocks (statistics/choice.py).
    """
    observed = grouped(
        (observation for observation in observations.observed if observation.launch.who == CEILING),
        lambda observation: (observation.launch.place, observation.case),
    )
    return [
        _point(key, grouped(observed[key], lambda observation: observation.method))
        for key in sorted(observed)
    ]


def reached_in(launches: list[Observation]) -> dict[Block, Reached]:
    """The median of a method in each of its launches."""
    all_samples = [samples for launch in launches if (samples := launch.samples) is not None]
    judged = borders(all_samples, launches[0].better)
    return {
        observation.launch.block: Reached(
            value=_median(observation, judged[0]),
            otherwise=_median(observation, judged[-1]),
            paces=_paces(observation, judged[0]),
            cache_line_ns=observation.cache_line_ns,
            trial=observation.trial,
        )
        for observation in launches
    }


def _median(observation: Observation, border: float | None) -> float:
    """The median of the better pace."""
    samples = observation.samples
    if samples is None or border is None:
        return observation.summary.median
    return float(np.median(samples[in_better_mode(samples, border, observation.better)]))


def _paces(observation: Observation, border: float | None) -> tuple[Pace, ...]:
    """Both of its paces, the better one first; nothing where it has but one."""
    samples = observation.samples
    if samples is None or (part := in_better_mode(samples, border, observation.better)).all():
        return ()
    return tuple(
        Pace(value=float(np.median(samples[side])), share=float(np.mean(side)), launches=1)
        for side in (part, ~part)
    )


def _point(key: Key, observed: Mapping[str, list[Observation]]) -> CeilingPoint:
    methods = {name: reached_in(launches) for name, launches in observed.items()}
    first = next(iter(observed.values()))[0]
    envelope = find_envelope(methods, first.better)
    needs = {
        name: list(launches[0].needs) for name, launches in observed.items() if launches[0].needs
    }
    place, case = key
    return CeilingPoint(
        place=place,
        case=case,
        unit=first.unit,
        better=first.better,
        **summed_up(envelope.blocks, envelope.values, envelope.otherwise),
        cache_line_ns=[
            _distance(methods[name][block], methods, block) for name, block in envelope.counted
        ],
        method=envelope.method,
        stand_ins=envelope.stand_ins,
        methods={name: _middle(reached) for name, reached in methods.items()},
        needs=needs,
        attainable=_attainable(methods, needs, envelope, first.better),
        modes=_modes(methods[envelope.method].values()),
        window=first.window,
        fact=case.metric in GPU_FACTS,
    )


def _middle(reached: Mapping[Block, Reached]) -> float:
    """The median of a method over its blocks."""
    return float(np.median([*_values(reached).values()]))


class Envelope(NamedTuple):
    """The best of some methods, block by block."""

    method: str  # the best over all blocks
    counted: list[tuple[str, Block]]  # which method counts where, in order of blocks
    values: list[float]  # of each
    otherwise: list[list[float]]  # what these may be too

    @property
    def blocks(self) -> list[Block]:
        """The blocks in which it is known."""
        return [block for _, block in self.counted]

    @property
    def stand_ins(self) -> dict[str, list[Block]]:
        """The methods that count in place of the best one, with their blocks."""
        counting = collected(self.counted)
        return {name: blocks for name, blocks in counting.items() if name != self.method}


def summed_up(
    blocks: list[Block], values: list[float], otherwise: list[list[float]]
) -> dict[str, Any]:
    """The fields of a ceiling, or of what is attainable of it, that follow from its values in each
    block and what these may be too: the interval spans those of all."""
    return {
        "value": float(np.median(values)),
        "ci95": of_readings((values, *otherwise), sessions_of(blocks)),
        "range": (min(values), max(values)),
        "values": values,
        "otherwise": otherwise,
        "blocks": blocks,
    }


def _attainable(
    methods: Methods, needs: Mapping[str, list[str]], ceiling: Envelope, better: Better
) -> Attainable | None:
    """The envelope of the methods that need nothing; None where it is the ceiling, or better by
    noise."""
    free = {name: reached for name, reached in methods.items() if name not in needs}
    if not free or needs.keys().isdisjoint({ceiling.method, *ceiling.stand_ins}):
        return None
    envelope = _capped(find_envelope(free, better), ceiling, better)
    if better_by(float(np.median(envelope.values)), float(np.median(ceiling.values)), better) >= 1:
        return None
    return Attainable(
        **summed_up(envelope.blocks, envelope.values, envelope.otherwise),
        method=envelope.method,
        stand_ins=envelope.stand_ins,
        by_trials=2 * sum(methods[name][block].trial for name, block in envelope.counted)
        >= len(envelope.counted),
    )


def _capped(envelope: Envelope, ceiling: Envelope, better: Better) -> Envelope:
    """The envelope capped by the ceiling in each block: each was chosen by other blocks, and may be
    the better one there by noise."""
    sign = SIGN[better]
    most = dict(zip(ceiling.blocks, ceiling.values, strict=True))
    limits = [sign * most.get(block, sign * np.inf) for block in envelope.blocks]

    def capped(values: list[float]) -> list[float]:
        return (sign * np.minimum(sign * np.array(values), limits)).tolist()  # type: ignore[no-any-return]

    return envelope._replace(
        values=capped(envelope.values), otherwise=[*map(capped, envelope.otherwise)]
    )


def find_envelope(methods: Methods, better: Better) -> Envelope:
    """The best of these methods: in each block the one that is best in the other half of them.

    Where two methods count, each in half of the blocks, the better one is not known: what
    either reached in all blocks may be it too. So may be what comes of paces that are judged the
    other way.
    """
    method, (usual, *others) = _readings(methods, better)
    others += _readings({name: _otherwise(reached) for name, reached in methods.items()}, better)[1]
    values = [reached.value for _, reached in usual.values()]
    otherwise: list[list[float]] = []
    for reading in others:
        other = [reading.get(block, usual[block])[1].value for block in usual]
        if other != values and other not in otherwise:
            otherwise.append(other)
    counted = [(name, block) for block, (name, _) in usual.items()]
    return Envelope(method, counted, values, otherwise)


def _otherwise(reached: dict[Block, Reached]) -> dict[Block, Reached]:
    """The medians of a method, if its paces are judged the other way."""
    return {block: median._replace(value=median.otherwise) for block, median in reached.items()}


Reading = dict[Block, tuple[str, Reached]]  # which method counts in a block, and what it reached


def _readings(methods: Methods, better: Better) -> tuple[str, list[Reading]]:
    """The best method, and what the path carried in each block; where two methods count, also what
    it would be if either of them did in all blocks. Where the one that counts had a trial far
    below what the launch measured in full, that counts: other work came between."""
    choice = Choice({name: _values(reached) for name, reached in methods.items()}, better)
    blocks = sorted(set[Block]().union(*methods.values()))
    chosen = [{block: choice.winner_there(block) for block in blocks}]
    chosen += [dict.fromkeys(blocks, name) for name in choice.rivals]

    def reading(counting: Mapping[Block, str]) -> Reading:
        return {
            block: _undisturbed(name, methods, block, better)
            for block, name in counting.items()
            if block in methods[name]
        }

    return choice.best, [reading(counting) for counting in chosen]


def _values(reached: Mapping[Block, Reached]) -> dict[Block, float]:
    return {block: median.value for block, median in reached.items()}


def _undisturbed(name: str, methods: Methods, block: Block, better: Better) -> tuple[str, Reached]:
    """A method in a block, or the best one of those measured in full where its trial is far below.

    Not wherever one of these is better at all: each is among the luckiest of its block, and the
    ceiling would be too high (benchmarks/ceiling_choice.py).
    """
    mine = name, methods[name][block]
    in_block = [(other, reached[block]) for other, reached in methods.items() if block in reached]
    full = [(other, reached) for other, reached in in_block if not reached.trial]
    best = max(full, key=lambda pair: SIGN[better] * pair[1].value, default=mine)
    disturbed = mine[1].trial and better_by(best[1].value, mine[1].value, better) > DISTURBED
    return best if disturbed else mine


def _distance(carried: Reached, methods: Methods, block: Block) -> float | None:
    """The distance of the CPUs in a block: that of the method that counts there. A trial has none:
    then the median of the measured methods; None: nothing."""
    if carried.cache_line_ns is not None:
        return carried.cache_line_ns
    in_block = [blocks[block] for blocks in methods.values() if block in blocks]
    known_ns = present(reached.cache_line_ns for reached in in_block)
    return middle(known_ns)


def _modes(reached: Iterable[Reached]) -> list[Pace]:
    """Both paces of a method over the launches that have two."""
    launches = [median.paces for median in reached if median.paces]
    return [_over_launches(paces) for paces in zip(*launches, strict=True)]


def _over_launches(paces: Sequence[Pace]) -> Pace:
    return Pace(
        value=float(np.median([pace.value for pace in paces])),
        share=float(np.mean([pace.share for pace in paces])),
        launches=len(paces),
    )


class Ceilings:
    """All ceilings of a study, found by place and case: the one place that matches the two.

    A ceiling holds for a case of the same benchmark, metric and x, with buffers in the same
    memories, if each axis that it names has the same value in the case. Between unlike memories
    half a round trip is the mean of two ways, and no ceiling of one. Operations that share a wait
    of the host have none: a message between two waits takes longer.
    """

    def __init__(self, points: Iterable[CeilingPoint]) -> None:
        self._points = grouped(points, lambda point: (point.place, *_figure(point.case)))
        self._plateaus: dict[tuple[Place, Curve], CeilingPoint | None] = {}

    def point(self, place: Place, case: Case) -> CeilingPoint | None:
        """The best ceiling that holds for a case; None if none was measured."""
        points = self._points.get((place, *_figure(case)), [])
        holding = [point for point in points if point.case.x == case.x and _holds(point, case)]
        return max(holding, key=lambda point: SIGN[point.better] * point.value, default=None)

    def curve(self, place: Place, curve: Curve) -> list[CeilingPoint]:
        """The ceiling under a curve, in the order of x."""
        points = self._points.get((place, *_figure(curve)), [])
        sizes = sorted({point.case.x for point in points})
        return present(self.point(place, curve.at(x)) for x in sizes)

    def plateau(self, place: Place, curve: Curve, better: Better) -> CeilingPoint | None:
        """The best that the ceiling under a curve of rates reaches at any size; None of times.

        Of sizes in the host's caches only where no other was measured: caches carry more than the
        memory, and whether `sizes` has one of these must not decide.
        It has the best size over all blocks. In a block that size counts that is best in the other
        half of the blocks, as a method does: the highest of many sizes is high by luck too.
        """
        if better != "higher":
            return None
        if (place, curve) not in self._plateaus:
            measured = [point for point in self.curve(place, curve) if point.kind == "measured"]
            beyond = [point for point in measured if point.lies_in not in HOST_CACHES]
            self._plateaus[place, curve] = _highest(beyond or measured)
        return self._plateaus[place, curve]


def _highest(points: list[CeilingPoint]) -> CeilingPoint | None:
    """The best of several sizes, with the one that counts in each block."""
    if len(points) < 2:
        return next(iter(points), None)
    by_size = {str(point.case.x): point for point in points}
    choice = Choice({size: point.by_block for size, point in by_size.items()}, "higher")
    blocks = sorted({block for point in points for block in point.blocks})
    counting = {block: by_size[choice.winner(block)] for block in blocks}

    def reading(number: int) -> dict[Block, Mapping[Block, float]]:
        """The readings of this number of the sizes that count, or their last ones."""
        return {block: point.readings[: number + 1][-1] for block, point in counting.items()}

    usual = {block: values[block] for block, values in reading(0).items() if block in values}

    def filled(readings: Mapping[Block, Mapping[Block, float]]) -> list[float]:
        """The values of readings, or else the usual ones."""
        return [readings[block].get(block, value) for block, value in usual.items()]

    most = max(len(by_size[size].readings) for size in choice.winners)
    others = [reading(number) for number in range(1, most)]
    others += [dict.fromkeys(blocks, by_size[size].by_block) for size in choice.rivals]
    return msgspec.structs.replace(
        by_size[choice.best],
        **summed_up(list(usual), list(usual.values()), list(map(filled, others))),
        cache_line_ns=[_apart(counting[block], block) for block in usual],
    )


def _apart(point: CeilingPoint, block: Block) -> float | None:
    return dict(zip(point.blocks, point.cache_line_ns, strict=False)).get(block)


def under(curve: C) -> C:
    """The curve, or case, of the ceiling of this one: with the same memories, and the axes that its
    ceiling must have."""
    return msgspec.structs.replace(
        curve, buffers=ceiling_buffers(curve.buffers), axes=dict(state_of(curve.axes))
    )


def _figure(case: Curve) -> tuple[str, str, str]:
    return case.benchmark, case.metric, ceiling_buffers(case.buffers)


def _holds(point: CeilingPoint, case: Case) -> bool:
    if case.axes.get(CALLS) in ONE_WAIT:
        return False
    mixed = len(set(on_host(point.case.buffers))) > 1
    if mixed and case.axes.get("direction", "both") != "both":
        return False
    return all(case.axes.get(name, value) == value for name, value in point.case.axes.items())
