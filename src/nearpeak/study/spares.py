# SPDX-License-Identifier: Apache-2.0
"""The choice of what a study leaves out for its budget.

Parts are entries of Plan.spare, by their indexes. Nothing is changed by a question.
"""

import itertools
from collections.abc import Iterable

from nearpeak.planning.plan import Plan
from nearpeak.study.schedule import Schedule
from nearpeak.study.scope import Scope, Unit


def to_leave_out(schedule: Schedule, first: int, until: int, seconds: float) -> dict[int, float]:
    """Chooses what to leave out, so that the blocks [first, until) take at most `seconds`.
    Returns the parts, each with the seconds that would have kept it: first what is slow (`_slow`),
    then the rest in the plan's order.

    A large one after small ones may make some of these unnecessary. If nothing makes enough room,
    but all else would have had it with slow libraries at their usual speed, all else stays, for the
    two blocks that are run in any case.
    """
    scope = schedule.scope_at(first)

    def needed_without(spares: Iterable[int]) -> float:
        return schedule.seconds_left(first, until, scope.leaving_out(spares, first))

    chosen: dict[int, float] = {}
    while (needed := needed_without(chosen)) > seconds:
        number = _next(schedule, scope.leaving_out(chosen, first), first)
        if number is None:
            slow = [spare for spare in chosen if _is_of_a_library(scope.plan, spare)]
            lost = _lost_by(schedule, scope, [*scope.dropped, *chosen])
            enough = needed_without(slow) <= seconds + lost
            return {spare: chosen[spare] for spare in slow} if enough else chosen
        chosen[number] = needed
    for number in list(reversed(chosen))[1:]:
        if needed_without([other for other in chosen if other != number]) <= seconds:
            del chosen[number]
    return chosen


def _next(schedule: Schedule, scope: Scope, block: int) -> int | None:
    """Returns the part that is left out next; None if that leaves nothing to measure, or saves
    nothing. A library that loses a single path keeps a part of its launches, whatever follows."""
    plan, going = scope.plan, scope.going(block)
    libraries = _libraries(plan, going)
    others = [number for number in range(len(plan.spare)) if not _is_of_a_library(plan, number)]
    for number in itertools.chain(_slow(schedule, scope, block), others):
        left = [unit for unit in going if not scope.is_part(unit, number)]
        alone = {plan.spare[index].contender for index in (*scope.dropped, number)}
        lost = libraries - _libraries(plan, left)
        enough = any(unit.variant is not None for unit in left) and not lost & alone
        if len(left) < len(going) and enough:
            return number
    return None


def _slow(schedule: Schedule, scope: Scope, block: int) -> list[int]:
    """Returns the libraries on paths where they are much slower than usual. Those that take most of
    this block come first, as anything else would be left out for their sake."""
    remaining = schedule.remaining(block, scope)
    seconds: dict[int, float] = {}
    for number in range(len(scope.plan.spare)):
        if not _is_of_a_library(scope.plan, number):
            continue
        part = [
            planned for planned in remaining if scope.is_part(Unit(planned.template, None), number)
        ]
        if part and schedule.estimate.is_slow([planned.template for planned in part]):
            seconds[number] = schedule.estimate.seconds(part)
    return sorted(seconds, key=lambda number: -seconds[number])


def _lost_by(schedule: Schedule, scope: Scope, spares: Iterable[int]) -> float:
    """Returns the seconds beyond the usual that launches of slow libraries took."""
    slow = [number for number in spares if _is_of_a_library(scope.plan, number)]
    return schedule.estimate.lost(
        template
        for template in range(len(scope.plan.launches))
        if any(scope.is_part(Unit(template, None), number) for number in slow)
    )


def _is_of_a_library(plan: Plan, number: int) -> bool:
    """True if a part is of a single library: it is left out only where it is slow."""
    return plan.spare[number].contender is not None


def _libraries(plan: Plan, units: Iterable[Unit]) -> set[int | None]:
    return {plan.launches[unit.template].contender for unit in units} - {None}
