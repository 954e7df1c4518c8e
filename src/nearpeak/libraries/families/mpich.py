# SPDX-License-Identifier: Apache-2.0
"""MPICH 3.3 and later, and what calls itself MPICH."""

from nearpeak.libraries.families import Family
from nearpeak.libraries.library import Settings

FAMILY = Family(
    name="mpich",
    title="MPICH",
    version_pattern=r"^MPICH Version:\s*(\S+)",
    abi="mpich",
    header_mark="MPICH_NUMVERSION",
    launcher="hydra",
    launcher_mark=r"HYDRA",
    pmi=("pmi2", "pmix"),
    # NOLOCAL alone is not enough: MPICH then hands the message to UCX or libfabric, which take
    # shared memory by themselves. The netmod stays the library's own choice.
    gpu=Settings(name="gpu", env={"MPIR_CVAR_ENABLE_GPU": "1"}),  # where it is built for GPUs
    gpu_off={"MPIR_CVAR_ENABLE_GPU": "0"},
    network_only=Settings(
        name="network",
        env={"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp"},
    ),
    components=("mpich", "ucx"),
)
