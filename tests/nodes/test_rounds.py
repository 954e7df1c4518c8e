# SPDX-License-Identifier: Apache-2.0
"""Rounds: every pair once, and no node twice in a round."""

import itertools
import sys

import numpy as np
import pytest

from nearpeak.nodes import plan
from nearpeak.nodes.rounds import Round, again, alone, circle, lines, shuffled

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


def every(rounds: list[Round]) -> list[tuple[int, int]]:
    found = [(int(one), int(other)) for pairs in rounds for one, other in pairs]
    assert all(one < other for one, other in found)
    return found


def check_disjoint(rounds: list[Round]) -> None:
    for pairs in rounds:
        assert len(np.unique(pairs)) == pairs.size


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9, 64, 101])
def test_every_pair_once_in_as_few_rounds_as_can_be(count: int) -> None:
    rounds = list(circle(count))
    check_disjoint(rounds)
    assert sorted(every(rounds)) == list(itertools.combinations(range(count), 2))
    assert len(rounds) == count - 1 + count % 2
    assert {len(pairs) for pairs in rounds} == {count // 2}  # of an odd number one node rests


def test_an_odd_number_rests_each_node_once() -> None:
    resting = [set(range(7)) - set(pairs.reshape(-1).tolist()) for pairs in circle(7)]
    assert sorted(node for nodes in resting for node in nodes) == list(range(7))


def test_shuffled_rounds_are_the_same_pairs_in_another_order() -> None:
    rounds = shuffled(12, None, np.random.default_rng(1))
    check_disjoint(rounds)
    assert sorted(every(rounds)) == list(itertools.combinations(range(12), 2))
    assert every(rounds) != every(list(circle(12)))
    assert every(shuffled(12, None, np.random.default_rng(1))) == every(rounds)
    assert len(shuffled(12, 4, np.random.default_rng(1))) == 4
    assert [len(pairs) for pairs in alone(rounds)] == [1] * 66


def test_suspects_once_and_no_node_idle() -> None:
    suspects = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [4, 9]])
    rounds = again(20, suspects, 6, np.random.default_rng(2))
    check_disjoint(rounds)
    assert len(rounds) == 6
    measured = every(rounds)
    for pair in map(tuple, suspects.tolist()):
        assert measured.count(pair) == 1
    assert all(len(pairs) >= 8 for pairs in rounds)
    more = again(20, suspects, 1, np.random.default_rng(2))
    assert len(more) >= 3  # node 0 has three of them
    check_disjoint(more)


def test_no_suspects_are_rounds_by_chance() -> None:
    rounds = again(6, np.empty((0, 2), dtype=np.intp), 3, np.random.default_rng(3))
    assert [len(pairs) for pairs in rounds] == [3, 3, 3]


def test_the_file_that_the_program_reads() -> None:
    assert list(lines([np.array([[0, 3], [1, 2]]), np.array([[2, 10]])])) == ["0-3 1-2", "2-10"]


def test_free_nodes_meet_within_their_group_in_every_other_round() -> None:
    labels = np.arange(32) // 4
    chance = np.random.default_rng(1)
    rounds = again(32, np.array([[0, 9]]), 6, chance, labels)
    within = [int((labels[pairs[:, 0]] == labels[pairs[:, 1]]).sum()) for pairs in rounds]
    assert min(within[1::2]) >= 14
    assert max(within[::2]) < 8
    assert all(len(np.unique(pairs)) == 32 for pairs in rounds)


def rounds_of_survey(count: int, **more: object) -> int:
    first = plan.planned(made.chosen(count, **more))[0]
    assert first.stage == "survey"
    return int(first.together)


def test_a_survey_has_all_pairs_as_far_as_they_can_be_judged() -> None:
    assert rounds_of_survey(4096) == 4095
    assert rounds_of_survey(1448, **made.rails(8)) == 1447
    assert rounds_of_survey(1450, **made.rails(8)) == plan.MOST_VALUES // (725 * 8) < 1449
    assert rounds_of_survey(4096, **made.rails(8)) == 512
    assert rounds_of_survey(4096, **made.rails(8), rounds=4095) == 4095
    [covers] = [
        line for line in plan.summary(made.chosen(4096, **made.rails(8))) if "covers" in line
    ]
    assert covers.endswith(
        "(12.5 %): links of the others are not tested; --rounds 4095 measures all"
    )
