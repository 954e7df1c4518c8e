# SPDX-License-Identifier: Apache-2.0
"""The readers of settings variables and files, by their names."""

from pathlib import Path

from nearpeak.libraries.families import all_families
from nearpeak.machine.doctor import CHANGES, OWNERS

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
    """True if libraries of a family may read a variable; "": the programs of ceilings."""
    record = all_families().get(family)
    readers = {
        (prefix, record is not None and record.abi == abi) for prefix, abi in _OF_ABI.items()
    }
    readers |= {(prefix, family in families) for prefix, families in _OF_FAMILY.items()}
    readers |= {(prefix, family != "") for prefix in _OF_ANY}
    return all(reads for prefix, reads in readers if name.startswith(prefix))


def may_read_file(family: str, message: str) -> bool:
    """True if libraries of a family may read the file with settings that a message of the doctor
    is about; a published study may not have its name, and any library may read it."""
    file = Path(message.partition(CHANGES)[0]).name
    _, prefix = OWNERS.get(file, ("", ""))
    return may_read(family, prefix)
