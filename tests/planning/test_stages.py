# SPDX-License-Identifier: Apache-2.0
"""What the first blocks say about the later ones."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nearpeak.launching.program_records import SamplesRecord
from nearpeak.planning.estimate import Cost, Part, parts_of
from nearpeak.planning.plan import LEAST_SLOT_MS, MOST_SLOT_MS, Plan
from nearpeak.planning.stages import PilotData, as_chosen


def samples(size: int, values: Any, **changes: Any) -> SamplesRecord:
    usual: dict[str, Any] = {
        "benchmark": "latency",
        "metric": "latency",
        "size_bytes": size,
        "buffers": "H,H",
        "axes": {},
        "method": None,
        "unit": "us",
        "better": "lower",
        "samples": list(values),
        "batch": 1,
        "kept_every": 1,
        "iterations": 1000,
        "warmup_iterations": 1,
        "first_use_us": 1.0,
        "window": 1,
        "seconds": 0.025,
    }
    return SamplesRecord(**usual | changes)


def pilot_of(plan: Plan, between: float, within: float, start: float) -> PilotData:
    """Two launches of every template: 20 cases, whose samples scatter in these ways."""
    generator = np.random.default_rng(1)
    pilot = PilotData(plan)
    for template in range(len(plan.launches)):
        for _ in range(2):
            records = [
                samples(
                    size, np.exp(generator.normal(0, between) + generator.normal(0, within, 400))
                )
                for size in range(20)
            ]
            pilot.add(template, records, parts_of(records, start + 20 * 0.025, 20.0, 11))
    return pilot


@pytest.fixture
def plan(standins: ModuleType) -> Plan:
    made = standins.small_plan()
    made.slot_ms, made.slot_fixed = 20.0, False
    return made


def test_scatter_between_launches_asks_for_short_slots(plan: Plan) -> None:
    slots = pilot_of(plan, between=0.1, within=0.1, start=1.0).choose().slots
    assert set(slots) == {("mpi", "memory"), ("ceiling", "memory")}
    assert set(slots.values()) == {LEAST_SLOT_MS}


def test_scatter_within_launches_and_costly_starts_ask_for_long_ones(plan: Plan) -> None:
    within = pilot_of(plan, between=0.001, within=0.3, start=1.0).choose().slots
    assert all(20 < slot <= MOST_SLOT_MS for slot in within.values())
    costly = pilot_of(plan, between=0.001, within=0.3, start=10.0).choose().slots
    assert all(costly[kind] >= within[kind] for kind in within)


def test_a_slot_that_the_user_fixed_stays(plan: Plan) -> None:
    plan.slot_fixed = True
    choice = pilot_of(plan, between=0.1, within=0.1, start=1.0).choose()
    assert choice.slots == {}
    later = as_chosen(plan, plan.block(2)[0], choice)
    assert (later.slot_ms, later.least_samples) == (20.0, 11)


def test_methods_that_never_came_near_are_left_out(plan: Plan) -> None:
    (ceiling,) = [index for index, launch in enumerate(plan.launches) if launch.role == "ceiling"]
    pilot = PilotData(plan)
    reached = {"best": (1.0, 1.0), "near once": (9.0, 1.4), "far": (1.6, 1.6)}
    records = [
        samples(size, [value] * 3, benchmark="pair", method=method)
        for method, values in reached.items()
        for size, value in zip((8, 100), values, strict=True)
    ]
    # What no library can use is a ceiling of its own, and leaves those near to the other one.
    records.append(samples(8, [0.1], benchmark="pair", method="all", needs=["window"]))
    # A fact of the path is no ceiling, and its method none that can be asked for.
    records.append(samples(8, [1.0], benchmark="pair", metric="flag_latency", method="flag"))
    pilot.add(ceiling, records, [])
    choice = pilot.choose()
    assert choice.methods == {ceiling: ("all", "best", "near once")}
    for planned in plan.block(2):
        chosen = as_chosen(plan, planned, choice)
        assert chosen.least_samples == (11 if planned.role == "ceiling" else 5)
        assert chosen.methods == choice.methods.get(planned.template, ())


def test_one_good_launch_keeps_a_method(plan: Plan) -> None:
    (ceiling,) = [index for index, launch in enumerate(plan.launches) if launch.role == "ceiling"]
    pilot = PilotData(plan)
    for values in ((1.0, 3.0), (1.0, 1.2)):
        records = [
            samples(8, [value], benchmark="pair", method=method)
            for method, value in zip(("steady", "moody"), values, strict=True)
        ]
        pilot.add(ceiling, records, [])
    assert pilot.choose().methods == {}  # all of them


def test_what_a_launch_is_made_of() -> None:
    records = [
        samples(8, [1.0], method="a", seconds=0.025),  # as long as its slot
        samples(8, [1.0], method="b", seconds=0.010),  # shorter: all of it goes with the slot
        samples(9, [1.0], method="a", seconds=0.5, iterations=11),  # no slot holds so much
        # Two metrics of one case.
        *(samples(7, [1.0], metric=metric, method="a", seconds=0.030) for metric in ("mbw", "mr")),
    ]
    rest, *cases = parts_of(records, seconds=1.0, slot_ms=20.0, least_samples=11)
    assert rest == Part(Cost(pytest.approx(1.0 - 0.025 - 0.010 - 0.5 - 0.030)))
    assert [(case.method, case.cost.seconds(20.0, 11)) for case in cases] == [
        ("a", pytest.approx(0.025)),
        ("b", pytest.approx(0.010)),
        ("a", pytest.approx(0.5)),
        ("a", pytest.approx(0.030)),
    ]
    times = [round(case.cost.seconds(10.0, 11), 4) for case in cases]
    assert times == [0.014, 0.005, 0.5, 0.019]
    # Eleven samples and ten other rounds, or five and ten.
    assert cases[2].cost.seconds(10.0, 5) == pytest.approx(0.5 * 15 / 21)
