# SPDX-License-Identifier: Apache-2.0
"""Additions to a study after its plan was sealed: blocks (`--resume --budget`, `--launches`), and
contenders that are measured in them (`--extend`)."""

import math

import msgspec

from nearpeak.errors import UserError
from nearpeak.numbers import count, listed
from nearpeak.planning.make import BUDGET_LOOKS, LOOKS
from nearpeak.planning.plan import Addition, Plan
from nearpeak.planning.summary import measured_lines
from nearpeak.statistics.blocks import blocks_needed
from nearpeak.study.records import AmendmentRecord
from nearpeak.study.schedule import Schedule
from nearpeak.terms.sizes import format_seconds

CUT_OFF = "it was cut off"  # a study without an end


def amend(
    state: Schedule, ended: str, budget_seconds: float | None, launches: int | None
) -> AmendmentRecord:
    """Returns the amendment of a study with this state. `ended`: how it ended, "" if it was cut
    off.

    `budget_seconds`: additional time, for cells that are not precise yet. `launches`: until each
    case has that number, precise ones too. With both, until either is reached.

    UserError if the study has as many already.
    """
    if launches is not None and launches <= state.begun_blocks:
        raise UserError(
            f"the study has {count(state.begun_blocks, 'block')} already: add some with "
            f"--launches {state.begun_blocks + 1} or more, or with --budget"
        )
    if launches is not None:
        looks = [launches]
    else:
        possible = {*state.looks, *(look for look in BUDGET_LOOKS if look > state.looks[0])}
        looks = sorted(look for look in possible if look > state.whole_blocks)
        if not looks:
            raise UserError(f"a study has {BUDGET_LOOKS[-1]} blocks at most: begin another one")
    return AmendmentRecord(
        reason=ended or CUT_OFF,
        budget_seconds=budget_seconds,
        looks=looks,
        every=bool(launches),
        asked=" ".join(["--resume", *_limit_options(budget_seconds, launches)]),
    )


def extend(
    state: Schedule, ended: str, adds: Addition, budget_seconds: float | None, launches: int | None
) -> AmendmentRecord:
    """Returns an amendment as `amend`, with contenders that are measured together with all existing
    ones.

    `launches`: the number of further blocks; `budget_seconds`: the time for them. Without both, as
    many blocks as judge every two contenders, and no fewer than a new study has.
    """
    contenders = len(state.plan.contenders) + len(adds.contenders)
    least = max(LOOKS[0], blocks_needed(math.comb(contenders, 2)))
    blocks = [launches or least]
    if budget_seconds is not None and launches is None:
        blocks = sorted({max(look, least) for look in BUDGET_LOOKS})
    named = [word for contender in adds.contenders for word in ("--mpi", contender.label)]
    return AmendmentRecord(
        reason=ended or CUT_OFF,
        budget_seconds=budget_seconds,
        looks=[state.begun_blocks + number for number in blocks],
        every=True,
        asked=" ".join(["--extend", *named, *_limit_options(budget_seconds, launches)]),
        adds=adds,
    )


def plan_of_new_blocks(plan: Plan, made: AmendmentRecord) -> Plan:
    """Returns the grown plan as one of a study of only its new blocks, for its summary."""
    first = min(launch.since for launch in made.adds.launches)
    return msgspec.structs.replace(
        plan,
        looks=[look - first for look in made.looks],
        budget_seconds=made.budget_seconds,
        trial_seconds=0.0,
        left_out=[],
    )


def remaining_lines(state: Schedule, job_seconds: float | None = None) -> list[str]:
    """Describes a study in a few lines for people: what is measured, and what another session would
    still run. `job_seconds`: the time that this session has; None: unlimited."""
    blocks = state.expected_blocks()
    left = [launches for launches in map(state.remaining, range(blocks)) if launches]
    launches = f"{count(sum(map(len, left)), 'launch')} left in {count(len(left), 'block')}"
    seconds = state.seconds_left(0, blocks)
    estimate = format_seconds(seconds)
    if state.budget_seconds is not None:
        launches = f"about {launches}"
        spare = format_seconds(max(state.budget_seconds - state.seconds, 0.0))
        estimate += f"; {spare} of the budget are left"
    elif len(state.looks) > 1:
        launches = f"at most {launches}, until every cell is precise"
        estimate = f"at most {estimate}"
    if job_seconds is not None and job_seconds < seconds:
        estimate += f", {format_seconds(job_seconds)} in this job"
    return [
        *measured_lines(state.plan),
        f"launches:   {launches}",
        f"estimate:   {estimate}",
    ]


def _limit_options(budget_seconds: float | None, launches: int | None) -> list[str]:
    return [
        *(("--budget", format_seconds(budget_seconds)) if budget_seconds is not None else ()),
        *(("--launches", str(launches)) if launches is not None else ()),
    ]


def describe(made: AmendmentRecord) -> str:
    """Describes an amendment, for people."""
    names = [contender.label for contender in made.adds.contenders]
    added = listed([*names, "blocks"])
    parts = []
    if names and len(made.looks) == 1:
        blocks = made.looks[0] - min(launch.since for launch in made.adds.launches)
        parts.append(f"until each new case has {count(blocks, 'launch')}")
    elif made.every and not names:
        parts.append(f"until each case has {count(made.looks[-1], 'launch')}")
    if made.budget_seconds is not None:
        parts.append(f"for {format_seconds(made.budget_seconds)}")
    return f"{added} {' or '.join(parts)}"
