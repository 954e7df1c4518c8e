# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Files with settings that libraries read unasked."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("name", "severity", "count"),
    [("settings-file", "bad", 1), ("settings-file", "ok", 0), ("load", "bad", 0)],
)
def test_what_doctor_found(by_hand: Any, name: str, severity: str, count: int) -> None:
    message = "/home/me/ucx.conf changes UCX's settings"
    machine = by_hand.diagnosed(name, message, severity)
    libraries = [by_hand.library("openmpi")]
    found = by_hand.noticed("settings_files", machine=machine, libraries=libraries)
    assert [fact.value for noticed in found for fact in noticed.facts] == [message] * count


@pytest.mark.parametrize(
    ("prefix", "families"),
    [
        ("NCCL_", {"nccl", "rccl"}),
        ("OMPI_MCA_", {"openmpi"}),
        ("UCX_", {"openmpi", "intel", "nccl", "rccl"}),
        ("", {"openmpi", "intel", "nccl", "rccl"}),  # of a study that did not record it
    ],
)
def test_a_file_counts_where_a_library_may_read_it(
    by_hand: Any, prefix: str, families: set[str]
) -> None:
    machine = by_hand.diagnosed("settings-file", "-", "bad", settings_prefix=prefix)
    known = [by_hand.library(family) for family in ("openmpi", "intel", "nccl", "rccl")]
    found = {
        library.family
        for library in known
        if by_hand.noticed("settings_files", machine=machine, libraries=[library])
    }
    assert found == families
    ceilings = [by_hand.library("ceiling", native=True)]
    anyone = prefix == ""
    assert bool(by_hand.noticed("settings_files", machine=machine, libraries=ceilings)) == anyone
