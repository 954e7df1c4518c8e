# SPDX-License-Identifier: Apache-2.0
"""What time it is, as files say it."""

import datetime


def now() -> str:
    """ISO 8601, UTC, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
