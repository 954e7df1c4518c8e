# SPDX-License-Identifier: Apache-2.0
"""Blocks that are added to a study after its plan was sealed: `--resume --budget`, `--launches`."""

from nearpeak.errors import UserError
from nearpeak.numbers import count
from nearpeak.study.planning import BUDGET_LOOKS
from nearpeak.study.records import AmendmentRecord
from nearpeak.study.state import State
from nearpeak.terms.sizes import format_seconds

CUT_OFF = "it was cut off"  # a study without an end


def amend(
    state: State, ended: str, budget_seconds: float | None, launches: int | None
) -> AmendmentRecord:
    """What is added to a study whose records `state` has read and that ended so ("": was cut off).

    `budget_seconds`: so much time more, for what is not precise yet. `launches`: until each case
    has so many, those that are precise too. With both, until either is reached.

    UserError where the study has as many already.
    """
    if launches is not None and launches <= state.begun_blocks:
        raise UserError(
            f"the study has {count(state.begun_blocks, 'block')} already: add some with "
            f"--launches {state.begun_blocks + 1} or more, or with --budget"
        )
    if launches is not None:
        looks = [launches]
    else:
        known = {*state.looks, *(look for look in BUDGET_LOOKS if look > state.looks[0])}
        looks = sorted(look for look in known if look > state.whole_blocks)
        if not looks:
            raise UserError(f"a study has {BUDGET_LOOKS[-1]} blocks at most: begin another one")
    return AmendmentRecord(
        reason=ended or CUT_OFF, budget_seconds=budget_seconds, looks=looks, every=bool(launches)
    )


def words(made: AmendmentRecord) -> str:
    """What it adds, for people."""
    parts = []
    if made.every:
        parts.append(f"until each case has {count(made.looks[-1], 'launch')}")
    if made.budget_seconds is not None:
        parts.append(f"for {format_seconds(made.budget_seconds)}")
    return " or ".join(parts)
