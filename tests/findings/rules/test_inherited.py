# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Variables that launches inherited."""

from typing import Any

NAME = "settings-variables"


def test_their_values_are_those_that_launches_recorded(by_hand: Any) -> None:
    launches = [
        by_hand.make_launch(block, conditions={"env UCX_TLS": value, "env UCX_RNDV_THRESH": "1K"})
        for block, value in enumerate(("tcp", "tcp", "all"))
    ]
    machine = by_hand.diagnosed(NAME, "in whatever words", variables=["UCX_TLS"])
    (noticed,) = by_hand.noticed("inherited", launches=launches, machine=machine)
    found = [(fact.name, fact.value, fact.launches) for fact in noticed.facts]
    assert found == [("UCX_TLS", "all", 1), ("UCX_TLS", "tcp", 2)]
    assert noticed.who is None


def test_what_a_study_sets_itself_is_not_inherited(by_hand: Any) -> None:
    launches = [by_hand.make_launch(0, conditions={"env UCX_TLS": "tcp", "env NCCL_VERSION": "2"})]
    assert not by_hand.noticed("inherited", launches=launches)
    machine = by_hand.diagnosed(NAME, "every launch inherits NCCL_VERSION")
    assert not by_hand.noticed("inherited", launches=launches, machine=machine)
