# SPDX-License-Identifier: Apache-2.0
"""The operations of each library, tried with each kind of buffers."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from nearpeak.grouping import collected, grouped
from nearpeak.terms.identity import HostDevice, Who
from nearpeak.terms.logs import fault, without_addresses
from nearpeak.terms.outcomes import GOOD, NOT_TRIED, Status
from nearpeak.terms.private import FreeText, Public


class Awareness(msgspec.Struct, kw_only=True, frozen=True):
    """One operation of a library, tried with one kind of buffers before the study, many in one job.
    An operation that ends badly after others is tried again as the only one of a job; that result
    counts."""

    library: FreeText  # its name in the study
    settings: FreeText  # name of its settings
    buffers: Public  # of each rank: `D,D`
    operation: Public  # a benchmark, or an operation that has no benchmark yet (`put`)
    status: Status  # how it ended
    message: FreeText  # the evidence: the signal, the first wrong byte, the last line of output
    command: FreeText  # repeats the trial
    # if it is `ok` alone: a `status`, its end after other operations in one job, which the message
    # names; else empty
    after_others: Literal["", Status] = ""
    # time of the trial, ISO 8601 in UTC; before the study: from the user's cache; empty: not
    # recorded
    tried: Public = ""
    # as of a Place: `none` if the rank with host memory held no GPU in the trial; else empty
    host_device: HostDevice = ""


class Try(msgspec.Struct, kw_only=True, frozen=True):
    """Buffers and an operation, tried together."""

    buffers: str  # of each rank
    operation: str  # as of an Awareness


class Unaware(msgspec.Struct, kw_only=True, frozen=True):
    """Operations that a library cannot do with buffers, whose messages differ only in numbers."""

    who: Who  # the library with its settings
    # `fails`; `after others`: it works as the only operation of a job; `not tried`: no device, or
    # no memory of it
    kind: Literal["fails", "after others", "not tried"]
    tried: list[Try]  # the buffers and operations
    message: str  # of the first one
    host_device: HostDevice = ""  # as of an Awareness


def unaware(trials: Iterable[Awareness]) -> list[Unaware]:
    """Groups failed trials by contender and kind of failure."""
    failed = [trial for trial in trials if trial.status != GOOD or trial.after_others]
    return [*map(_unaware, grouped(failed, _alike).values())]


def _unaware(trials: Sequence[Awareness]) -> Unaware:
    first = trials[0]
    return Unaware(
        who=Who(first.library, first.settings),
        kind=_kind(first),
        tried=[Try(buffers=trial.buffers, operation=trial.operation) for trial in trials],
        message=without_addresses(first.message or first.status),
        host_device=first.host_device,
    )


def _alike(trial: Awareness) -> tuple[str, ...]:
    message = fault(trial.message or trial.status)
    return trial.library, trial.settings, _kind(trial), message, trial.host_device


def _kind(trial: Awareness) -> Literal["fails", "after others", "not tried"]:
    if trial.status == NOT_TRIED:
        return "not tried"
    return "after others" if trial.after_others else "fails"


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
    kinds = collected(cases)
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
