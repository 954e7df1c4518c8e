# SPDX-License-Identifier: Apache-2.0
"""Endings of launches, cases and trials."""

from typing import Final, Literal

GOOD: Final = "ok"
NOT_TRIED: Final = "not tried"  # for want of a device or its memory: no fault of the library
Status = Literal["ok", "wrong data", "crashed", "hung", "refused", "leaks", "failed", "not tried"]
TOO_SLOW: Final = "aborted: too slow"  # the status of a case that exceeded its budget
Failed = Literal["wrong data", "crashed", "hung", "failed"]  # of a launch
Lost = Literal[Failed, "aborted: too slow"]  # of a case: it counts against the library
NoFigure = Literal[Lost, "skipped"]  # the reason that a case has no figure
CellStatus = Literal[NoFigure, "ok", "above ceiling", "no ceiling"]
Ending = Literal["ok", "crashed", "hung", "wrong data", "failed", "interrupted"]  # of a launch


def failure(status: Ending) -> Failed | None:
    """The failure of a launch; None if it ended well, or was interrupted from outside."""
    return None if status == "ok" or status == "interrupted" else status


def given_up(after: int) -> str:
    """A suffix of the message of a failed launch: the failures after which it was given up.

    Empty for 0.
    """
    return f"; given up after {after} failures in a row without a sample" if after else ""
