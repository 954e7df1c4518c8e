# SPDX-License-Identifier: Apache-2.0
"""Text about a traced application that the terminal and the page share."""

import statistics
from collections.abc import Callable, Sequence

from nearpeak.numbers import count, number, percent, size
from nearpeak.trace.trace import Entry, Rank, Trace, Unblocked

MOST_HOSTS = 3  # hosts that are named
SPAWNS = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")
WAITING = (
    "Times of operations are sums over all ranks. The time of a call includes waiting for the other"
    " rank."
)


def summary(trace: Trace) -> str:
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


def name(entry: Entry) -> str:
    """`MPI_Start (MPI_Send_init)`."""
    return f"{entry.operation} ({entry.made_by})" if entry.made_by else entry.operation


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


def rate(entry: Entry) -> float | None:
    """The rate of its bytes in GB/s; None if its calls only begin the transfer, or move nothing."""
    if entry.begins or not entry.bytes or not entry.seconds:
        return None
    return entry.bytes / entry.seconds / 1e9


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
            f"The command ended with exit status {trace.exit_status}: below is what it did before"
        )
    if trace.missing:
        hosts = ", ".join(sorted({rank.host for rank in trace.ranks}))
        lines.append(
            f"No counts of {_numbers(trace.missing)} of {trace.expected}: all that is shown is of"
            f" ranks on {hosts}. Other hosts need the folder that TMPDIR names and Nearpeak's cache"
            " at the same place; where Open MPI's launcher has options -x, add `-x LD_PRELOAD"
            " -x NEARPEAK_TRACE` (docs/trace.md)"
        )
    singletons = [rank for rank in trace.ranks if rank.world == 1]
    spawned = any(entry.operation in SPAWNS for entry in trace.entries)
    if len(singletons) > 1 and not spawned:  # spawned processes have their own world
        launched = max(rank.launched for rank in singletons)
        lines.append(
            f"{len(singletons)} processes ran, each as the only rank of its own MPI_COMM_WORLD"
            + (
                f", though the launcher says that it started {launched} ranks: it is not the"
                f" launcher of {trace.library}"
                if launched > 1
                else ": if they belong together, their launcher is another library's"
            )
        )
    if early := sum(not rank.finalized for rank in trace.ranks):
        lines.append(f"{count(early, 'rank')} did not come to MPI_Finalize")
    if lost := sum(rank.lost for rank in trace.ranks):
        lines.append(
            f"{count(lost, 'call')} were not counted: of too many threads, or TMPDIR is full"
        )
    return lines


def _numbers(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 0, 2 to 5`."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(texts)}"


def outstanding(ranks: Sequence[Rank]) -> list[str]:
    """The ranks with the most time outside of MPI, the most in MPI, and the most bytes."""
    lines = []
    if all(rank.own_seconds is not None for rank in ranks):
        most = _most(ranks, lambda rank: rank.own_seconds or 0.0, _seconds)
        lines.append(
            f"Most loaded is {most[0]}: outside of MPI {most[1]}. Others may have waited for it."
            if most
            else f"Outside of MPI: {_seconds(ranks[0].own_seconds or 0.0)} on each rank."
        )
    most = _most(ranks, lambda rank: rank.mpi_seconds, _seconds)
    lines.append(
        f"Longest in MPI is {most[0]}: {most[1]}."
        if most
        else f"In MPI: {_seconds(ranks[0].mpi_seconds)} on each rank."
    )
    if any(rank.bytes for rank in ranks):
        most = _most(ranks, lambda rank: rank.bytes, _bytes)
        lines.append(
            f"Most bytes has {most[0]}: {most[1]}."
            if most
            else f"Bytes: {_bytes(ranks[0].bytes)} on each rank."
        )
    return lines


def _most(
    ranks: Sequence[Rank], figure: Callable[[Rank], float], text: Callable[[float], str]
) -> tuple[str, str] | None:
    """The rank with the greatest figure, and that figure; None if all have the same."""
    if len({text(figure(rank)) for rank in ranks}) == 1:
        return None
    first = max(ranks, key=figure)
    middle = statistics.median(figure(rank) for rank in ranks)
    return (
        f"rank {first.rank} on {first.host}",
        f"{text(figure(first))}, the median of ranks {text(middle)}",
    )


def _seconds(value: float) -> str:
    return f"{number(value)} s"


def _bytes(value: float) -> str:
    return f"{value:.0f} B"


def share_of(part: float, total: float) -> float | None:
    """The fraction of a total; None if the total is 0."""
    return part / total if total > 0 else None


def size_class(smallest: int | None) -> str:
    """`8 B`: from 8 to 15 bytes; `4 KiB`: up to below 8 KiB."""
    return "" if smallest is None else size(smallest)
