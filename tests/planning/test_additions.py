# SPDX-License-Identifier: Apache-2.0
"""What a plan grows by with libraries that are added to its study."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching import fingerprints, programs
from nearpeak.machine.discover import discover
from nearpeak.planning import contenders, gate, prepare
from nearpeak.planning.additions import choose_new, prepare_addition
from nearpeak.planning.gate import Preparation
from nearpeak.planning.options import LibraryChoice
from nearpeak.planning.plan import Addition, Plan
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.path import DataPath

MACHINE = Path(__file__).parents[1] / "machines" / "one-socket.txt"
Add = Callable[..., Addition]


def awareness(library: str, status: Any) -> Awareness:
    return Awareness(
        library=library,
        settings="default",
        buffers="D,D",
        operation="latency",
        status=status,
        message="",
        command="",
        tried="now",
    )


@pytest.fixture
def plan(standins: ModuleType) -> Plan:
    """Of one library that takes the buffers of GPUs."""
    made: Plan = standins.small_plan(
        standins.contender("old"), paths=(standins.gpu_path(),), buffers="D,D"
    )
    made.awareness = [awareness("old", "ok")]
    return made


@pytest.fixture
def add(standins: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Add:
    """Adds a library, whose messages with the buffers of GPUs end so, to a plan."""
    for user in (programs, fingerprints):
        monkeypatch.setattr(user, "environment", lambda _library: {})
    monkeypatch.setattr(prepare, "gpu_path", lambda _: standins.gpu_path())
    monkeypatch.setattr(prepare, "cache", lambda: tmp_path)

    def run(plan: Plan, status: str = "ok", name: str = "new") -> Addition:
        def tried(contender: Any, cases: Any, *_: Any) -> list[Awareness]:
            assert [(contender.label, case.operation) for case in cases] == [(name, "latency")]
            return [awareness(name, status)]

        monkeypatch.setattr(gate, "try_contender", tried)
        tools, machine = standins.make_tools(tmp_path), discover(MACHINE)
        new = [standins.contender(name)]
        return prepare_addition(plan, new, 3, machine, Preparation(tools, print))

    return run


def test_what_is_there_keeps_its_number(plan: Plan, add: Add) -> None:
    found = add(plan)
    assert [contender.label for contender in found.contenders] == ["new"]
    assert found.variants == []
    assert found.awareness == [awareness("new", "ok")]
    [launch] = found.launches
    assert (launch.contender, launch.variants, launch.since) == (1, (0,), 3)
    grown = plan.grown(found)
    assert grown.launches[: len(plan.launches)] == plan.launches
    for block in range(3):
        assert grown.block(block) == plan.block(block)
    assert {other.template for other in grown.block(3)} == {0, 1, 2}


def test_what_it_refuses_is_staged_for_it_alone(plan: Plan, add: Add) -> None:
    found = add(plan, "crashed")
    assert [variant.axes["staging"] for variant in found.variants] == ["pinned"]
    assert [(launch.contender, launch.variants) for launch in found.launches] == [(1, (1,))]
    # And of a third one that takes them, nothing is staged.
    again = add(plan.grown(found), "ok", name="third")
    assert again.variants == []
    assert [(launch.contender, launch.variants) for launch in again.launches] == [(2, (0,))]


def test_staging_that_was_asked_for_is_measured_of_all(plan: Plan, add: Add) -> None:
    staged = {**plan.variants[0].axes, "staging": "pinned"}
    plan.variants = [*plan.variants, msgspec.structs.replace(plan.variants[0], axes=staged)]
    [mpi] = [launch for launch in plan.launches if launch.role == "mpi"]
    groups = [msgspec.structs.replace(mpi.groups[0], variants=(0, 1))]
    plan.launches = [msgspec.structs.replace(mpi, groups=tuple(groups))]
    assert [launch.variants for launch in add(plan).launches] == [(0, 1)]


def test_ways_of_staging_that_were_left_out_stay_so(plan: Plan, add: Add) -> None:
    plan.left_out = [LeftOut(kind="staging", name="pinned", why="so", budget_seconds=1.0)]
    with pytest.raises(UserError, match="new cannot measure anything of what was asked for"):
        add(plan, "crashed")


def test_a_plan_cannot_grow_by_what_nothing_has(plan: Plan, add: Add) -> None:
    found = add(plan)
    with pytest.raises(ValueError, match="there is no contender 1"):
        plan.grown(msgspec.structs.replace(found, contenders=[]))


def test_what_it_does_with_buffers_is_tried_where_a_job_lets_it_run(
    plan: Plan, add: Add, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = msgspec.structs.replace(discover(MACHINE), allowed_cpus=[4, 5])
    monkeypatch.setattr(prepare, "start", lambda contenders, *_: (contenders, lent))
    on: set[int] = set()

    def gpu_path(within: Sequence[DataPath]) -> DataPath:
        on.update(cpu for path in within for end in path.ends for cpu in end.cpus)
        found: DataPath = standins.gpu_path()
        return found

    monkeypatch.setattr(prepare, "gpu_path", gpu_path)
    add(plan)
    assert on == {4, 5}


def test_another_library_of_a_name_is_not_the_same(
    plan: Plan, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = msgspec.structs.replace(standins.library("old"), libmpi=Path("/other/libmpi.so"))
    monkeypatch.setattr(contenders, "resolve", lambda _: other)
    settings = msgspec.structs.replace(plan.contenders[0].settings, name="quick")
    with pytest.raises(UserError, match=r"old of the study is libmpi.so, and not /other/libmpi"):
        choose_new(plan, [LibraryChoice(mpi="old", settings=(settings,))], print)
