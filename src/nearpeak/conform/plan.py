# SPDX-License-Identifier: Apache-2.0
"""The cases of a run, in their order."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from nearpeak.conform.conformance import Memory, Operation
from nearpeak.errors import UserError, closest
from nearpeak.launching.describe import Allocator, Description
from nearpeak.terms.buffers import in_gpu
from nearpeak.terms.outcomes import GOOD
from nearpeak.terms.private import FreeText, Public
from nearpeak.terms.trials import (
    CHURN,
    DATA,
    GROW,
    IN_PLACE,
    LEAK,
    PLAIN,
    RANKS,
    Outcome,
    TrialCase,
)

# For operations among more ranks, like collective ones: an odd number, for which algorithms in
# steps of powers of two have a remainder, and a number with two such steps.
MORE_RANKS = (3, 4)
Depth = Literal["quick", "default", "full"]
QUICK_SIZES = [8, 64 << 10, 4 << 20]
# On both sides of the sizes at which libraries change protocols: powers of two from 4 KiB on, minus
# and plus 8 bytes, so that they hold whole elements of every type.
SIZES = [
    8,
    1000,
    *(near for power in (12, 13, 14, 16, 18, 20) for near in ((1 << power) - 8, (1 << power) + 8)),
    (4 << 20) + 8,
]
# With odd sizes, which reductions leave out.
FULL_SIZES = sorted([*SIZES, 1, 999, (64 << 10) + 1, (16 << 20) + 8])
ALIGNED_OFFSET = 8  # of numbers, which need alignment
# After these an operation is not tried again with the same buffers.
FATAL = ("crashed", "hung", "refused", "failed")
ENOUGH = 6  # fatal ends with one kind of memory, if most cases end so
# Every operation is tried with these, between which the code of libraries differs most.
EVERY_OPERATION = ("H,H", "D,D")


class Chosen(msgspec.Struct, kw_only=True, frozen=True):
    """The options of a run, recorded so that --resume continues with them."""

    libraries: list[FreeText] = []  # SPEC or SPEC@SETTINGS; none: every library found
    operations: list[Public] = []  # names, or families; none: all
    buffers: list[Public] = []  # "D,D"; none: all that this machine has
    # where buffers on devices are tried; None: between two GPUs, if it can
    path: FreeText | None = None
    allocators: list[Public] = []  # none: all
    depth: Depth = "default"
    limit_seconds: float = 20.0

    @property
    def sizes(self) -> list[int]:
        """Bytes of the messages whose data is checked in plain memory."""
        return {"quick": QUICK_SIZES, "default": SIZES, "full": FULL_SIZES}[self.depth]


def operations(described: Description, chosen: Chosen) -> list[Operation]:
    """Returns the operations to try, by family; UserError for an unknown one."""
    available = [
        Operation(name=benchmark.name, family=benchmark.family, summary=benchmark.summary)
        for benchmark in described.benchmarks
        if benchmark.ranks.fits(RANKS) and benchmark.over_bytes
    ]
    available += [
        Operation(name=operation.name, family=operation.family, summary=operation.summary)
        for operation in described.operations
    ]
    names = {word for operation in available for word in (operation.name, operation.family)}
    for name in chosen.operations:
        if name not in names:
            raise UserError(f"--operations: unknown {name!r}{closest(name, sorted(names))}")
    wanted = set(chosen.operations) or names
    selected = [operation for operation in available if wanted & {operation.name, operation.family}]
    return sorted(
        selected, key=lambda operation: (not operation.family.startswith("pt2pt"), operation.family)
    )


def memories(described: Description, chosen: Chosen, kinds: Sequence[str]) -> list[Memory]:
    """Returns every allocator of every kind of buffers; UserError for one that provides none of
    them."""
    for name in chosen.allocators:
        fitting = {
            PLAIN,
            *(allocator.name for allocator in described.allocators if _fits(allocator, kinds)),
        }
        if name not in fitting:
            raise UserError(
                f"--allocators: {name!r} gives no buffers {' or '.join(kinds)}"
                f"{closest(name, sorted(fitting))}"
            )
    if chosen.depth == "quick" and not chosen.allocators:
        wanted: Collection[str] = [PLAIN]
    else:
        named = (allocator.name for allocator in described.allocators)
        wanted = chosen.allocators or [PLAIN, *named]
    selected = []
    for kind in kinds:
        selected += [Memory(buffers=kind)] if PLAIN in wanted else []
        selected += [
            Memory(buffers=kind, allocator=allocator.name, summary=allocator.summary)
            for allocator in described.allocators
            if allocator.name in wanted
            and _fits(allocator, [kind])
            and (_alike(kind) or chosen.allocators or chosen.depth == "full")
        ]
    return selected


def cases(
    described: Description,
    chosen: Chosen,
    tried: Sequence[Operation],
    tried_in: Sequence[Memory],
) -> list[TrialCase]:
    """Returns all cases, first those that the others rest on: the data of each operation in plain
    memory.

    Unless operations were chosen, further checks are limited to the operations that studies measure
    by default and to one-sided operations without a benchmark: otherwise a run would take an hour.
    Datatypes have no further checks, as libraries may take a second for one message.
    """
    usual_ones = {
        benchmark.name
        for benchmark in described.benchmarks
        if benchmark.default and benchmark.family != "datatype"
    }
    by_name = {operation.name: operation for operation in described.operations}
    usual_ones |= {name for name, operation in by_name.items() if operation.family == "rma"}
    if chosen.depth == "quick" and not chosen.operations:
        tried = [
            operation for operation in tried if operation.name not in by_name.keys() - usual_ones
        ]
    growing = _growing(tried, usual_ones, chosen)
    among_two, wider = list[TrialCase](), list[TrialCase]()
    for memory, operation in itertools.product(tried_in, tried):
        name = operation.name
        on_devices = name in by_name and by_name[name].on_devices
        if on_devices and not in_gpu(memory.buffers):
            continue
        ways = [case for case in _ways(described, memory, name) if _is_deep(case, chosen, growing)]
        if chosen.depth == "full" or chosen.operations or name in usual_ones:
            among_more = [case for case in ways if is_first(case) or _in_place(case)]
        else:
            every = chosen.buffers or memory.buffers in EVERY_OPERATION or on_devices
            ways = [case for case in ways if every and (is_first(case) or _in_place(case))]
            among_more = [case for case in ways if is_first(case)]
        among_two += ways
        wider += [case for way in among_more for case in _among_more(described, way)]
    threaded = {benchmark.name for benchmark in described.benchmarks if benchmark.threads}
    return sorted(
        among_two + wider,
        key=lambda case: (not is_first(case), case.ranks, case.operation in threaded),
    )


def _growing(tried: Sequence[Operation], usual: Collection[str], chosen: Chosen) -> set[str]:
    """Returns the operations that are tried with growing buffers: the chosen ones, or the first
    usual one of each family, as the operations of a family share a library's caches of
    addresses."""
    if chosen.operations:
        return {operation.name for operation in tried}
    first: dict[str, str] = {}
    for operation in tried:
        if operation.name in usual:
            first.setdefault(operation.family, operation.name)
    return set(first.values())


def _ways(described: Description, memory: Memory, operation: str) -> list[TrialCase]:
    """Returns all cases of an operation in a memory between two ranks."""
    odd = _offset(described, operation)
    ways = list(itertools.product((0, odd), (DATA, CHURN, LEAK)))
    benchmark = next(
        (candidate for candidate in described.benchmarks if candidate.name == operation), None
    )
    if benchmark is None or benchmark.sized:
        ways.append((0, GROW))
    if benchmark is not None and any(axis.name == "inplace" for axis in benchmark.axes):
        ways.append((0, IN_PLACE))
    return [
        TrialCase(memory.buffers, operation, memory.allocator, offset, check)
        for offset, check in ways
    ]


def _is_deep(case: TrialCase, chosen: Chosen, growing: Collection[str]) -> bool:
    """True if a run of this depth includes this case of an operation that is tried in all ways."""
    if chosen.depth == "full" or (case.offset == 0 and case.check == DATA):
        return True
    if chosen.depth == "quick" or case.allocator != PLAIN or not _alike(case.buffers):
        return False
    if case.check == GROW:
        return case.operation in growing
    return case.offset == 0 or case.check == DATA


def _in_place(case: TrialCase) -> bool:
    return case.allocator == PLAIN and case.check == IN_PLACE


def _among_more(described: Description, first: TrialCase) -> list[TrialCase]:
    """Returns the same case among more ranks, if the operation supports them and all buffers are
    alike."""
    if not _alike(first.buffers):
        return []
    rules = [
        benchmark.ranks for benchmark in described.benchmarks if benchmark.name == first.operation
    ]
    fitting = {ranks for ranks, rule in itertools.product(MORE_RANKS, rules) if rule.fits(ranks)}
    return [msgspec.structs.replace(first, ranks=ranks) for ranks in sorted(fitting)]


def sizes_of(case: TrialCase, chosen: Chosen) -> list[int]:
    """Returns the message sizes of a case in bytes: all sizes in plain memory, few in others."""
    if chosen.depth == "default" and not is_first(case):
        return QUICK_SIZES
    return chosen.sizes


def pointless(left: Sequence[TrialCase], ended: Sequence[Outcome]) -> dict[TrialCase, str]:
    """Returns the cases that would very likely end their job too, with the reasons.

    These are cases of an operation that did so in plain memory, and cases in a memory in which most
    operations did; never the first case of an operation, whose behaviour is still unknown.
    """
    plain: dict[tuple[str, str], str] = {}
    bad, good = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for outcome in ended:
        case = outcome.case
        memory = case.buffers, case.allocator
        if GOOD in (outcome.status, outcome.alone):
            good[memory] += 1
        elif outcome.status in FATAL:
            bad[memory] += 1
            if is_first(case):
                plain[case.buffers, case.operation] = outcome.status
    reasons = {}
    for case in itertools.filterfalse(is_first, left):
        operation, memory = (case.buffers, case.operation), (case.buffers, case.allocator)
        if operation in plain:
            reasons[case] = f"{case.operation} {_PAST[plain[operation]]} with plain buffers already"
        elif bad[memory] >= ENOUGH and bad[memory] > good[memory]:
            reasons[case] = f"{bad[memory]} cases have failed with such buffers already"
    return {case: f"{reason}: --full tries it all the same" for case, reason in reasons.items()}


_PAST = {"crashed": "crashed", "hung": "hung", "refused": "was refused", "failed": "failed"}


def is_first(case: TrialCase) -> bool:
    """True for the case that others rest on: data in plain memory, at its allocated address,
    between two ranks."""
    plainest = case.allocator == PLAIN and case.offset == 0 and case.check == DATA
    return plainest and case.ranks == RANKS


def _alike(buffers: str) -> bool:
    return len(set(buffers.split(","))) == 1


def _fits(allocator: Allocator, kinds: Iterable[str]) -> bool:
    return any(allocator.buffers in kind.split(",") for kind in kinds)


def _offset(described: Description, operation: str) -> int:
    """Returns an odd offset; for operations on numbers one that their types allow."""
    for benchmark in described.benchmarks:
        if benchmark.name == operation and (
            not benchmark.sized or any(axis.name == "type" for axis in benchmark.axes)
        ):
            return ALIGNED_OFFSET
    return 1
