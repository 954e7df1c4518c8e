# SPDX-License-Identifier: Apache-2.0
"""The two stages of a study: a pilot, and later blocks that its results shape.

The scatter lies between launches rather than within them, so that many launches with short slots
show more than few with long ones; the first blocks decide how short (statistics/sampling.py). All
choices follow from the records of these blocks only: a study that is resumed goes on as it would
have.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np

from nearpeak.arrays import Floats
from nearpeak.launching.program_records import SamplesRecord, case_of, timed
from nearpeak.planning.estimate import WARM_SLOT, Kind, Parts, kind_of, least_samples
from nearpeak.planning.plan import (
    LEAST_SLOT_MS,
    MOST_SLOT_MS,
    PILOT_BLOCKS,
    Plan,
    PlannedLaunch,
)
from nearpeak.statistics.sampling import Components, best_slot, components
from nearpeak.terms.benchmarks import Better
from nearpeak.terms.identity import Case

# A method that was never nearer to the best one of a case than this is no ceiling in later blocks.
NEAR = 1.5
BEST: dict[str, Callable[..., float]] = {"higher": max, "lower": min}


class Choice(NamedTuple):
    """The choices of the pilot for the later blocks."""

    slots: dict[Kind, float]  # ms
    methods: dict[int, tuple[str, ...]]  # by template; not in it: all


class PilotData:
    """The measurements of the first blocks."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._kinds = [kind_of(plan, template) for template in plan.launches]
        self._samples: dict[int, dict[tuple[Case, str], list[Floats]]] = defaultdict(dict)
        self._parts: dict[Kind, list[Parts]] = defaultdict(list)
        self._needing: dict[int, set[str]] = defaultdict(set)  # methods that no library can use
        self._cases: dict[Kind, list[int]] = defaultdict(list)  # measured with a whole slot

    def add(self, template: int, records: Sequence[SamplesRecord], parts: Parts) -> None:
        """Takes in a launch of the pilot: its samples, and the parts of its seconds."""
        self._parts[self._kinds[template]].append(parts)
        full_slots = timed(record for record in records if not record.trial)
        self._cases[self._kinds[template]].append(len(full_slots))
        cases = self._samples[template]
        for record in records:
            if record.needs:
                self._needing[template].add(record.method or "")
            key = (case_of(record, record.metric), record.method or "")
            cases.setdefault(key, []).append(np.array(record.samples))

    def components(self) -> dict[Kind, Components]:
        """The variances and costs of each kind of launch that was measured."""
        return {kind: self._components(kind) for kind in self._parts}

    def choose(self) -> Choice:
        """The slot of each kind of launch, and the methods of each ceiling."""
        slots = {}
        if not self._plan.slot_fixed:
            for kind, parts in self.components().items():
                slots[kind] = round(best_slot(parts, LEAST_SLOT_MS, MOST_SLOT_MS), 1)
        return Choice(slots, self._methods())

    def _components(self, kind: Kind) -> Components:
        pilots = [
            launches
            for template, cases in self._samples.items()
            if self._kinds[template] == kind
            for launches in cases.values()
            if all(map(_is_positive, launches))
        ]
        least = least_samples(self._plan, kind, PILOT_BLOCKS)
        totals = [_total(parts, self._plan.slot_ms, least) for parts in self._parts[kind]]
        # All cases, as those that take longer than the slot now may not with a longer one.
        growing = float(np.mean(self._cases[kind])) * WARM_SLOT / 1000
        start = max(0.0, float(np.mean(totals)) - growing * self._plan.slot_ms)
        return components(pilots, self._plan.slot_ms, start, growing)

    def _methods(self) -> dict[int, tuple[str, ...]]:
        metrics = chain.from_iterable(benchmark.metrics for benchmark in self._plan.benchmarks)
        better = {metric.name: metric.better for metric in metrics}
        ceilings = [template for template in self._samples if self._has_methods(template)]
        chosen = {template: self._near_methods(template, better) for template in ceilings}
        return {template: tuple(sorted(near)) for template, near in chosen.items() if near}

    def _has_methods(self, template: int) -> bool:
        """True for the ceiling of a path between ranks."""
        launch = self._plan.launches[template]
        return launch.role == "ceiling" and not self._plan.find_path(launch.path).is_local

    def _near_methods(self, template: int, better: dict[str, Better]) -> set[str]:
        """The methods that came near to the best one of any case; empty: all did. `better`: of each
        metric that is compared."""
        reached: dict[Case, dict[str, float]] = defaultdict(dict)
        for (case, method), launches in self._samples[template].items():
            if case.metric in better:
                reached[case][method] = _best(launches, better[case.metric])
        near = set[str]()
        for case, methods in reached.items():
            free = {m: methods[m] for m in methods.keys() - self._needing[template]}
            # There is a ceiling of either.
            near |= _near(methods, better[case.metric]) | _near(free, better[case.metric])
        return near if near < set().union(*reached.values()) else set()


def as_chosen(plan: Plan, planned: PlannedLaunch, choice: Choice) -> PlannedLaunch:
    """Returns a launch of a later block with the pilot's choices."""
    kind = kind_of(plan, planned)
    return msgspec.structs.replace(
        planned,
        slot_ms=choice.slots.get(kind, planned.slot_ms),
        least_samples=least_samples(plan, kind, planned.block),
        methods=choice.methods.get(planned.template, ()),
    )


def _is_positive(samples: Floats) -> bool:
    return bool(samples.min() > 0)


def _total(parts: Parts, slot_ms: float, least_samples: int) -> float:
    return sum(part.cost.seconds(slot_ms, least_samples) for part in parts)


def _best(launches: list[Floats], better: str) -> float:
    return BEST[better](float(np.median(samples)) for samples in launches)


def _near(methods: dict[str, float], better: str) -> set[str]:
    """Returns the methods whose value is within `NEAR` of the best."""
    best = BEST[better](methods.values(), default=0.0)
    return {name for name, value in methods.items() if min(value, best) * NEAR >= max(value, best)}
