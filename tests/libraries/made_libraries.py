# SPDX-License-Identifier: Apache-2.0
"""Libraries that are nowhere installed, and profiles of them.

Tests import it by its name: `from made_libraries import made_profile` (tests/conftest.py).
"""

from pathlib import Path
from typing import Any

from nearpeak.libraries.library import Library
from nearpeak.libraries.profiles import Evidence, Profile


def made_library(name: str = "made-up", **more: Any) -> Library:
    """Of Open MPI's family where nothing else is said."""
    usual = {
        "family": "openmpi",
        "version": "1.0",
        "version_text": "",
        "abi": "mpich",
        "prefix": Path("/nowhere"),
        "origin": "given",
    }
    return Library(name=name, **{**usual, **more})


def made_evidence(
    case: str = "latency", before: float = 2.0, after: float = 1.0, **more: Any
) -> Evidence:
    """A time in us before and after; an interval of how many times as fast, if `ci95` is given."""
    times = before / after
    usual = {
        "unit": "us",
        "times": times,
        "ci95": [],
        "verdict": "faster" if times > 1 else "slower",
    }
    return Evidence(case=case, before=before, after=after, **{**usual, **more})


def made_profile(**more: Any) -> Profile:
    """Of Open MPI 5.0.11 on `node1`; without variables where none are given."""
    usual = {
        "schema": 1,
        "name": "tuned",
        "family": "openmpi",
        "version": "5.0.11",
        "made": "2026-01-02",
        "host": "node1",
        "cpu": "a CPU",
        "gpus": [],
        "driver": "",
        "path": "host-host",
        "scope": "here",
        "env": {},
    }
    return Profile(**{**usual, **more})
