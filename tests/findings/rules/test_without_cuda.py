# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""A library that does not know of device memory, over a transport that does."""

from typing import Any

import msgspec
import pytest

from nearpeak.terms.awareness import Awareness
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.outcomes import Status


def trial(operation: str, status: Status, message: str = "", buffers: str = "D,D") -> Awareness:
    return Awareness(
        library="openmpi",
        settings="default",
        buffers=buffers,
        operation=operation,
        status=status,
        message=message,
        command="by hand",
    )


FAULT = "ended by SIGSEGV: Segmentation fault"


@pytest.mark.parametrize(
    ("messages", "other", "count"),
    [
        (trial("latency", "ok"), trial("allreduce", "crashed", FAULT), 1),
        (trial("latency", "ok"), trial("allreduce", "ok"), 0),
        (trial("latency", "crashed", FAULT), trial("allreduce", "crashed", FAULT), 0),  # nothing is
        (trial("latency", "ok"), trial("put", "crashed", "exit status 15: IPC"), 0),  # another end
        (trial("latency", "ok"), trial("allreduce", "crashed", FAULT, "H,H"), 0),
        (trial("put", "ok"), trial("allreduce", "crashed", FAULT), 0),  # no messages were tried
    ],
)
def test_messages_work_and_other_operations_do_not(
    by_hand: Any, messages: Awareness, other: Awareness, count: int
) -> None:
    found = by_hand.noticed("without_cuda", awareness=[messages, other])
    facts = [(fact.name, fact.value) for noticed in found for fact in noticed.facts]
    assert facts == [("D,D allreduce", FAULT)] * count


def test_what_was_left_out_at_the_start_is_no_sign(by_hand: Any) -> None:
    tried = [trial("latency", "ok"), trial("allreduce", "crashed", FAULT)]
    left = LeftOut(
        kind="family", name="collective", why="", benchmarks=["allreduce"], budget_seconds=60.0
    )
    assert by_hand.noticed("without_cuda", awareness=tried, left_out=[left]) == []
    later = msgspec.structs.replace(left, after_blocks=2)
    assert by_hand.noticed("without_cuda", awareness=tried, left_out=[later])
