# SPDX-License-Identifier: Apache-2.0
"""Instants as files have them."""

from datetime import datetime, timedelta

from nearpeak.clock import now


def test_now_is_utc_to_the_second() -> None:
    at = datetime.fromisoformat(now())
    assert at.utcoffset() == timedelta(0)
    assert at.microsecond == 0
    assert abs(datetime.now(at.tzinfo) - at) < timedelta(minutes=1)
