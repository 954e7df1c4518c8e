# SPDX-License-Identifier: Apache-2.0
"""The operations of each library, tried with each kind of buffers."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from nearpeak.terms.identity import HostDevice, Who
from nearpeak.terms.logs import fault, without_addresses
from nearpeak.terms.outcomes import GOOD, NOT_TRIED, Status


class Awareness(msgspec.Struct, kw_only=True, frozen=True):
    """One operation of a library, tried with one kind of buffers before the study."""

    library: str
    settings: str
    buffers: str  # of each rank: "D,D"
    operation: str  # the name of a benchmark, or "put", which has none yet
    # "failed": it did not start; "not tried": there was no device, or no memory of it. If it ended
    # badly, the status as the only operation of a job.
    status: Status
    message: str  # the evidence
    command: str  # repeats the trial
    # "crashed", ...: the end after other operations in one job, if it is ok alone; the message says
    # which; "" otherwise
    after_others: Literal["", Status] = ""
    tried: str = ""  # time of the trial; earlier than the study: from the user's cache
    # "none": with a rank of host memory that held no GPU; "": each rank held one.
    host_device: HostDevice = ""


class Try(msgspec.Struct, kw_only=True, frozen=True):
    """Buffers and an operation, tried together."""

    buffers: str
    operation: str


class Unaware(msgspec.Struct, kw_only=True, frozen=True):
    """Operations that a library cannot do with buffers, whose messages differ only in numbers."""

    who: Who
    # "after others": it works as the only operation of a job; "not tried" says nothing of a library
    kind: Literal["fails", "after others", "not tried"]
    tried: list[Try]
    message: str  # of the first one
    host_device: HostDevice = ""  # as `Awareness` has it


def unaware(trials: Iterable[Awareness]) -> list[Unaware]:
    """Groups failed trials by contender and kind of failure."""
    alike: dict[tuple[Who, str, str, str], Unaware] = {}
    for trial in trials:
        if trial.status == GOOD and not trial.after_others:
            continue
        not_tried = trial.status == NOT_TRIED
        message = trial.message or trial.status
        lack = Unaware(
            who=Who(trial.library, trial.settings),
            kind="not tried" if not_tried else "after others" if trial.after_others else "fails",
            tried=[],
            message=without_addresses(message),
            host_device=trial.host_device,
        )
        lack = alike.setdefault((lack.who, lack.kind, fault(message), lack.host_device), lack)
        lack.tried.append(Try(buffers=trial.buffers, operation=trial.operation))
    return list(alike.values())


def describe(lack: Unaware) -> str:
    """`mpich: not GPU-aware for D,D put: ended by SIGSEGV`."""
    operations = listed((trial.buffers, trial.operation) for trial in lack.tried)
    if lack.host_device == "none":
        operations += " with a rank that holds no GPU"
    if lack.kind == "not tried":
        kinds = "; ".join(dict.fromkeys(trial.buffers for trial in lack.tried))
        return f"{lack.who.label}: could not be tried with {kinds}: {lack.message}"
    if lack.kind == "after others":
        return f"{lack.who.label}: {operations} works alone, but {lack.message}"
    return f"{lack.who.label}: not GPU-aware for {operations}: {lack.message}"


def listed(cases: Iterable[tuple[str, str]]) -> str:
    """Lists operations by buffers: `D,D latency, bw; H,D put`."""
    kinds: dict[str, list[str]] = {}
    for buffers, operation in cases:
        kinds.setdefault(buffers, []).append(operation)
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
