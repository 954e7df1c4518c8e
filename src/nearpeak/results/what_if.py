# SPDX-License-Identifier: Apache-2.0
"""What applications would take with the messages of the other libraries of their study."""

from collections.abc import Iterable, Sequence

from nearpeak.results.prediction import Messages
from nearpeak.results.results import Application, WhatIf
from nearpeak.terms.identity import Who


def tell(applications: Sequence[Application], others: Iterable[Who], messages: Messages) -> None:
    """Sets it of each problem whose messages can be predicted with its own library too."""
    cells = [problem.cell for problem in applications]
    medians = {(cell.who, cell.place, cell.case): cell.median for cell in cells}
    known = list(dict.fromkeys(others))
    for problem in applications:
        cell = problem.cell
        for who in known:
            if who != cell.who and (found := _with(problem, who, messages)):
                found.measured = medians.get((who, cell.place, cell.case))
                problem.what_if.append(found)


def _with(problem: Application, who: Who, messages: Messages) -> WhatIf | None:
    cell = problem.cell
    if cell.median is None or problem.work is None or problem.predicted_us is None:
        return None
    asked = cell.place, cell.case.buffers, problem.work
    other = messages.of(who, *asked)
    if other is None:
        return None
    # Of messages that took less than was predicted no more can be saved than they took.
    took = cell.median if problem.messages_us is None else problem.messages_us
    change = other - problem.predicted_us
    if change <= -took:
        return None
    own, others = messages.by_block(cell.who, *asked), messages.by_block(who, *asked)
    changes = [others[block] - own[block] for block in own if block in others]
    span = (cell.median + min(changes), cell.median + max(changes)) if changes else None
    return WhatIf(who=who, value=cell.median + change, range=span)
