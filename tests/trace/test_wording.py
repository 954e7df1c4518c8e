# SPDX-License-Identifier: Apache-2.0
"""What is told of a traced application."""

import sys

import pytest

from nearpeak.trace.wording import hosts, outstanding, problems

made = sys.modules["made_trace"]  # loaded by tests/conftest.py
entry, ran, trace = made.entry, made.ran, made.trace


def test_with_threads_nobody_knows_who_was_loaded() -> None:
    lines = outstanding([ran(0, threads=2), ran(1)])
    assert not any("loaded" in line for line in lines)


def test_hosts_are_named_in_the_order_of_the_ranks() -> None:
    assert hosts([ran(0, host="b"), ran(1, host="b"), ran(2, host="a")]) == "b, a"
    many = [ran(rank, host=f"n{rank}") for rank in range(5)]
    assert hosts(many) == "n0, n1, n2 and 2 more hosts"


def test_what_is_missing_is_told() -> None:
    found = trace(entry(), exit_status=3, expected=5, missing=[1, 2, 4])
    found.ranks[0].finalized = False
    found.ranks[0].lost = 5
    assert problems(found) == [
        "The command ended with exit status 3: this is what it did before",
        "No counts of ranks 1-2,4 of 5: all that is shown is of ranks on here. Other hosts need"
        " the folder that TMPDIR names and Nearpeak's cache at the same place; where Open MPI's"
        " launcher has options -x, add `-x LD_PRELOAD -x NEARPEAK_TRACE` (docs/how-to/trace.md)",
        "1 rank did not come to MPI_Finalize",
        "5 calls were not counted: of too many threads, or TMPDIR is full",
    ]
    assert problems(trace(entry())) == []


def test_ranks_that_are_each_alone_are_told() -> None:
    [line] = problems(trace(entry(), ranks=[ran(), ran()]))
    assert line == (
        "2 processes ran, each as the only rank of its own MPI_COMM_WORLD: if they belong together,"
        " their launcher is another library's"
    )
    [line] = problems(trace(entry(), ranks=[ran(launched=2), ran(launched=2)]))
    assert line.endswith(
        ", though the launcher says that it started 2 ranks: it is not the launcher of mpich 5"
    )


@pytest.mark.parametrize("spawn", ["MPI_Comm_spawn", "MPI_Comm_spawn_multiple"])
def test_ranks_that_others_spawned_have_no_other_launcher(spawn: str) -> None:
    made = entry(spawn, None, peer="none", bytes=0)
    assert problems(trace(entry(), made, ranks=[ran(), ran(), ran()])) == []
