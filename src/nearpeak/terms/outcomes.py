# SPDX-License-Identifier: Apache-2.0
"""How launches, cases and trials end."""

from typing import Final, Literal

GOOD: Final = "ok"
NOT_TRIED: Final = "not tried"  # for want of a device or its memory: it says nothing of the library
Status = Literal["ok", "wrong data", "crashed", "hung", "refused", "leaks", "failed", "not tried"]
TOO_SLOW: Final = "aborted: too slow"  # the status of a case that was given up for its budget
Failed = Literal["wrong data", "crashed", "hung", "failed"]  # of a launch
Lost = Literal[Failed, "aborted: too slow"]  # of a case: what counts against a library
NoFigure = Literal[Lost, "skipped"]  # why a case has no figure
CellStatus = Literal[NoFigure, "ok", "above ceiling", "no ceiling"]
Ending = Literal["ok", "crashed", "hung", "wrong data", "failed", "interrupted"]  # of a launch


def failure(status: Ending) -> Failed | None:
    """How a launch failed; None: it ended well, or was interrupted from outside."""
    return None if status == "ok" or status == "interrupted" else status


def given_up(after: int) -> str:
    """Behind the message of a failed launch: after how many of them nothing like it was launched
    any more; empty for 0."""
    return f"; given up after {after} failures in a row without a sample" if after else ""
