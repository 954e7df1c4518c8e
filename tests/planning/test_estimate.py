# SPDX-License-Identifier: Apache-2.0
"""What launches will take: a guess first, then what was measured."""

from types import ModuleType

import msgspec
import pytest

from nearpeak.planning.estimate import Cost, Estimate, Manner, Part, Parts, guess_cost, manner_of
from nearpeak.planning.plan import Plan, PlannedLaunch

PILOT = Manner(slot_ms=1.0, least_samples=11, methods=())
PARTS: Parts = [
    Part(Cost(1.0)),
    Part(Cost(0.5, 0.01), method="a"),
    Part(Cost(0.0, 0.1), method="b"),
    Part(Cost(0.2, 0.0, 0.1), method="b"),
]


@pytest.fixture
def plan(standins: ModuleType) -> Plan:
    """A library and a ceiling, with slots of 1 ms."""
    made: Plan = standins.small_plan()
    return made


def of(plan: Plan, template: int) -> PlannedLaunch:
    return next(launch for launch in plan.block(0) if launch.template == template)


def test_what_was_measured_in_the_same_way_counts(plan: Plan) -> None:
    estimate = Estimate(plan)
    estimate.add(0, PILOT, 2.0, PARTS)
    estimate.add(0, PILOT, 4.0, PARTS)
    estimate.add(0, Manner(5.0, 5, ()), 1.0, PARTS)
    assert estimate.seconds([of(plan, 0)]) == pytest.approx(3.0)


def test_what_is_unknown_is_corrected_by_what_is_known(plan: Plan) -> None:
    guess = [guess_cost(plan, launch).seconds(1.0, 11) for launch in plan.launches]
    estimate = Estimate(plan)
    assert estimate.seconds([of(plan, 0), of(plan, 1)]) == pytest.approx(sum(guess))
    estimate.add(0, PILOT, 2 * guess[0], [])
    assert estimate.seconds([of(plan, 1)]) == pytest.approx(2 * guess[1])


def test_another_slot_and_fewer_methods_take_less(plan: Plan) -> None:
    estimate = Estimate(plan)
    estimate.add(0, Manner(20.0, 11, ()), 3.7, PARTS)
    later = msgspec.structs.replace(of(plan, 0), slot_ms=10.0, least_samples=5)
    assert estimate.seconds([later]) == pytest.approx(1.0 + 0.6 + 1.0 + 0.7)
    fewer = msgspec.structs.replace(later, methods=("a",))
    assert estimate.seconds([fewer]) == pytest.approx(1.0 + 0.6)


def test_a_launch_of_less_takes_what_was_measured_of_that(standins: ModuleType) -> None:
    plan = standins.small_plan(benchmarks=("latency", "bw"))
    template = next(i for i, launch in enumerate(plan.launches) if launch.role == "mpi")
    whole = of(plan, template)
    estimate = Estimate(plan)
    start, first, second = Part(Cost(1.0)), Part(Cost(0.5), 0), Part(Cost(0.2), 1)
    estimate.add(template, manner_of(whole), 1.7, [start, first, second])
    estimate.add(template, manner_of(whole), 3.7, [Part(Cost(3.0)), Part(Cost(0.7), 0)])  # crashed
    assert estimate.seconds([whole]) == pytest.approx(2.7)
    (rest,) = (whole.only({1}.__contains__),)
    assert rest is not None
    assert estimate.seconds([rest]) == pytest.approx(2.0 + 0.2)


def test_a_longer_slot_and_more_samples_cost_more_where_they_are_guessed(plan: Plan) -> None:
    for template in plan.launches:
        cost = guess_cost(plan, template)
        assert (
            cost.seconds(20.0, 11) > cost.seconds(5.0, 11) > cost.seconds(5.0, 5) > cost.fixed > 0
        )
