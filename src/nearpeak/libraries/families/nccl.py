# SPDX-License-Identifier: Apache-2.0
"""NCCL, NVIDIA's library of messages and collective operations between GPUs: no MPI, but what many
programs use in its place."""

from nearpeak.libraries.families import Family

FAMILY = Family(
    name="nccl",
    title="NCCL",
    version_pattern=r"^NCCL (\S+),",  # as nearpeak.libraries.nccl writes it
    mode="nccl",
    scope="NCCL is measured only between ranks of one host that have a GPU each, and only in the "
    "operations that it has.",
    components=("nccl",),
)
