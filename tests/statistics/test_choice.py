# SPDX-License-Identifier: Apache-2.0
"""The best of several methods: which counts in a block is not for that block to say."""

from nearpeak.statistics.choice import Choice


def by_block(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def test_one_method_is_the_best_everywhere() -> None:
    choice = Choice({"a": by_block(1.0, 2.0, 3.0)}, "higher")
    assert choice.best == "a"
    assert [choice.winner(block) for block in range(3)] == ["a"] * 3


def test_a_block_has_no_say_in_what_counts_there() -> None:
    values = {"a": by_block(1.0, 1.0, 1.0, 1.0), "b": by_block(9.0, 0.5, 9.0, 0.5)}
    choice = Choice(values, "higher")
    assert choice.best == "b"
    assert [choice.winner(block) for block in range(4)] == ["a", "b", "a", "b"]
    assert choice.winners == ("b", "a")


def test_times_are_best_where_they_are_lowest() -> None:
    choice = Choice({"a": by_block(2.0, 2.0), "b": by_block(3.0, 1.5)}, "lower")
    assert [choice.winner(block) for block in range(2)] == ["b", "a"]


def test_what_few_blocks_have_is_never_the_best() -> None:
    values = {"a": by_block(1.0, 1.0, 1.0, 1.0), "rare": {0: 9.0, 1: 9.0}}
    choice = Choice(values, "higher")
    assert (choice.best, choice.winners) == ("a", ("a", "a"))


def test_the_best_of_all_counts_where_the_halves_have_no_method_in_common() -> None:
    choice = Choice({"a": {0: 1.0}, "b": {1: 2.0}}, "higher")
    assert (choice.best, choice.winners) == ("b", ("b", "b"))
    assert Choice({"a": {5: 1.0}, "b": {5: 2.0}}, "higher").winner(5) == "b"


def test_where_the_one_that_counts_has_no_value_the_next_best_does() -> None:
    """No block is left out that has one."""
    fast = {0: 9.0, 2: 9.0, 3: 9.0, 4: 9.0, 5: 9.0}
    slow = dict.fromkeys(range(6), 5.0)
    slowest = dict.fromkeys(range(6), 1.0)
    choice = Choice({"fast": fast, "slowest": slowest, "slow": slow}, "higher")
    assert [choice.winner_there(block) for block in range(6)] == ["fast", "slow", *["fast"] * 4]
    assert choice.winner(1) == "fast"
