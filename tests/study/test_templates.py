# SPDX-License-Identifier: Apache-2.0
"""A recorded launch is of a launch of the plan, or refused."""

from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.planning.plan import Plan
from nearpeak.study.records import Chosen, GroupRecord, LaunchRecord
from nearpeak.study.templates import Templates, launch_record

AXES = {"calls": "blocking", "reuse": "fixed"}
STATE = {"reuse": "fixed", "touch": "none"}
CHOSEN = Chosen(benchmark="latency", axes=AXES)


@pytest.fixture
def plan(standins: ModuleType) -> Plan:
    """One launch a block, of a library."""
    made: Plan = standins.small_plan(launches=2)
    made.launches = [launch for launch in made.launches if launch.role == "mpi"]
    return made


def record(plan: Plan) -> LaunchRecord:
    """How the first launch begins."""
    return launch_record(plan, plan.block(0)[0], 0, "run", "now", 0)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"launch": -1}, "launch -1 is not of block 0"),
        ({"block": -1}, "launch 0 is not of block -1"),
        ({"library": "other"}, "launch 0 is none of the plan's: other on host-host same-numa"),
        ({"path": "nowhere"}, "launch 0 is none of the plan's"),
        ({"role": "ceiling"}, "launch 0 is none of the plan's"),
        ({"adapter": "mlx5_0:1"}, "launch 0 is none of the plan's"),
        ({"groups": []}, "launch 0 is none of the plan's"),
        (
            {"groups": [GroupRecord(buffers="D,D", axes=STATE, benchmarks=[CHOSEN])]},
            "launch 0 is none of the plan's: fake on host-host same-numa with D,D latency",
        ),
        (
            {"groups": [GroupRecord(axes={"reuse": "single"}, benchmarks=[CHOSEN])]},
            "launch 0 is none of the plan's",
        ),
        ({"groups": [GroupRecord(axes=STATE, benchmarks=[])]}, "launch 0 is none of the plan's"),
    ],
)
def test_a_launch_is_the_plans(plan: Plan, changes: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Templates(plan).index_of(msgspec.structs.replace(record(plan), **changes))


def test_what_was_added_is_of_no_block_before(plan: Plan) -> None:
    begin = record(plan)
    plan.launches = [msgspec.structs.replace(launch, since=1) for launch in plan.launches]
    with pytest.raises(ValueError, match="launch 0 is not of block 0"):
        Templates(plan).index_of(begin)
    begin.block = 1
    assert Templates(plan).index_of(begin) == 0


def test_a_launch_is_known_by_what_it_measures_in_any_order(standins: ModuleType) -> None:
    plan = standins.small_plan(benchmarks=("latency", "bw", "bibw"))
    find = Templates(plan).index_of
    for block in range(4):
        for planned in plan.block(block):
            begin = launch_record(plan, planned, 0, "run", "now", 0)
            assert find(begin) == planned.template
            [group] = begin.groups
            begin.groups = [_with(group, group.benchmarks[::-1])]
            assert find(begin) == planned.template
            if group.benchmarks:
                begin.groups = [_with(group, group.benchmarks[:1])]  # what is left of it
                assert find(begin) == planned.template
                begin.groups = [_with(group, [*group.benchmarks, group.benchmarks[0]])]
                with pytest.raises(ValueError, match="is none of the plan's"):
                    find(begin)


def _with(group: GroupRecord, benchmarks: list[Chosen]) -> GroupRecord:
    return msgspec.structs.replace(group, benchmarks=benchmarks)
