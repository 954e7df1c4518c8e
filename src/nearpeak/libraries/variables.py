# SPDX-License-Identifier: Apache-2.0
"""Whose settings variables are, by their names."""

from nearpeak.libraries.families import all_families

# Who reads variables that begin so: libraries of this ABI,
_OF_ABI = {
    "OMPI_MCA_": "openmpi",
    "PRTE_MCA_": "openmpi",
    "PMIX_MCA_": "openmpi",
    "MPIR_CVAR_": "mpich",
    "MPICH_": "mpich",
}
# this family,
_OF_FAMILY = {"I_MPI_": "intel", "MV2_": "mvapich", "MVP_": "mvapich", "PAMI_": "spectrum"}
_OF_ANY = ("UCX_", "FI_")  # any library, but no ceiling.


def may_read(family: str, name: str) -> bool:
    """Whether libraries of a family may read a variable; "": what measures ceilings."""
    known = all_families().get(family)
    for prefix, abi in _OF_ABI.items():
        if name.startswith(prefix):
            return known is not None and known.abi == abi
    for prefix, reader in _OF_FAMILY.items():
        if name.startswith(prefix):
            return family == reader
    return bool(family) or not name.startswith(_OF_ANY)
