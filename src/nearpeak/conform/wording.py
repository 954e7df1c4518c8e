# SPDX-License-Identifier: Apache-2.0
"""Text about the cases of a conformance run."""

import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from nearpeak.conform.conformance import Conformance, Memory, Operation, Tried
from nearpeak.grouping import collected, grouped
from nearpeak.numbers import count, listed, size
from nearpeak.terms.logs import fault, without_addresses
from nearpeak.terms.outcomes import GOOD, NOT_TRIED, Status
from nearpeak.terms.trials import CHURN, GROW, IN_PLACE, LEAK, PLAIN, RANKS, BadEnd, Outcome

# The worst first: a table shows the worst status of several cases.
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
LEFT = "still to be tried"
# How cases ended, in a sentence.
ENDED: dict[str, str] = {
    "wrong data": "received wrong data",
    "refused": "ended with an MPI error",
    "failed": "did not start",
    "leaks": "leaked memory",
}
_NAMED = 3  # cases that were not tried, in the conclusion; operations and memories in a headline
_LETTERS = 60  # of a message in a headline
CHECKS = {
    CHURN: "64 allocations in turn",
    LEAK: "memory over many allocations",
    GROW: "buffers that grow",
    IN_PLACE: "in place",
}


def memory_label(memory: Memory) -> str:
    """`D,D vmm`; the plain allocator is not named."""
    name = memory.buffers if len(set(memory.buffers.split(","))) > 1 else memory.buffers[0]
    return name if memory.allocator == PLAIN else f"{name} {memory.allocator}"


def outcomes_in(tried: Tried, operation: Operation, memory: Memory) -> list[Outcome]:
    """All cases of an operation in a memory."""
    return [
        outcome
        for outcome in tried.outcomes
        if outcome.case.operation == operation.name
        and (outcome.case.buffers, outcome.case.allocator) == (memory.buffers, memory.allocator)
    ]


def worst(outcomes: Sequence[Outcome]) -> str:
    """The worst status; "" if there are no outcomes."""
    return min((outcome.status for outcome in outcomes), key=WORST.index, default="")


def cell(outcomes: Sequence[Outcome]) -> str:
    """The worst status for a narrow column: `crashed`; `refused 1/4` if one of four tried was; with
    a star if all of these are ok alone."""
    status = worst(outcomes)
    alone = [outcome.alone == GOOD for outcome in outcomes if outcome.status == status]
    tried = _tried(outcomes)
    star = "*" if alone and all(alone) else ""
    some_of_them = status not in (GOOD, NOT_TRIED) and len(alone) < tried
    portion = f" {len(alone)}/{tried}" if some_of_them else ""
    return f"{SHORT.get(status, status)}{star}{portion}"


def listing(outcomes: Sequence[Outcome]) -> str:
    """Each case with its status, on a line of its own."""
    return "\n".join(f"{case(outcome)}: {_status(outcome)}" for outcome in outcomes)


def case(outcome: Outcome) -> str:
    """`put, D,D, vmm, offset 1, 64 KiB`."""
    trial = outcome.case
    parts = {
        trial.operation: True,
        trial.buffers: True,
        trial.allocator: trial.allocator != PLAIN,
        f"offset {trial.offset}": trial.offset,
        CHECKS.get(trial.check, ""): trial.check in CHECKS,
        f"{trial.ranks} ranks": trial.ranks > RANKS,
        size(outcome.size_bytes or 0): outcome.size_bytes is not None,
    }
    return ", ".join(part for part, differs in parts.items() if differs)


def evidence(outcome: Outcome) -> str:
    """The status of a case with its message, and its status alone if that is another one."""
    return f"{_status(outcome)}: {outcome.message}" if outcome.message else _status(outcome)


def _status(outcome: Outcome) -> str:
    other = outcome.alone not in (None, outcome.status)
    return f"{outcome.status} (alone: {outcome.alone})" if other else outcome.status


def _tried(outcomes: Iterable[Outcome]) -> int:
    return sum(outcome.status != NOT_TRIED for outcome in outcomes)


def _not_tried(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.status == NOT_TRIED]


def _left_out(outcomes: Sequence[Outcome]) -> str:
    """`1 not tried (put, D,D, 8 B: reason)`; only the number if there are many; "" without any."""
    if not 0 < len(outcomes) <= _NAMED:
        return f"{len(outcomes)} not tried" if outcomes else ""
    cases = collected((outcome.message, case(outcome)) for outcome in outcomes)
    details = "; ".join(f"{'; '.join(names)}: {reason}" for reason, names in cases.items())
    return f"{len(outcomes)} not tried ({details})"


def finding(outcome: Outcome) -> str:
    """The case and its evidence in one line."""
    return f"{case(outcome)}: {evidence(outcome)}"


@dataclass(frozen=True)
class Failure:
    """Cases that ended in one way."""

    outcomes: list[Outcome]

    @property
    def evidence(self) -> str:
        """The evidence of the cases, or of the first one if they differ in numbers."""
        first = self.outcomes[0]
        alike = not any(self.own_message(outcome) for outcome in self.outcomes)
        text = evidence(first) if alike else f"{_status(first)}; the first: {first.message}"
        return without_addresses(text)

    @property
    def cases(self) -> str:
        """The cases in one line."""
        return "; ".join(map(case, self.outcomes))

    def own_message(self, outcome: Outcome) -> str:
        """The message of a case if it differs from that of the first one; else ""."""
        message = without_addresses(outcome.message)
        return message if message != without_addresses(self.outcomes[0].message) else ""


def failures(tried: Tried) -> list[Failure]:
    """The failures of a library, those of most cases first."""
    alike = grouped(
        tried.bad, lambda outcome: (outcome.status, outcome.alone, fault(outcome.message))
    )
    return sorted(map(Failure, alike.values()), key=lambda failure: -len(failure.outcomes))


def headline(tried: Tried, failure: Failure) -> str:
    """`12 cases of intel crashed: put, get and 3 more in D and D vmm (ended by SIGSEGV)`."""
    first, cases = failure.outcomes[0], [outcome.case for outcome in failure.outcomes]
    operations = _few([case.operation for case in cases])
    memories = _few(
        [memory_label(Memory(buffers=case.buffers, allocator=case.allocator)) for case in cases]
    )
    message = textwrap.shorten(without_addresses(first.message), _LETTERS, placeholder=" ...")
    return (
        f"{count(len(cases), 'case')} of {tried.label} {ENDED.get(first.status, first.status)}:"
        f" {operations} in {memories}{f' ({message})' if message else ''}"
    )


def _few(names: Iterable[str]) -> str:
    """`put, get and 3 more`, each once."""
    once = list(dict.fromkeys(names))
    rest = len(once) - _NAMED
    return listed([*once[:_NAMED], *([f"{rest} more"] if rest > 0 else [])])


def repeat(conformance: Conformance, tried: Tried, outcome: Outcome) -> str:
    """The command that tries the operation of a case again, in its memory."""
    line = ["nearpeak", "conform", "--mpi", tried.label, "--operations", outcome.case.operation]
    line += ["--buffers", outcome.case.buffers]
    line += ["--allocators", outcome.case.allocator] if outcome.case.allocator != PLAIN else []
    line += ["--path", conformance.path] if conformance.path else []
    line += [f"--{conformance.depth}"] if conformance.depth != "default" else []
    return shlex.join([*line, "-o", outcome.case.operation])


def counts(tried: Tried) -> Counter[str]:
    """The number of cases of a library that ended in each way, and of those that are left."""
    return Counter({LEFT: tried.left}) + Counter(outcome.status for outcome in tried.outcomes)


def totals(tried: Tried) -> str:
    """`412 ok, 3 crashed`, of all cases of a library."""
    ends = counts(tried)
    parts = [f"{ends[way]} {way}" for way in (*reversed(WORST), LEFT) if ends[way]]
    return ", ".join(parts + _ends(tried.bad_ends)) or "nothing was tried"


def bad_end(end: BadEnd) -> str:
    """The bad end of a job after its last case, in one line."""
    return f"a job after {count(end.cases, 'case')}: {end.status}: {end.message}"


def _ends(ends: Sequence[BadEnd]) -> list[str]:
    return [f"{count(len(ends), 'job')} ended badly after the last case"] if ends else []


def conclusion(conformance: Conformance) -> str:
    """One sentence about the whole run."""
    libraries = conformance.libraries
    outcomes = [*chain.from_iterable(library.outcomes for library in libraries)]
    bad = [outcome for outcome in outcomes if outcome.bad]
    good_alone = sum(outcome.alone == GOOD for outcome in bad)
    tried = _tried(outcomes)
    number = f"{len(bad)} of them" if bad else "none"
    failed = f"{number} failed" + f" ({good_alone} ok alone)" * (good_alone > 0)
    if not conformance.complete:
        return f"{count(tried, 'case')} tried so far, {failed}; the run is not complete"
    ends = _ends([*chain.from_iterable(library.bad_ends for library in libraries)])
    parts = [f"{count(tried, 'case')} tried", failed, _left_out(_not_tried(outcomes)), *ends]
    return ", ".join(filter(None, parts))
