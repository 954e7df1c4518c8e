# SPDX-License-Identifier: Apache-2.0
"""Cray MPICH, by the MPICH ABI library that it brings.

Not yet run: its version text and settings are from memory.
"""

from nearpeak.libraries.families import Family
from nearpeak.libraries.library import Settings

FAMILY = Family(
    name="cray",
    title="Cray MPICH",
    version_pattern=r"CRAY MPICH version (\S+)",
    abi="mpich",
    header_mark="MPICH_NUMVERSION",
    launcher="srun",
    launcher_mark=r"^slurm",
    gpu=Settings(name="gpu", env={"MPICH_GPU_SUPPORT_ENABLED": "1"}),
    gpu_off={"MPICH_GPU_SUPPORT_ENABLED": "0"},
)
