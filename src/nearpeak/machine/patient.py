# SPDX-License-Identifier: Apache-2.0
"""The subject of doctor's checks, and their diagnoses."""

from pathlib import Path

import msgspec

from nearpeak.machine.machine import Diagnosis, Machine
from nearpeak.machine.tree import Tree


class Patient(msgspec.Struct, kw_only=True, frozen=True):
    """The machine, files and environment that the checks examine."""

    tree: Tree
    nvidia: Tree  # facts from NVIDIA's library (machine.gpus.nvidia)
    machine: Machine
    ranks: int
    settings_files: list[Path]
    environment: dict[str, str]


def bad(check: str, message: str, hint: str) -> Diagnosis:
    """A diagnosis that will spoil a measurement, with its remedy."""
    return Diagnosis(severity="bad", id=check, message=message, hint=hint)


def warn(check: str, message: str, hint: str) -> Diagnosis:
    """A diagnosis that may spoil a measurement, with its remedy."""
    return Diagnosis(severity="warn", id=check, message=message, hint=hint)


def ok(check: str, message: str) -> Diagnosis:
    """A diagnosis without a problem."""
    return Diagnosis(severity="ok", id=check, message=message)
