# SPDX-License-Identifier: Apache-2.0
"""What a library can do with which buffers, as it was tried."""

from collections.abc import Iterable

import msgspec

from nearpeak.terms.identity import Who
from nearpeak.terms.logs import fault, without_addresses
from nearpeak.terms.outcomes import GOOD, NOT_TRIED


class Awareness(msgspec.Struct, kw_only=True, frozen=True):
    """One operation of a library, tried with one kind of buffers before the study."""

    library: str
    settings: str
    buffers: str  # of each rank: "D,D"
    operation: str  # a benchmark's name, or what has no benchmark yet: "put"
    # "ok", "crashed", "hung", "wrong data", "refused", "failed" (did not start), or "not tried"
    # (there was no device, or no memory of it). As the only operation of a job, if it is not well.
    status: str
    message: str  # the evidence
    command: str  # repeats the trial
    # "crashed", ...: how it ended behind other operations in one job, where it is ok alone; the
    # message says which; "": not so
    after_others: str = ""
    tried: str = ""  # when: before the study that has it, it is from the user's cache


def sentences(found: Iterable[Awareness]) -> list[str]:
    """One for each contender and way to fail: what it cannot do, and how that was first seen."""
    told: dict[tuple[str, str, bool, bool], list[Awareness]] = {}
    for one in found:
        if one.status != GOOD or one.after_others:
            who = Who(one.library, one.settings).label
            key = (
                who,
                fault(one.message or one.status),
                one.status == NOT_TRIED,
                bool(one.after_others),
            )
            told.setdefault(key, []).append(one)
    lines = []
    for (who, _, not_tried, after_others), tried in told.items():
        evidence = without_addresses(tried[0].message or tried[0].status)
        operations = listed((one.buffers, one.operation) for one in tried)
        if not_tried:
            kinds = "; ".join(dict.fromkeys(one.buffers for one in tried))
            lines.append(f"{who}: could not be tried with {kinds}: {evidence}")
        elif after_others:
            lines.append(f"{who}: {operations} works alone, but {evidence}")
        else:
            lines.append(f"{who}: not GPU-aware for {operations}: {evidence}")
    return lines


def listed(cases: Iterable[tuple[str, str]]) -> str:
    """Of buffers and operations: `D,D latency, bw; H,D put`."""
    kinds: dict[str, list[str]] = {}
    for buffers, operation in cases:
        kinds.setdefault(buffers, []).append(operation)
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
