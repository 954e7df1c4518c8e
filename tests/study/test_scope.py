# SPDX-License-Identifier: Apache-2.0
"""Scopes: each change is another one, and the first stays as it was."""

from types import ModuleType

import pytest

from nearpeak.planning.plan import Plan, Spare
from nearpeak.study.scope import Scope, Unit, Units

NEAR, FAR = "host-host same-numa", "host-host two"


@pytest.fixture
def plan(standins: ModuleType) -> Plan:
    """A library and a ceiling on each of two paths, the second of which may be left out."""
    paths = (standins.data_path(), standins.data_path(FAR, "memory"))
    made: Plan = standins.small_plan(standins.contender(), launches=6, paths=paths)
    made.spare = [Spare(kind="path", name=FAR, why="so", paths=[FAR])]
    return made


def paths_of(scope: Scope, block: int) -> set[str]:
    return {scope.units.plan.launches[unit.template].path for unit in scope.going(block)}


def test_a_question_about_another_scope_changes_none(plan: Plan) -> None:
    whole = Scope(Units(plan))
    smaller = whole.leaving_out([0], 2)
    assert [paths_of(whole, block) for block in (1, 3, 5)] == [{NEAR, FAR}] * 3
    assert [paths_of(smaller, block) for block in (1, 3, 5)] == [{NEAR, FAR}, {NEAR}, {NEAR}]
    assert whole == Scope(whole.units)


def test_a_ceiling_ends_with_the_last_library_below_it(plan: Plan) -> None:
    near = [unit for unit in Units(plan).libraries if plan.launches[unit.template].path == NEAR]
    ended = Scope(Units(plan)).ending(near, 3).ending_ceilings(3)
    assert [paths_of(ended, block) for block in (2, 3)] == [{NEAR, FAR}, {FAR}]
    # Once more: what was done before stays done from the earlier block on.
    assert ended.ending(near, 5).done == ended.done


def test_what_is_given_up_does_not_go_on(plan: Plan) -> None:
    first, *others = Units(plan).libraries
    ended = Scope(Units(plan)).giving_up([first]).ending([first, *others], 2)
    going = ended.going_on([first, *others], 4).going(4)
    assert first not in going
    assert {unit for unit in going if unit.variant is not None} == {*others}
    assert Unit(first.template, None) not in going
