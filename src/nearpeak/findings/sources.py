# SPDX-License-Identifier: Apache-2.0
"""The sources of rules, and the findings that each source fits; all were read."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from nearpeak.findings.settings import COMPONENTS, Component, components
from nearpeak.observations.observed import Observations
from nearpeak.results.results import Fact, Finding, Source
from nearpeak.terms.buffers import in_gpu
from nearpeak.terms.identity import Place

MANAGED = "M"  # in the buffers of a case
Memory = Literal["host", "device", "managed"]
Hosts = Literal["one", "several"]
MEMORIES: dict[Memory, str] = {
    "host": "host memory",
    "device": "memory of a GPU",
    "managed": "managed memory",
}
HOSTS: dict[Hosts, str] = {"one": "inside a host", "several": "between hosts"}


class Reference(NamedTuple):
    """A source, and the conditions of findings that it fits."""

    source: Source
    components: tuple[Component, ...] = ()  # that it describes: the library has them all
    memory: Memory | None = None  # of a buffer; "host": of all of them
    hosts: Hosts | None = None  # that messages pass between
    names: str = ""  # in a fact of the finding: a file, or the prefix of variables

    def fits(self, finding: Finding, observations: Observations) -> bool:
        """True if the source fits the finding; unknown properties fit no condition."""
        return (
            self._of_library(finding, observations)
            and self._of_memory(finding)
            and (self.hosts is None or self.hosts == _hosts(finding.place))
            and (not self.names or any(self.names in _text(fact) for fact in finding.facts))
        )

    def _of_library(self, finding: Finding, observations: Observations) -> bool:
        """A finding without a library is one of all libraries of the study."""
        whose = [library.who for library in observations.libraries]
        if finding.who is not None:
            whose = [finding.who]
        needed = set(self.components)
        return not needed or any(needed <= components(who, observations) for who in whose)

    def _of_memory(self, finding: Finding) -> bool:
        if self.memory is None:
            return True
        if finding.case is None:  # then by the memory at the ends of the path
            gpu = finding.place is not None and "gpu" in finding.place.ends
            return gpu and self.memory == "device"
        buffers = finding.case.buffers
        if self.memory == "managed":
            return MANAGED in buffers
        return in_gpu(buffers) == (self.memory == "device")

    @property
    def conditions(self) -> str:
        """The conditions in words; "" without any."""
        labels = [COMPONENTS[component] for component in self.components]
        return ", ".join(
            [
                *([" over ".join(labels)] if labels else []),
                *([MEMORIES[self.memory]] if self.memory else []),
                *([HOSTS[self.hosts]] if self.hosts else []),
                *([f"`{self.names}`"] if self.names else []),
            ]
        )


def fitting(
    references: Iterable[Reference], finding: Finding, observations: Observations
) -> list[Source]:
    """The sources that fit a finding."""
    return [reference.source for reference in references if reference.fits(finding, observations)]


def _text(fact: Fact) -> str:
    return f"{fact.name} {fact.value}"


def _hosts(place: Place | None) -> Hosts | None:
    if place is None or not place.hosts:
        return None
    return "one" if place.hosts == 1 else "several"


def issue(project: str, number: int, title: str, name: str) -> Source:
    """A thread on GitHub: `Open MPI #12202: ...` of the project `open-mpi/ompi`."""
    return Source(
        text=f"{name} #{number}: {title}", address=f"https://github.com/{project}/issues/{number}"
    )


def of_openmpi(number: int, title: str, *over: Component) -> Reference:
    """A thread of Open MPI, and of the components below it (`over`)."""
    return Reference(issue("open-mpi/ompi", number, title, "Open MPI"), ("openmpi", *over))


def of_mpich(number: int, title: str) -> Reference:
    """A thread of MPICH."""
    return Reference(issue("pmodels/mpich", number, title, "MPICH"), ("mpich",))


def of_ucx(number: int, title: str) -> Reference:
    """A thread of UCX."""
    return Reference(issue("openucx/ucx", number, title, "UCX"), ("ucx",))


GUIDELINES = Reference(
    Source(
        text='J. L. Träff, W. Gropp and R. Thakur, "Self-consistent MPI performance guidelines",'
        " IEEE Transactions on Parallel and Distributed Systems 21 (2010)",
        address="https://doi.org/10.1109/TPDS.2009.120",
    )
)
THRESHOLDS = of_ucx(
    4430, "blocking sends take a fixed rendezvous threshold, and not the calculated one"
)
SHARED_MEMORY = Reference(
    Source(
        text="Open MPI, shared memory: btl_sm_eager_limit, up to which a message is sent at once",
        address="https://docs.open-mpi.org/en/v5.0.x/tuning-apps/networking/shared-memory.html",
    ),
    ("ob1",),
    "host",
    "one",
)
BLOCK_BY_BLOCK = [
    Reference(
        Source(
            text='W. Gropp, T. Hoefler, R. Thakur and J. L. Träff, "Performance expectations and'
            ' guidelines for MPI derived datatypes", EuroMPI 2011',
            address="https://doi.org/10.1007/978-3-642-24449-0_18",
        )
    ),
    of_openmpi(12202, "indexed types of device memory 500 times slower")._replace(memory="device"),
    of_openmpi(8720, "one copy for each block of a derived type")._replace(memory="device"),
]
NOT_AWARE = of_openmpi(9906, "crashes of Open MPI without CUDA over UCX with CUDA")
SLURM_GPUS = of_openmpi(11949, "no CUDA IPC with Slurm's GPU binding")
FAR_ADAPTER = of_ucx(11259, "half of the bandwidth, as a far adapter is taken for a GPU")._replace(
    hosts="several"
)
FIELD_VALUES = Source(
    text="NVIDIA, NVML: values of fields, such as the throughput of each NVLink",
    address="https://docs.nvidia.com/deploy/nvml-api/structnvmlFieldValue__t.html",
)
PORT_COUNTERS = Source(
    text="Linux, the files of RDMA devices in sysfs, such as the counters of a port",
    address="https://docs.kernel.org/admin-guide/abi-stable-files.html",
)
FRAGMENTS = of_ucx(8391, "copies in small fragments, each waited for")
OPEN_MPI_SETTINGS = Reference(
    Source(
        text="Open MPI, the Modular Component Architecture: parameters come from files and from"
        " variables of the environment too",
        address="https://docs.open-mpi.org/en/v5.0.x/mca.html",
    )
)
UCX_SETTINGS = Reference(
    Source(
        text="UCX, the parser of its configuration: it reads variables of the environment, and a"
        " file ucx.conf",
        address="https://github.com/openucx/ucx/blob/master/src/ucs/config/parser.c",
    )
)
