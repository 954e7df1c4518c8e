# SPDX-License-Identifier: Apache-2.0
"""What records say of what is left: the same cases count as in the results."""

from types import ModuleType
from typing import Any

import pytest

from nearpeak.study.answers import launch_record
from nearpeak.study.model import Plan, PlannedLaunch
from nearpeak.study.records import LaunchEndRecord, ProblemRecord, SamplesRecord
from nearpeak.study.state import State

CASE: dict[str, Any] = {
    "benchmark": "latency",
    "buffers": "H,H",
    "axes": {"calls": "blocking", "reuse": "fixed"},
    "method": None,
}


@pytest.fixture
def plan(standins: ModuleType) -> Plan:
    made: Plan = standins.small_plan(launches=6)
    return made


def library(plan: Plan, block: int) -> PlannedLaunch:
    return next(one for one in plan.block(block) if one.role == "mpi")


def feed(
    state: State, planned: PlannedLaunch, status: Any, value: float, wrong: int | None = None
) -> None:
    """A launch of both sizes, one of which may have brought wrong data after all."""
    state.feed(launch_record(state.plan, planned, "line", "now"))
    for size in state.plan.sizes:
        state.feed(
            SamplesRecord(
                launch=planned.launch, metric="latency", size_bytes=size, unit="us",
                better="lower", samples=[value], batch=1, kept_every=1, iterations=1,
                warmup_iterations=1, first_use_us=1.0, window=1, seconds=0.1, **CASE,
            )
        )  # fmt: skip
    if wrong is not None:
        state.feed(
            ProblemRecord(
                launch=planned.launch, size_bytes=wrong, status="wrong data", message="", **CASE
            )
        )
    state.feed(
        LaunchEndRecord(
            launch=planned.launch, status=status, exit_status=0, seconds=1.0, message="", log=None
        )
    )


def counted(state: State) -> list[int]:
    """Launch medians of each cell."""
    return [len(cell.medians) for cell in state.cells()]


@pytest.mark.parametrize(
    ("status", "wrong", "expected"),
    [
        ("ok", None, [1, 1]),
        ("crashed", None, [1, 1]),  # what was verified before counts
        ("failed", None, []),
        ("wrong data", 8, [1]),
        ("wrong data", None, []),  # nobody knows in which case
        ("interrupted", None, []),  # it runs again
    ],
)
def test_what_results_reject_does_not_count(
    plan: Plan, status: str, wrong: int | None, expected: list[int]
) -> None:
    state = State(plan)
    feed(state, library(plan, 0), status, 1.0, wrong)
    assert counted(state) == expected


def test_a_launch_that_ended_is_not_left(plan: Plan) -> None:
    state = State(plan)
    planned = library(plan, 0)
    assert planned in state.remaining(0)
    feed(state, planned, "ok", 1.0)
    assert planned not in state.remaining(0)
    assert len(state.remaining(0)) == len(plan.launches) - 1


def test_one_that_was_interrupted_is(plan: Plan) -> None:
    state = State(plan)
    feed(state, library(plan, 0), "interrupted", 1.0)
    assert library(plan, 0) in state.remaining(0)
