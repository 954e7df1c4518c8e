# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Operations against those that do the same and more."""

from typing import Any

import pytest


@pytest.mark.parametrize(("us", "found"), [(750, 1), (60, 0)])
def test_a_broadcast_slower_than_a_sum_of_as_many_bytes(
    by_hand: Any, us: float, found: int
) -> None:
    cells = [
        by_hand.make_cell("bcast", us, x=by_hand.MIB, buffers="D,D"),
        by_hand.make_cell("allreduce", 50.0, x=by_hand.MIB, buffers="D,D", type="float"),
        by_hand.make_cell("allreduce", 1.0, x=by_hand.MIB, buffers="D,D", library="other"),
        by_hand.make_cell("allreduce", 1.0, x=by_hand.MIB, buffers="H,H"),
    ]
    seen = by_hand.seen("guidelines", cells)
    assert len(seen) == found
    if found:
        assert seen[0].loss.ratio == pytest.approx(15.0, rel=0.05)
        assert seen[0].other.case.benchmark == "allreduce"


@pytest.mark.parametrize(
    ("own", "others", "found"),
    [
        ({"touch": "sender"}, {"touch": "none"}, 0),
        ({"calls": "nonblocking"}, {"calls": "blocking"}, 0),
        ({"touch": "sender"}, {"touch": "sender", "type": "half"}, 1),
    ],
)
def test_only_what_is_done_in_the_same_way_does_the_same(
    by_hand: Any, own: dict[str, str], others: dict[str, str], found: int
) -> None:
    cells = [
        by_hand.make_cell("bcast", 100.0, x=by_hand.MIB, **own),
        by_hand.make_cell("allreduce", 50.0, x=by_hand.MIB, **others),
    ]
    assert len(by_hand.seen("guidelines", cells)) == found
