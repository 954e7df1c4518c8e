# SPDX-License-Identifier: Apache-2.0
"""What doctor's checks look at."""

from pathlib import Path

import msgspec

from nearpeak.machine.machine import Machine
from nearpeak.machine.tree import Tree


class Patient(msgspec.Struct, kw_only=True, frozen=True):
    """What the checks look at."""

    tree: Tree
    nvidia: Tree  # what NVIDIA's library says (machine.gpus.nvidia)
    machine: Machine
    ranks: int
    settings_files: list[Path]
    environment: dict[str, str]
