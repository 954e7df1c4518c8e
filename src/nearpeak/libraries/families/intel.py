# SPDX-License-Identifier: Apache-2.0
"""Intel MPI 2019 and later."""

from nearpeak.libraries import catalogue
from nearpeak.libraries.families import Family
from nearpeak.libraries.library import Library, Settings

# The folders of its own libfabric: of a full Intel MPI, and of wheels such as that of 2021.10.
LIBFABRIC = ("opt/mpi/libfabric/lib", "libfabric/lib", "lib/libfabric")


def environment(library: Library) -> dict[str, str]:
    """Its folder and its libfabric."""
    env = {"I_MPI_ROOT": str(library.prefix)}
    for name in LIBFABRIC:
        folder = library.prefix / name
        if (folder / "libfabric.so.1").exists():
            return {
                **env,
                "I_MPI_OFI_LIBRARY": str(folder / "libfabric.so.1"),
                "FI_PROVIDER_PATH": str(folder / "prov"),
            }
    if library.origin == "installed":
        # The wheel brings no libfabric; the one in MPICH's wheel, which is installed with it,
        # does. Its "sockets" provider, long given up and not in Intel's own, is left out.
        lender = catalogue.entry("mpich").prefix / "lib/mpich/libfabric.so.1"
        env |= {"I_MPI_OFI_LIBRARY": str(lender), "FI_PROVIDER": "^sockets"}
    return env


FAMILY = Family(
    name="intel",
    title="Intel MPI",
    version_pattern=r"^Intel\(R\) MPI Library (\S+)",
    abi="mpich",
    header_mark="MPICH_NUMVERSION",
    launcher="hydra",
    launcher_mark=r"Intel\(R\) MPI",
    pmi=("pmi2", "pmix"),
    environment=environment,
    # How many ranks a host has is the launch's choice too, and no job scheduler's.
    unbound={"I_MPI_PIN": "0", "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"},
    # Its own choice of a GPU for each rank is off: ranks choose theirs themselves. Not set without
    # GPU buffers: with it the library looks for a driver.
    gpu=Settings(name="gpu", env={"I_MPI_OFFLOAD": "1", "I_MPI_OFFLOAD_PIN": "0"}),
    gpu_off={"I_MPI_OFFLOAD": "0"},
    network_only=Settings(name="network", env={"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"}),
    components=("intel",),
)
