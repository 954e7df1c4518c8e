# SPDX-License-Identifier: Apache-2.0
"""NCCL has no tool that lists its variables; its file holds their names."""

from nearpeak.libraries.library import Library
from nearpeak.libraries.tunables.answer import Answer, names_in


def ask(library: Library) -> Answer:
    """The variables that it reads, without values. CannotIdentify."""
    return names_in(library.libmpi, "NCCL_")
