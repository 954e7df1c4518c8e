# SPDX-License-Identifier: Apache-2.0
"""Sources that several rules name: each was read, and says what the rules take from it."""

from nearpeak.results.results import Source

GUIDELINES = Source(
    text='J. L. Träff, W. Gropp and R. Thakur, "Self-consistent MPI performance guidelines", IEEE'
    " Transactions on Parallel and Distributed Systems 21 (2010)",
    address="https://doi.org/10.1109/TPDS.2009.120",
)
THRESHOLDS = Source(
    text="UCX #4430: blocking sends take a fixed rendezvous threshold, and not the calculated one",
    address="https://github.com/openucx/ucx/issues/4430",
)


def issue(project: str, number: int, title: str, name: str) -> Source:
    """A thread on GitHub: `Open MPI #12202: ...` of the project `open-mpi/ompi`."""
    return Source(
        text=f"{name} #{number}: {title}", address=f"https://github.com/{project}/issues/{number}"
    )


BLOCK_BY_BLOCK = [
    issue("open-mpi/ompi", 12202, "indexed types of device memory 500 times slower", "Open MPI"),
    issue("open-mpi/ompi", 8720, "one copy for each block of a derived type", "Open MPI"),
]
NOT_AWARE = issue(
    "open-mpi/ompi", 9906, "crashes of Open MPI without CUDA over UCX with CUDA", "Open MPI"
)
SLURM_GPUS = issue("open-mpi/ompi", 11949, "no CUDA IPC with Slurm's GPU binding", "Open MPI")
FAR_ADAPTER = issue(
    "openucx/ucx", 11259, "half of the bandwidth, as a far adapter is taken for a GPU", "UCX"
)
OPEN_MPI_SETTINGS = Source(
    text="Open MPI, the Modular Component Architecture: parameters come from files and from"
    " variables of the environment too",
    address="https://docs.open-mpi.org/en/v5.0.x/mca.html",
)
