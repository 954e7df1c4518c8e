# SPDX-License-Identifier: Apache-2.0
"""What a conformance run says, in words that the terminal and the page share."""

from collections import Counter
from collections.abc import Sequence

from nearpeak.conform.model import Conformance, Memory, Operation, Tried
from nearpeak.numbers import count, size
from nearpeak.study.trials import CHURN, GOOD, LEAK, NOT_TRIED, PLAIN, BadEnd, Outcome, Status

# From the worst on: what a table says of several cases.
WORST: tuple[Status, ...] = (
    "crashed",
    "hung",
    "wrong data",
    "refused",
    "failed",
    "leaks",
    GOOD,
    NOT_TRIED,
)
SHORT = {"wrong data": "wrong", NOT_TRIED: "-"}
CHECKS = {CHURN: "64 allocations in turn", LEAK: "memory over many allocations"}


def memory_label(memory: Memory) -> str:
    """`D,D vmm`; the plain allocator is not named."""
    name = memory.buffers if len(set(memory.buffers.split(","))) > 1 else memory.buffers[0]
    return name if memory.allocator == PLAIN else f"{name} {memory.allocator}"


def at(tried: Tried, operation: Operation, memory: Memory) -> list[Outcome]:
    """All cases of an operation in a memory."""
    return [
        one
        for one in tried.outcomes
        if one.case.operation == operation.name
        and (one.case.buffers, one.case.allocator) == (memory.buffers, memory.allocator)
    ]


def worst(outcomes: Sequence[Outcome]) -> str:
    """The status that stands for them; "" where there are none."""
    return min((one.status for one in outcomes), key=WORST.index, default="")


def cell(outcomes: Sequence[Outcome]) -> str:
    """The same, for a narrow column."""
    status = worst(outcomes)
    return SHORT.get(status, status)


def case(outcome: Outcome) -> str:
    """`put, D,D, vmm, offset 1, 64 KiB`."""
    one = outcome.case
    words = [one.operation, one.buffers]
    words += [one.allocator] if one.allocator != PLAIN else []
    words += [f"offset {one.offset}"] if one.offset else []
    words += [CHECKS[one.check]] if one.check in CHECKS else []
    words += [size(outcome.size_bytes)] if outcome.size_bytes is not None else []
    return ", ".join(words)


def evidence(outcome: Outcome) -> str:
    """How it ended, in words; how it does alone where that is another way."""
    alone = f" (alone: {outcome.alone})" if outcome.alone not in (None, outcome.status) else ""
    message = f": {outcome.message}" if outcome.message else ""
    return f"{outcome.status}{alone}{message}"


def finding(outcome: Outcome) -> str:
    """Case and end in one line."""
    return f"{case(outcome)}: {evidence(outcome)}"


def totals(tried: Tried) -> str:
    """`412 ok, 3 crashed`, of all cases of a library."""
    found = Counter(one.status for one in tried.outcomes)
    parts = [f"{found[status]} {status}" for status in reversed(WORST) if found[status]]
    if tried.left:
        parts.append(f"{tried.left} still to be tried")
    return ", ".join(parts + _ends(tried.bad_ends)) or "nothing was tried"


def bad_end(end: BadEnd) -> str:
    """How a job ended that was at no case, in one line."""
    return f"a job after {count(end.cases, 'case')}: {end.status}: {end.message}"


def _ends(ends: Sequence[BadEnd]) -> list[str]:
    return [f"{count(len(ends), 'job')} ended badly after the last case"] if ends else []


def conclusion(conformance: Conformance) -> str:
    """One sentence about all of it."""
    cases = sum(len(one.outcomes) for one in conformance.libraries)
    bad = sum(len(one.bad) for one in conformance.libraries)
    if not conformance.complete:
        return f"{count(cases, 'case')} tried so far, {bad} of them failed; the run is not complete"
    ends = _ends([end for one in conformance.libraries for end in one.bad_ends])
    failed = f"{f'{bad} of them' if bad else 'none'} failed"
    return ", ".join([count(cases, "case"), failed, *ends])
