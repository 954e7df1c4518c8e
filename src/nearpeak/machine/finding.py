# SPDX-License-Identifier: Apache-2.0
"""What doctor's checks look at, and what they find."""

from pathlib import Path

import msgspec

from nearpeak.machine.model import Machine
from nearpeak.machine.tree import Tree


class Finding(msgspec.Struct, kw_only=True, frozen=True):
    """One thing looked at. `hint` says what to do; it is empty where all is well."""

    severity: str  # "bad": will spoil it; "warn": may; "ok"
    id: str  # made of words, the same on every machine
    message: str
    hint: str = ""


class Patient(msgspec.Struct, kw_only=True, frozen=True):
    """What the checks look at."""

    tree: Tree
    nvidia: Tree  # what NVIDIA's library says (machine.gpus.nvidia)
    machine: Machine
    ranks: int
    settings_files: list[Path]
    environment: dict[str, str]
