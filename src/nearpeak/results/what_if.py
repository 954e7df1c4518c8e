# SPDX-License-Identifier: Apache-2.0
"""The times of applications with the messages of the other libraries of their study."""

from collections.abc import Iterable, Sequence

from nearpeak.grouping import present
from nearpeak.results.blocks import extremes
from nearpeak.results.prediction import Messages
from nearpeak.results.results import Application, WhatIf
from nearpeak.terms.identity import Who


def add(applications: Sequence[Application], others: Iterable[Who], messages: Messages) -> None:
    """Sets the estimates of each problem whose messages can be predicted with its own library
    too."""
    cells = [problem.cell for problem in applications]
    medians = {(cell.who, cell.place, cell.case): cell.median for cell in cells}
    libraries = list(dict.fromkeys(others))
    for problem in applications:
        cell = problem.cell
        rivals = [who for who in libraries if who != cell.who]
        problem.what_if = present(_with(problem, who, messages) for who in rivals)
        for estimate in problem.what_if:
            estimate.measured = medians.get((estimate.who, cell.place, cell.case))


def _with(problem: Application, who: Who, messages: Messages) -> WhatIf | None:
    cell = problem.cell
    if cell.median is None or problem.work is None or problem.predicted_us is None:
        return None
    exchange = cell.place, cell.case.buffers, problem.work
    other = messages.iteration_us(who, *exchange)
    if other is None:
        return None
    # Of messages that took less than was predicted no more can be saved than they took.
    took = cell.median if problem.messages_us is None else problem.messages_us
    change = other - problem.predicted_us
    if change <= -took:
        return None
    ours, others = messages.by_block(cell.who, *exchange), messages.by_block(who, *exchange)
    values = [cell.median + (others[b] - ours[b]) for b in ours if b in others]
    return WhatIf(who=who, value=cell.median + change, range=extremes(values))
