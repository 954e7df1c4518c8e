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
