# SPDX-License-Identifier: Apache-2.0
"""What doctor's checks look at, and what they say."""

from pathlib import Path

import msgspec

from nearpeak.machine.machine import Diagnosis, Machine
from nearpeak.machine.tree import Tree


class Patient(msgspec.Struct, kw_only=True, frozen=True):
    """What the checks look at."""

    tree: Tree
    nvidia: Tree  # what NVIDIA's library says (machine.gpus.nvidia)
    machine: Machine
    ranks: int
    settings_files: list[Path]
    environment: dict[str, str]


def bad(check: str, message: str, hint: str) -> Diagnosis:
    """What will spoil a measurement, as a check finds it, and what to do."""
    return Diagnosis(severity="bad", id=check, message=message, hint=hint)


def warn(check: str, message: str, hint: str) -> Diagnosis:
    """What may spoil it."""
    return Diagnosis(severity="warn", id=check, message=message, hint=hint)


def ok(check: str, message: str) -> Diagnosis:
    """That all is well."""
    return Diagnosis(severity="ok", id=check, message=message)
