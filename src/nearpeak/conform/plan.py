# SPDX-License-Identifier: Apache-2.0
"""The cases of a run, in their order."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from nearpeak.conform.conformance import Memory, Operation
from nearpeak.errors import UserError, closest
from nearpeak.grouping import firsts
from nearpeak.launching.describe import Allocator, Description
from nearpeak.launching.describe import Operation as Described
from nearpeak.terms.benchmarks import Benchmark, by_name
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
    benchmarks = [
        benchmark
        for benchmark in described.benchmarks
        if benchmark.ranks.fits(RANKS) and benchmark.over_bytes
    ]
    described_operations: list[Benchmark | Described] = [*benchmarks, *described.operations]
    available = [
        Operation(name=operation.name, family=operation.family, summary=operation.summary)
        for operation in described_operations
    ]
    names = {name for operation in available for name in (operation.name, operation.family)}
    if unknown := [name for name in chosen.operations if name not in names]:
        raise UserError(f"--operations: unknown {unknown[0]!r}{closest(unknown[0], sorted(names))}")
    wanted = set(chosen.operations) or names
    return sorted(
        (operation for operation in available if wanted & {operation.name, operation.family}),
        key=lambda operation: (not operation.family.startswith("pt2pt"), operation.family),
    )


def memories(described: Description, chosen: Chosen, kinds: Sequence[str]) -> list[Memory]:
    """Returns every allocator of every kind of buffers; UserError for one that provides none of
    them."""
    offered = {allocator.name for allocator in _offered(described, kinds)}
    if unknown := [name for name in chosen.allocators if name not in offered]:
        raise UserError(
            f"--allocators: {unknown[0]!r} gives no buffers {' or '.join(kinds)}"
            f"{closest(unknown[0], sorted(offered))}"
        )
    # For buffers that are alike, and for others.
    usual = {"quick": ({PLAIN}, {PLAIN}), "default": (offered, {PLAIN}), "full": (offered, offered)}
    alike, unlike = [{*chosen.allocators} or wanted for wanted in usual[chosen.depth]]
    return [
        Memory(buffers=kind, allocator=allocator.name, summary=allocator.summary)
        for kind in kinds
        for allocator in _offered(described, [kind])
        if allocator.name in (alike if _alike(kind) else unlike)
    ]


def _offered(described: Description, kinds: Iterable[str]) -> list[Allocator]:
    """The plain allocator, and those that provide buffers of some of these kinds."""
    letters = {letter for kind in kinds for letter in kind.split(",")}
    further = [allocator for allocator in described.allocators if allocator.buffers in letters]
    return [Allocator(name=PLAIN, buffers=""), *further]


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
    one_sided = {operation.name for operation in described.operations if operation.family == "rma"}
    on_devices = {operation.name for operation in described.operations if operation.on_devices}
    usual_ones |= one_sided
    if chosen.depth == "quick" and not chosen.operations:
        unusual = {operation.name for operation in described.operations} - usual_ones
        tried = [operation for operation in tried if operation.name not in unusual]
    growing = _growing(tried, usual_ones, chosen)
    among_two, wider = list[TrialCase](), list[TrialCase]()
    for memory, operation in itertools.product(tried_in, tried):
        name = operation.name
        if name in on_devices and not in_gpu(memory.buffers):
            continue
        ways = [case for case in _ways(described, memory, name) if _is_deep(case, chosen, growing)]
        plainest = [case for case in ways if is_first(case) or _in_place(case)]
        if chosen.depth == "full" or chosen.operations or name in usual_ones:
            among_more = plainest
        elif chosen.buffers or memory.buffers in EVERY_OPERATION or name in on_devices:
            ways, among_more = plainest, [*filter(is_first, ways)]
        else:
            continue
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
    usual_ones = [operation for operation in tried if operation.name in usual]
    by_family = firsts(usual_ones, lambda operation: operation.family)
    return {operation.name for operation in by_family.values()}


def _ways(described: Description, memory: Memory, operation: str) -> list[TrialCase]:
    """Returns all cases of an operation in a memory between two ranks."""
    benchmark = by_name(described.benchmarks).get(operation)
    axes = {axis.name for axis in benchmark.axes} if benchmark else set[str]()
    sized = benchmark is None or benchmark.sized
    # Odd; for operations on numbers one that their types allow.
    offset = 1 if sized and "type" not in axes else ALIGNED_OFFSET
    ways = list(itertools.product((0, offset), (DATA, CHURN, LEAK)))
    ways += [(0, GROW)] * sized + [(0, IN_PLACE)] * ("inplace" in axes)
    return [
        TrialCase(memory.buffers, operation, memory.allocator, offset, check)
        for offset, check in ways
    ]


def _is_deep(case: TrialCase, chosen: Chosen, growing: Collection[str]) -> bool:
    """True if a run of this depth includes this case of an operation that is tried in all ways."""
    differs = (case.offset != 0) + (case.check != DATA)
    if chosen.depth == "full" or not differs:
        return True
    plain = case.allocator == PLAIN and _alike(case.buffers)
    if chosen.depth == "quick" or not plain:
        return False
    return case.operation in growing if case.check == GROW else differs == 1


def _in_place(case: TrialCase) -> bool:
    return case.allocator == PLAIN and case.check == IN_PLACE


def _among_more(described: Description, first: TrialCase) -> list[TrialCase]:
    """Returns the same case among more ranks, if the operation supports them and all buffers are
    alike."""
    benchmark = by_name(described.benchmarks).get(first.operation)
    if benchmark is None or not _alike(first.buffers):
        return []
    fitting = filter(benchmark.ranks.fits, MORE_RANKS)
    return [msgspec.structs.replace(first, ranks=ranks) for ranks in fitting]


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
    good = [outcome.case for outcome in ended if GOOD in (outcome.status, outcome.alone)]
    bad = {
        outcome.case: outcome.status
        for outcome in ended
        if outcome.status in FATAL and outcome.alone != GOOD
    }
    plain = {(case.buffers, case.operation): bad[case] for case in filter(is_first, bad)}
    good_in, bad_in = Counter(map(_memory, good)), Counter(map(_memory, bad))
    reasons = {}
    for case in itertools.filterfalse(is_first, left):
        operation, memory = (case.buffers, case.operation), _memory(case)
        if operation in plain:
            reasons[case] = f"{case.operation} {_PAST[plain[operation]]} with plain buffers already"
        elif bad_in[memory] >= max(ENOUGH, good_in[memory] + 1):
            reasons[case] = f"{bad_in[memory]} cases have failed with such buffers already"
    return {case: f"{reason}: --full tries it all the same" for case, reason in reasons.items()}


def _memory(case: TrialCase) -> tuple[str, str]:
    return case.buffers, case.allocator


_PAST = {"crashed": "crashed", "hung": "hung", "refused": "was refused", "failed": "failed"}


def is_first(case: TrialCase) -> bool:
    """True for the case that others rest on: data in plain memory, at its allocated address,
    between two ranks."""
    plainest = case.allocator == PLAIN and case.offset == 0 and case.check == DATA
    return plainest and case.ranks == RANKS


def _alike(buffers: str) -> bool:
    return len(set(buffers.split(","))) == 1
