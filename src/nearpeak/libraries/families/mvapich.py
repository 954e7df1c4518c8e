# SPDX-License-Identifier: Apache-2.0
"""MVAPICH2 (with GDR and X) and MVAPICH 3 and later.

Not yet run: its version text and settings are from memory.
"""

from nearpeak.libraries.families import Family
from nearpeak.libraries.library import Settings

FAMILY = Family(
    name="mvapich",
    title="MVAPICH",
    version_pattern=r"^MVAPICH\S*\s+Version\s*:\s*(\S+)",
    abi="mpich",
    header_mark="MPICH_NUMVERSION",
    launcher="hydra",
    launcher_mark=r"HYDRA",
    pmi=("pmi2", "pmix"),
    unbound={"MV2_ENABLE_AFFINITY": "0", "MVP_ENABLE_AFFINITY": "0"},  # old and new names
    gpu=Settings(name="gpu", env={"MV2_USE_CUDA": "1", "MVP_USE_CUDA": "1"}),
    gpu_off={"MV2_USE_CUDA": "0", "MVP_USE_CUDA": "0"},
    components=("mvapich", "ucx"),
)
