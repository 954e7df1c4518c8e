# SPDX-License-Identifier: Apache-2.0
"""The current time, as files record it."""

import datetime


def now() -> str:
    """ISO 8601, UTC, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def utc_now() -> str:
    """The time of day as records have it: ISO 8601, UTC, to the millisecond."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
