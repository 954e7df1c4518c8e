# SPDX-License-Identifier: Apache-2.0
"""Ranks 0 and 2 share a device of which the contexts take turns: rank 0 moves for both."""

import re
from typing import Any

import pytest

MOVED = re.compile(
    r"rank (\d): .*; (\d+) copies for others of the GPU, (\d+) by another,"
    r" (\d+) that it came too late for"
)


def run(application: Any, *cases: str, **env: str) -> Any:
    return application.run(*cases, ranks=3, env={"NEARPEAK_LAYER_REPORT": "1", **env})


def counts(done: Any) -> dict[int, tuple[int, int, int]]:
    """Of each rank that has some: served, moved by another, taken back."""
    return {int(rank): (int(a), int(b), int(c)) for rank, a, b, c in MOVED.findall(done.err)}


def test_one_moves_for_both(application: Any) -> None:
    patience = {"NEARPEAK_LAYER_MOVER_PATIENCE": "300000"}  # of a CPU that ranks share
    done = run(application, "turns", "left_behind", **patience)
    assert done.good() == ["turns", "left_behind"], done.err
    assert done.code == 0
    found = counts(done)
    assert set(found) == {0, 2}
    assert found[0][0] == found[2][1] > 40, done.err
    assert found[0][1:] == (0, 0)


@pytest.mark.parametrize("application", ["mpich"], indirect=True)
class TestAlone:
    def test_orders_are_taken_back(self, application: Any) -> None:
        done = run(application, "turns", NEARPEAK_LAYER_MOVER_PATIENCE="0")
        assert done.good() == ["turns"], done.err
        served, taken_back = counts(done)[2][1:]
        assert taken_back > 0
        # It asks less often then.
        assert served + taken_back < 200

    def test_nobody_moves_for_others(self, application: Any) -> None:
        off = run(application, "turns", NEARPEAK_LAYER_MOVER="off")
        at_once = application.run(
            "turns", ranks=3, fake="mps=1", env={"NEARPEAK_LAYER_REPORT": "1"}
        )
        assert off.good() == at_once.good() == ["turns"], off.err + at_once.err
        assert counts(off) == counts(at_once) == {}

    def test_a_rank_that_is_killed(self, application: Any) -> None:
        assert run(application, "killed").code != 0

    def test_the_mover_is_killed_while_it_copies(self, application: Any) -> None:
        still_there = ("sh", "-c", '"$@"; sleep 1', "sh")  # so that the launcher ends nobody
        done = application.run(
            "turns",
            "abandoned",
            ranks=3,
            before=still_there,
            env={"NEARPEAK_LAYER_MOVER_PATIENCE": "300000"},
        )
        assert done.good() == ["turns", "abandoned"], done.err
