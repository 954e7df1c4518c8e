# SPDX-License-Identifier: Apache-2.0
"""RCCL, AMD's library with the functions of NCCL. Not yet run on a machine with AMD's GPUs."""

from nearpeak.libraries.families import Family

FAMILY = Family(
    name="rccl",
    title="RCCL",
    version_pattern=r"^RCCL (\S+),",
    mode="nccl",
    backend="hip",
    scope="RCCL is measured only between ranks of one host that have a GPU each, and only in the "
    "operations that it has.",
)
