# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Applications with the messages of another library."""

from typing import Any

from nearpeak.terms.identity import Who

BETA = Who("beta", "fast")


def test_the_difference_of_the_messages_is_added(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, 1000.0)
    made.add(made_applications.TWO, "latency", "latency", 25.0, 8000)
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000, who=BETA)
    (application,) = made.results().applications
    (found,) = application.what_if  # nothing with its own
    assert (found.who, found.value, found.measured) == (BETA, 985.0, None)
    low, high = found.range
    assert low <= found.value <= high


def test_no_more_is_saved_than_messages_took(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, 50.0)  # 30 of them of messages
    made.add(made_applications.TWO, "latency", "latency", 100.0, 8000)
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000, who=BETA)
    assert made.results().applications[0].what_if == []
