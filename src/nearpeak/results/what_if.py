# SPDX-License-Identifier: Apache-2.0
"""What applications would take with the messages of the other libraries of their study."""

from collections.abc import Iterable, Sequence

from nearpeak.results.prediction import Messages
from nearpeak.results.results import Application, WhatIf
from nearpeak.terms.identity import Who


def tell(applications: Sequence[Application], others: Iterable[Who], messages: Messages) -> None:
    """Sets it of each problem whose messages can be predicted with its own library too."""
    cells = {(one.cell.who, one.cell.place, one.cell.case): one.cell for one in applications}
    known = list(dict.fromkeys(others))
    for one in applications:
        cell = one.cell
        for who in known:
            if who != cell.who and (found := _with(one, who, messages)):
                other = cells.get((who, cell.place, cell.case))
                found.measured = other.median if other else None
                one.what_if.append(found)


def _with(one: Application, who: Who, messages: Messages) -> WhatIf | None:
    cell = one.cell
    if cell.median is None or one.work is None or one.predicted_us is None:
        return None
    asked = cell.place, cell.case.buffers, one.work
    other = messages.of(who, *asked)
    if other is None:
        return None
    # Of messages that took less than was predicted no more can be saved than they took.
    took = cell.median if one.messages_us is None else one.messages_us
    change = other - one.predicted_us
    if change <= -took:
        return None
    own, others = messages.by_block(cell.who, *asked), messages.by_block(who, *asked)
    changes = [others[block] - own[block] for block in own if block in others]
    span = (cell.median + min(changes), cell.median + max(changes)) if changes else None
    return WhatIf(who=who, value=cell.median + change, range=span)
