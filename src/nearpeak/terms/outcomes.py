# SPDX-License-Identifier: Apache-2.0
"""How launches, cases and trials end."""

from typing import Final, Literal

GOOD: Final = "ok"
NOT_TRIED: Final = "not tried"  # for want of a device or its memory: it says nothing of the library
Status = Literal["ok", "wrong data", "crashed", "hung", "refused", "leaks", "failed", "not tried"]
TOO_SLOW = "aborted: too slow"  # the status of a case that was given up for its budget
# How the message of the last failed launch ends, after which a cell is launched no more.
GIVEN_UP = "; given up after"
