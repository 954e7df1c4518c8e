# SPDX-License-Identifier: Apache-2.0
"""Open MPI 4 and 5."""

from nearpeak.libraries.families import Family
from nearpeak.libraries.library import Library, Settings


def environment(library: Library) -> dict[str, str]:
    """The folder of a library that was not built for that folder."""
    return {"OPAL_PREFIX": str(library.prefix)} if library.origin == "installed" else {}


FAMILY = Family(
    name="openmpi",
    title="Open MPI",
    version_pattern=r"^(?!.*Spectrum MPI)Open MPI v([^\s,]+)",
    abi="openmpi",
    header_mark="OMPI_MAJOR_VERSION",
    launcher="prrte",
    older_launcher=(5, "orte"),
    launcher_mark=r"Open MPI|OpenRTE",
    pmi=("pmix", "pmi2"),  # the latter before version 5
    environment=environment,
    # ob1 over btl/tcp is also what Open MPI takes between hosts that have no RDMA adapter:
    # pml/ucx and pml/cm leave TCP to it.
    network_only=Settings(
        name="network", flags=["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
    ),
    components=("openmpi", "ucx"),
)
