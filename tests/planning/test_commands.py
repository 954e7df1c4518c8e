# SPDX-License-Identifier: Apache-2.0
"""No plan makes a launch with an option that Nearpeak does not give it."""

from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching.command_lines import Tools
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Rank
from nearpeak.planning.commands import make_command
from nearpeak.planning.plan import Plan

OPTION = "--jsonl=/home/me/.bashrc"


@pytest.fixture
def tools(standins: ModuleType, tmp_path: Any) -> Tools:
    return standins.make_tools(tmp_path)  # type: ignore[no-any-return]


def make_all(plan: Plan, tools: Tools) -> None:
    for planned in plan.block(0):
        make_command(plan, planned, tools)


def replaced(plan: Plan, **fields: Any) -> Plan:
    return msgspec.structs.replace(plan, **fields)


def test_an_axis_is_no_other_option(standins: ModuleType, tools: Tools) -> None:
    plan = standins.small_plan()
    make_all(plan, tools)
    [variant] = plan.variants
    axes = {**variant.axes, "jsonl": "/home/me/.bashrc"}
    with pytest.raises(UserError, match="'jsonl' is not an axis"):
        make_all(replaced(plan, variants=[msgspec.structs.replace(variant, axes=axes)]), tools)


def test_a_ceilings_axis_is_no_other_option(standins: ModuleType, tools: Tools) -> None:
    plan = standins.small_plan()
    launches = [
        msgspec.structs.replace(
            launch,
            groups=tuple(
                msgspec.structs.replace(group, axes={"jsonl": "/x"}) for group in launch.groups
            ),
        )
        for launch in plan.launches
        if launch.role == "ceiling"
    ]
    assert launches
    with pytest.raises(UserError, match="'jsonl' is not an axis"):
        make_all(replaced(plan, launches=launches), tools)


def test_a_benchmark_is_no_option(standins: ModuleType, tools: Tools) -> None:
    plan = standins.small_plan()
    benchmarks = [msgspec.structs.replace(each, name=OPTION) for each in plan.benchmarks]
    variants = [msgspec.structs.replace(each, benchmark=OPTION) for each in plan.variants]
    with pytest.raises(UserError, match="would be an option"):
        make_all(replaced(plan, benchmarks=benchmarks, variants=variants), tools)


def test_a_device_is_no_option(standins: ModuleType, tools: Tools) -> None:
    path = standins.gpu_path()
    plan = standins.small_plan(paths=(path,), buffers="D,D")
    make_all(plan, tools)
    ends = tuple(msgspec.structs.replace(end, gpu=OPTION) for end in path.ends)
    with pytest.raises(UserError, match="would be an option"):
        make_all(replaced(plan, paths=[msgspec.structs.replace(path, ends=ends)]), tools)


def test_buffers_are_no_option(standins: ModuleType, tools: Tools) -> None:
    plan = standins.small_plan()
    launches = [
        msgspec.structs.replace(
            launch,
            groups=tuple(msgspec.structs.replace(each, buffers=OPTION) for each in launch.groups),
        )
        for launch in plan.launches
        if launch.role == "mpi"
    ]
    with pytest.raises(UserError, match="would be an option"):
        make_all(replaced(plan, launches=launches), tools)


@pytest.mark.parametrize("host", ["-oProxyCommand=id", "/evil/x.sh"])
def test_a_host_is_no_option_and_no_script(standins: ModuleType, host: str) -> None:
    launch = Launch(program=["p"], ranks=[Rank(cpus=[0], host="a"), Rank(cpus=[0], host=host)])
    with pytest.raises(UserError, match="is not a host name"):
        command_line(msgspec.structs.replace(standins.library(), family="mpich"), launch)
