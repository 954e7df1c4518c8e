# SPDX-License-Identifier: Apache-2.0
"""What so few blocks can judge."""

from nearpeak.statistics.blocks import blocks_needed, most_families


def test_how_many_sets_of_rows_so_many_blocks_can_judge() -> None:
    # 1 / 2^(n - 1), times the number of sets, stays below 5 %.
    assert [most_families(n) for n in (0, 5, 6, 7, 8, 9)] == [0, 0, 1, 3, 6, 12]
    assert [blocks_needed(n) for n in (1, 2, 3, 6, 10)] == [6, 7, 7, 8, 9]
