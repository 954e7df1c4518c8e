# SPDX-License-Identifier: Apache-2.0
"""Targets for an application, from a trace of it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.numbers import percent
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.trace.ceilings import BUFFERS, kind_of
from nearpeak.trace.measured import measured
from nearpeak.trace.trace import Trace
from nearpeak.tune.targets import Target

MOST = 4  # targets: each makes every trial longer
LEAST = 0.05  # of the time in MPI: the least share of a target


class Chosen(NamedTuple):
    """The targets, the largest first, and the share of each of the time in MPI."""

    shares: dict[Target, float]

    @property
    def targets(self) -> str:
        """The targets as `--for` takes them."""
        return ",".join(target.label for target in self.shares)

    @property
    def summary(self) -> str:
        """A sentence that lists the targets and their shares."""
        parts = [f"{target.label} ({percent(share)} %)" for target, share in self.shares.items()]
        rest = percent(max(0.0, 1 - sum(self.shares.values())))
        return f"Of the time in MPI, by the trace: {', '.join(parts)}; {rest} % in other calls"


def choose(trace: Trace, buffers: str, benchmarks: Sequence[Benchmark]) -> Chosen:
    """Chooses the benchmarks and sizes that take most of the time of an application, for messages
    within a host.

    The time of calls that wait for messages is shared among the messages that were begun, by their
    bytes. UserError if no benchmark measures a call that takes a twentieth of the time in MPI or
    more.
    """
    if buffers not in BUFFERS.values():
        raise UserError(f"--buffers {buffers}: with --trace, give {' or '.join(BUFFERS.values())}")
    seconds: dict[Target, float] = {}
    begun: dict[Target, int] = {}
    waiting = sum(entry.seconds for entry in trace.entries if kind_of(entry) == "about them")
    sent = sum(entry.bytes for entry in trace.entries if kind_of(entry) == "sent")
    for entry, like in measured(trace, benchmarks):
        if like is None or like.buffers != buffers:
            continue
        target = Target(like.benchmark, like.size_bytes)
        seconds[target] = seconds.get(target, 0.0) + entry.seconds
        if kind_of(entry) == "sent":
            begun[target] = begun.get(target, 0) + entry.bytes
    for target, count in begun.items():
        seconds[target] += waiting * count / max(1, sent)
    return Chosen(_largest(seconds, trace.mpi_seconds, buffers))


def _largest(
    seconds: Mapping[Target, float], total_seconds: float, buffers: str
) -> dict[Target, float]:
    shares = (
        {target: time / total_seconds for target, time in seconds.items()}
        if total_seconds > 0
        else {}
    )
    largest = sorted(shares, key=shares.__getitem__, reverse=True)[:MOST]
    chosen = {target: shares[target] for target in largest if shares[target] >= LEAST}
    if not chosen:
        raise UserError(
            f"--trace: no message or collective operation with buffers {buffers} within a host has"
            f" {percent(LEAST)} % of the time in MPI: say by --for what is to be faster"
        )
    return chosen
