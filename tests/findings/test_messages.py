# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Which of many messages is told."""

from typing import Any

from nearpeak.terms.identity import Who


def test_of_a_library_on_a_path_the_message_with_the_largest_share_is_told(by_hand: Any) -> None:
    shares = {8: 40.0, 1024: 60.0, 4096: 50.0}
    explanations = [
        by_hand.explained(by_hand.part("wait", "sched_yield", share), size=size)
        for size, share in shares.items()
    ]
    [found] = by_hand.noticed("yields", explanations=explanations)
    assert found.who == Who("one", "default")
    assert found.case is not None
    assert (found.case.x, found.case.buffers, found.case.benchmark) == (1024, "H,D", "latency")
    assert found.place is not None
    assert found.place.path == "host-gpu near"
