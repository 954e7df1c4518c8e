# SPDX-License-Identifier: Apache-2.0
"""Text about a traced application."""

import statistics
from collections.abc import Callable, Sequence

from nearpeak.machine.tree import format_list
from nearpeak.numbers import count, number, percent, size
from nearpeak.trace.trace import Entry, Rank, Trace, Unblocked

MOST_HOSTS = 3  # hosts that are named
SPAWNS = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")
WAITING = (
    "Times of operations are sums over all ranks. The time of a call includes waiting for the other"
    " rank."
)


def conclusion(trace: Trace) -> str:
    """The run time of the ranks, and the share of MPI."""
    ranks = count(len(trace.ranks), "rank")
    hosts = count(len({rank.host for rank in trace.ranks}), "host")
    share = percent(share_of(trace.mpi_seconds, trace.run_seconds))
    return (
        f"{trace.library}: {ranks} on {hosts}. The run took {number(trace.wall_seconds)} s;"
        f" added up over ranks {number(trace.run_seconds)} s, of these"
        f" {number(trace.mpi_seconds)} s in MPI ({share} %)"
    )


def hosts(ranks: Sequence[Rank]) -> str:
    """`node1, node2 and 6 more hosts`, in the order of the ranks."""
    names = list(dict.fromkeys(rank.host for rank in ranks))
    shown = ", ".join(names[:MOST_HOSTS])
    rest = len(names) - MOST_HOSTS
    return f"{shown} and {count(rest, 'more host')}" if rest > 0 else shown


def label(entry: Entry) -> str:
    """`MPI_Start (MPI_Send_init) 64 KiB, device, same host`; the size is the smallest of its class,
    which ends below twice that, and host memory is not named."""
    name = f"{entry.operation} ({entry.made_by})" if entry.made_by else entry.operation
    sized = "" if entry.size_bytes is None else f" {size(entry.size_bytes)}"
    memory = entry.memory if sized and entry.memory != "host" else ""
    peer = entry.peer if entry.peer != "none" else ""
    return ", ".join(filter(None, [f"{name}{sized}", memory, peer]))


def rest(entries: Sequence[Entry]) -> str:
    """`2 other rows take 0.100 s`; empty without any."""
    seconds = sum(entry.seconds for entry in entries)
    return f"{count(len(entries), 'other row')} take {number(seconds)} s" if entries else ""


def savings(trace: Trace) -> list[str]:
    """The time that messages at their ceilings would save; empty without a study."""
    sentences = []
    if trace.ceilings:
        saved = sum(ceiling.saved_seconds for ceiling in trace.ceilings)
        sentences.append(
            f"If each message with a ceiling took no longer than that, at most {number(saved)} s"
            " would be saved."
        )
    if trace.unblocked:
        outside = sum(rank.own_seconds or 0.0 for rank in trace.ranks)
        sentences.append(_nonblocking_savings(trace.unblocked, outside))
    return sentences


def _nonblocking_savings(unblocked: Unblocked, outside_seconds: float) -> str:
    """`20 messages by calls that do not wait: 0.20 s in these calls ...`."""
    others = (
        f" {count(unblocked.others, 'other operation')} are in that time too."
        if unblocked.others
        else ""
    )
    carried = f"{unblocked.known} of them" if unblocked.known < unblocked.messages else "them"
    longer = unblocked.least_seconds - unblocked.seconds
    if longer <= 0:
        outcome = f"at most {number(unblocked.saved_seconds)} s would be saved."
    elif longer <= outside_seconds:
        outcome = "they went on beside the application's own work."
    else:
        outcome = (
            "this ceiling says nothing of them: it is of one direction at a time and of a buffer"
            " for each message."
        )
    return (
        f"{count(unblocked.messages, 'message')} by calls that do not wait:"
        f" {number(unblocked.seconds)} s in these calls and in waiting for them.{others}"
        f" Without MPI the path carries {carried} in {number(unblocked.least_seconds)} s,"
        f" so {outcome}"
    )


def problems(trace: Trace) -> list[str]:
    """The gaps in a trace, each with a remedy."""
    lines = []
    if trace.exit_status:
        lines.append(
            f"The command ended with exit status {trace.exit_status}: this is what it did before"
        )
    if trace.missing:
        hosts = ", ".join(sorted({rank.host for rank in trace.ranks}))
        lines.append(
            f"No counts of rank{'s' if len(trace.missing) > 1 else ''}"
            f" {format_list(trace.missing)} of {trace.expected}: all that is shown is of"
            f" ranks on {hosts}. Other hosts need the folder that TMPDIR names and Nearpeak's cache"
            " at the same place; where Open MPI's launcher has options -x, add `-x LD_PRELOAD"
            " -x NEARPEAK_TRACE` (docs/how-to/trace.md)"
        )
    singletons = [rank for rank in trace.ranks if rank.world == 1]
    spawned = any(entry.operation in SPAWNS for entry in trace.entries)
    if len(singletons) > 1 and not spawned:  # spawned processes have their own world
        lines.append(_alone(singletons, trace.library))
    if early := sum(not rank.finalized for rank in trace.ranks):
        lines.append(f"{count(early, 'rank')} did not come to MPI_Finalize")
    if lost := sum(rank.lost for rank in trace.ranks):
        lines.append(
            f"{count(lost, 'call')} were not counted: of too many threads, or TMPDIR is full"
        )
    return lines


def _alone(ranks: Sequence[Rank], library: str) -> str:
    launched = max(rank.launched for rank in ranks)
    reason = ": if they belong together, their launcher is another library's"
    if launched > 1:
        reason = f", though the launcher says that it started {launched} ranks: it is not the"
        reason += f" launcher of {library}"
    return f"{len(ranks)} processes ran, each as the only rank of its own MPI_COMM_WORLD{reason}"


def outstanding(ranks: Sequence[Rank]) -> list[str]:
    """The ranks with the most time outside of MPI, the most in MPI, and the most bytes."""
    in_mpi = _most(
        "Longest in MPI is {}: {}.", "In MPI: {} on each rank.", ranks, lambda r: r.mpi_seconds
    )
    lines = [in_mpi]
    if all(rank.own_seconds is not None for rank in ranks):
        most = "Most loaded is {}: outside of MPI {}. Others may have waited for it."
        alike = "Outside of MPI: {} on each rank."
        lines.insert(0, _most(most, alike, ranks, lambda rank: rank.own_seconds or 0.0))
    if any(rank.bytes for rank in ranks):
        most, alike = "Most bytes has {}: {}.", "Bytes: {} on each rank."
        lines.append(_most(most, alike, ranks, lambda rank: rank.bytes, _bytes))
    return lines


def _seconds(value: float) -> str:
    return f"{number(value)} s"


def _bytes(value: float) -> str:
    return f"{value:.0f} B"


def _most(
    most: str,
    alike: str,
    ranks: Sequence[Rank],
    figure: Callable[[Rank], float],
    text: Callable[[float], str] = _seconds,
) -> str:
    """`most` with the rank of the greatest figure and that figure; `alike` with the figure if all
    have the same."""
    figures = list(map(figure, ranks))
    if len({*map(text, figures)}) == 1:
        return alike.format(text(figures[0]))
    first = max(ranks, key=figure)
    median = text(statistics.median(figures))
    return most.format(
        f"rank {first.rank} on {first.host}",
        f"{text(figure(first))}, the median of ranks {median}",
    )


def share_of(part: float, total: float) -> float | None:
    """The fraction of a total; None if the total is 0."""
    return part / total if total > 0 else None
