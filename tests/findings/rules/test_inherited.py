# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Variables that launches inherited."""

from typing import Any

from nearpeak.terms.identity import Who

NAME = "settings-variables"


def test_their_values_are_those_that_launches_recorded(by_hand: Any) -> None:
    launches = [
        by_hand.make_launch(block, conditions={"env UCX_TLS": value, "env UCX_RNDV_THRESH": "1K"})
        for block, value in enumerate(("tcp", "tcp", "all"))
    ]
    machine = by_hand.diagnosed(NAME, "in whatever words", variables=["UCX_TLS"])
    libraries = [by_hand.library("openmpi")]
    (noticed,) = by_hand.noticed(
        "inherited", launches=launches, machine=machine, libraries=libraries
    )
    found = [(fact.name, fact.value, fact.launches) for fact in noticed.facts]
    assert found == [("UCX_TLS", "all", 1), ("UCX_TLS", "tcp", 2)]
    assert noticed.who is None


def test_what_a_study_sets_itself_is_not_inherited(by_hand: Any) -> None:
    launches = [by_hand.make_launch(0, conditions={"env UCX_TLS": "tcp", "env NCCL_VERSION": "2"})]
    assert not by_hand.noticed("inherited", launches=launches)
    machine = by_hand.diagnosed(NAME, "every launch inherits NCCL_VERSION")
    assert not by_hand.noticed("inherited", launches=launches, machine=machine)


def test_a_variable_counts_where_the_library_may_read_it(by_hand: Any) -> None:
    conditions = {"env NCCL_NVLS_ENABLE": "0", "env UCX_TLS": "tcp"}
    machine = by_hand.diagnosed(
        NAME, "in whatever words", variables=["NCCL_NVLS_ENABLE", "UCX_TLS"]
    )
    known = [
        by_hand.library("openmpi"),
        by_hand.library("nccl"),
        by_hand.library("ceiling", native=True),
    ]

    def found(*names: str) -> list[tuple[str, int]]:
        launches = [
            by_hand.make_launch(block, Who(name), conditions=conditions)
            for name in names
            for block in range(2)
        ]
        noticed = by_hand.noticed("inherited", launches=launches, machine=machine, libraries=known)
        return [(fact.name, fact.launches) for one in noticed for fact in one.facts]

    assert found("openmpi") == [("UCX_TLS", 2)]
    assert found("openmpi", "nccl") == [("NCCL_NVLS_ENABLE", 2), ("UCX_TLS", 4)]
    assert found("ceiling") == []
