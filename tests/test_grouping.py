# SPDX-License-Identifier: Apache-2.0
"""Items by what they have in common."""

from nearpeak.grouping import collected, firsts, grouped, present


def test_groups_keep_the_order_of_the_items() -> None:
    groups = grouped(["bc", "a", "de", "f"], len)
    assert list(groups.items()) == [(2, ["bc", "de"]), (1, ["a", "f"])]


def test_the_first_of_each_key() -> None:
    assert list(firsts(["bc", "a", "de", "f"], len).items()) == [(2, "bc"), (1, "a")]


def test_zero_is_present() -> None:
    assert present([0, None, ""]) == [0, ""]


def test_the_second_parts_of_pairs_by_the_first() -> None:
    assert collected([("a", 1), ("b", 2), ("a", 3)]) == {"a": [1, 3], "b": [2]}
