# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Operations that failed as device memory could not be shared."""

from typing import Any

import pytest

from nearpeak.terms.awareness import Awareness
from nearpeak.terms.outcomes import Status

WINDOW = """rank 0: MPI returned Other MPI error, error stack:
internal_Win_create(1)...: MPI_Win_create(base=0x7f8e, size=8) failed
MPIDI_GPU_ipc_allgather_open(691): Error returned from GPU API"""


def trial(status: Status, message: str, buffers: str = "D,D", after: Any = "") -> Awareness:
    return Awareness(
        library="intel",
        settings="default",
        buffers=buffers,
        operation="put",
        status=status,
        message=message,
        command="by hand",
        after_others=after,
    )


@pytest.mark.parametrize(
    ("tried", "count"),
    [
        (trial("crashed", WINDOW), 1),
        (trial("ok", f"refused after D,D get: {WINDOW}", after="refused"), 0),  # works alone
        (trial("crashed", "The call to cuIpcOpenMemHandle failed."), 1),
        (trial("ok", WINDOW), 0),
        (trial("not tried", "no IPC on this machine"), 0),
        (trial("crashed", WINDOW, buffers="H,H"), 0),
        (trial("crashed", "ended by SIGSEGV: in a recipe"), 0),  # "recipe" is no handle
    ],
)
def test_what_names_the_handles(by_hand: Any, tried: Awareness, count: int) -> None:
    found = by_hand.noticed("ipc", awareness=[tried])
    assert [(noticed.who.library, noticed.command) for noticed in found] == [
        ("intel", "by hand")
    ] * count


def test_the_last_line_that_names_them_is_told(by_hand: Any) -> None:
    (noticed,) = by_hand.noticed("ipc", awareness=[trial("crashed", WINDOW)])
    (fact,) = noticed.facts
    assert fact.name == "D,D put"
    assert fact.value == "MPIDI_GPU_ipc_allgather_open(691): Error returned from GPU API"
