# SPDX-License-Identifier: Apache-2.0
"""The readers of settings variables and files, by their names."""

from nearpeak.libraries.families import all_families

# Readers of variables by their prefix: libraries of this ABI,
_OF_ABI = {
    "OMPI_MCA_": "openmpi",
    "PRTE_MCA_": "openmpi",
    "PMIX_MCA_": "openmpi",
    "MPIR_CVAR_": "mpich",
    "MPICH_": "mpich",
}
# this family,
_OF_FAMILY = {
    "I_MPI_": {"intel"},
    "MV2_": {"mvapich"},
    "MVP_": {"mvapich"},
    "PAMI_": {"spectrum"},
    "NCCL_": {"nccl", "rccl"},
}
_OF_ANY = ("UCX_", "FI_")  # any library, but no ceiling.


def may_read(family: str, name: str) -> bool:
    """True if libraries of a family may read a variable, or one with this prefix.

    `family`: "" for the programs of ceilings. `name`: "" for a variable of any library.
    """
    record = all_families().get(family)
    readers = {
        (prefix, record is not None and record.abi == abi) for prefix, abi in _OF_ABI.items()
    }
    readers |= {(prefix, family in families) for prefix, families in _OF_FAMILY.items()}
    readers |= {(prefix, family != "") for prefix in _OF_ANY}
    return all(reads for prefix, reads in readers if name.startswith(prefix))
