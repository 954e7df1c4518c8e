# SPDX-License-Identifier: Apache-2.0
"""The choice of what a study leaves out for its budget.

Parts are entries of Plan.spare, by their indexes. Nothing is changed by a question.
"""

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
    scope = schedule.scope

    def needed_without(spares: Iterable[int]) -> float:
        return schedule.seconds_left(first, until, scope.leaving_out(spares, first))

    chosen: dict[int, float] = {}
    while (needed := needed_without(chosen)) > seconds:
        number = _next(schedule, scope.leaving_out(chosen, first), first)
        if number is None:
            of_libraries = _of_libraries(scope)
            slow = [spare for spare in chosen if spare in of_libraries]
            left_out = of_libraries.intersection([*scope.dropped, *chosen])
            lost = schedule.estimate.lost(_templates(scope, left_out))
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
    plan, going = scope.units.plan, scope.going(block)
    libraries = _libraries(plan, going)
    others = [number for number, spare in enumerate(plan.spare) if spare.contender is None]
    for number in (*_slow(schedule, scope, block), *others):
        left = [unit for unit in going if unit not in scope.units.spares[number]]
        kept = _libraries(plan, left)
        alone = {plan.spare[index].contender for index in (*scope.dropped, number)}
        if len(left) < len(going) and kept and alone.isdisjoint(libraries - kept):
            return number
    return None


def _slow(schedule: Schedule, scope: Scope, block: int) -> list[int]:
    """Returns the libraries on paths where they are much slower than usual. Those that take most of
    this block come first, as anything else would be left out for their sake."""
    remaining = schedule.remaining(block, scope)
    seconds: dict[int, float] = {}
    for number in sorted(_of_libraries(scope)):
        templates = _templates(scope, [number])
        part = [planned for planned in remaining if planned.template in templates]
        if part and schedule.estimate.is_slow(planned.template for planned in part):
            seconds[number] = schedule.estimate.seconds(part)
    return sorted(seconds, key=seconds.__getitem__, reverse=True)


def _of_libraries(scope: Scope) -> set[int]:
    """Returns the parts that are of a single library: they are left out only where it is slow."""
    spares = enumerate(scope.units.plan.spare)
    return {number for number, spare in spares if spare.contender is not None}


def _templates(scope: Scope, spares: Iterable[int]) -> set[int]:
    return {unit.template for unit in scope.units.of_spares(spares)}


def _libraries(plan: Plan, units: Iterable[Unit]) -> set[int | None]:
    return {plan.launches[unit.template].contender for unit in units} - {None}
