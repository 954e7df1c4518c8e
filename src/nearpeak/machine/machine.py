# SPDX-License-Identifier: Apache-2.0
"""The parts of a machine. Sizes in bytes, rates in GB/s = 1e9 bytes/s."""

from collections.abc import Collection

import msgspec

from nearpeak.machine.rates import least
from nearpeak.terms.private import FreeText, GpuUuid, HostName, Public

SCHEMA = 2  # of machine.json


class Cache(msgspec.Struct, kw_only=True, frozen=True):
    """One cache, and the logical CPUs that share it."""

    level: int  # 1, 2, 3, ...
    kind: Public  # `data`, `instruction` or `unified`
    size_bytes: int  # its size
    cpus: list[int]  # logical CPUs that share it


class Core(msgspec.Struct, kw_only=True, frozen=True):
    """One physical core."""

    cpus: list[int]  # its logical CPUs
    package: int | None  # its socket; null: the firmware does not say
    numa_node: int | None  # its NUMA node; null: the kernel lists it in none
    # its speed where cores differ, 1024 for the fastest; null: they do not, or it is not known
    capacity: int | None = None


class NumaNode(msgspec.Struct, kw_only=True, frozen=True):
    """One NUMA node; `cpus` is empty for memory without cores (HBM, CXL, GPU memory)."""

    index: int  # its number
    cpus: list[int]  # its logical CPUs; empty for memory without cores
    memory_bytes: int | None  # its size; null: not known
    distances: dict[int, int]  # to each node, itself included; 10 is local
    # `host`; `cxl`: of CXL devices; `gpu`: of a GPU, which its driver shows as a node
    memory: Public = "host"


class Nic(msgspec.Struct, kw_only=True, frozen=True):
    """One network interface that is up, loopback left out."""

    name: FreeText  # of the interface, or of a device and port without one: `mlx5_0:1`, `cxi0`
    kind: Public  # `ethernet`, `infiniband`, `slingshot`, `efa` or `virtual`
    numa_node: int | None  # of the interface; null: not known
    rate_gbs: float | None  # of the link in GB/s, one direction, as it says; null: it does not
    addresses: list[FreeText]  # IP addresses
    verbs: FreeText | None = None  # RDMA device and port: `mlx5_0:1`; null: none, or not known
    cxi: FreeText | None = None  # Slingshot device: `cxi0`; null: none, or not known
    pci: Public | None = None  # PCI address: `0000:4d:00.0`; null: no PCI device, or not known
    upstream: list[Public] = []  # PCI bridges above it, from the root port down; empty: not known
    root_bus: Public | None = None  # PCI host bridge above it: `0000:16`; null: not known
    # theoretical payload of its PCIe links to the CPU, each way: of the narrowest; null: not known
    host_gbs: float | None = None
    # the same of the link of each of those bridges, and of its own last; null: not known
    links_gbs: list[float | None] = []

    @property
    def counted_as(self) -> str | None:
        """The name of the link that counts what it moves without TCP; None where it does not."""
        return self.verbs or self.cxi

    @property
    def perftest_port(self) -> str | None:
        """The port through which perftest measures ceilings; None for EFA, which lacks reliable
        connections."""
        return None if self.kind == "efa" else self.verbs

    @property
    def path_gbs(self) -> float | None:
        """The theoretical rate of messages through it: its link's, or PCIe's where that is less.

        None where the rate of its link is not known.
        """
        return least([self.rate_gbs, self.host_gbs]) if self.rate_gbs else None


class Gpu(msgspec.Struct, kw_only=True, frozen=True):
    """One GPU that this process may use, as its vendor's library or the kernel describes it."""

    index: int  # as the vendor's tools number it
    vendor: Public  # `nvidia` or `amd`
    name: FreeText  # as its driver names it
    uuid: GpuUuid  # `GPU-...`: a rank chooses its device by it
    pci: Public  # PCI address: `0000:17:00.0`
    numa_node: int | None  # of the cores near to it; null: not known
    memory_bytes: int | None  # its size; null: not known
    # theoretical rate of its memory in GB/s, bytes read and written; null: not known
    memory_gbs: float | None
    # link to the CPU: `pcie`, `nvlink-c2c`, `nvlink`, `xgmi`, or `package`: one package has both
    host_link: Public
    host_gbs: float | None  # theoretical payload of that link in GB/s, each way; null: not known
    upstream: list[Public] = []  # PCI bridges above it, from the root port down; empty: not known
    root_bus: Public | None = None  # PCI host bridge above it: `0000:16`; null: not known
    # theoretical payload of the PCIe link of each of those bridges, and of its own last, each way;
    # null: not known
    links_gbs: list[float | None] = []
    # its number for a rank, where `CUDA_VISIBLE_DEVICES` names devices; null: as `index`
    ordinal: int | None = None
    # its number among the partitions of one package, which have one PCI address; null: a whole GPU
    partition: int | None = None
    # the NVLink fabric that joins it with GPUs of other hosts: `clique 4026 of CLUSTER`; null: none
    fabric: FreeText | None = None

    @property
    def number(self) -> str:
        """Its name in an end of a path between hosts, whose uuids differ."""
        return str(self.index if self.ordinal is None else self.ordinal)


class GpuLink(msgspec.Struct, kw_only=True, frozen=True):
    """The nearest link between two GPUs."""

    one: int  # `index` of the first, the smaller one
    other: int  # `index` of the second
    # `package` (partitions of one), `nvlink`, `xgmi`, `pcie-switch`, `host-bridge` (a CPU's root
    # ports), `cross-socket` (from one NUMA node to another) or `unknown`
    kind: Public
    # theoretical payload in GB/s, each way, of all lanes together; null: not known
    gbs: float | None
    peer: FreeText | None = None  # why one cannot copy to the other directly; null: it can
    # switches join them, so that a GPU has these lanes for all others together
    switched: bool = False
    hops: int | None = None  # links of xGMI on the way, 1: a direct one; null: not known
    # the driver's rate, where it is less than that of the model; null: it is not
    driver_gbs: float | None = None


class Provenance(msgspec.Struct, kw_only=True, frozen=True):
    """Versions and settings that change on the same hardware, before the study began; null: not
    known. The fingerprint of each session has them too."""

    product: FreeText | None = None  # vendor and model of the host, by its firmware
    bios: Public | None = None  # vendor, version and date of its firmware
    microcode: Public | None = None  # of its first CPU
    governor: FreeText | None = None  # of the clocks of its CPUs; several are joined by a comma
    nvidia_driver: FreeText | None = None  # NVIDIA's driver
    cuda_driver_api: FreeText | None = None  # newest CUDA that NVIDIA's driver runs
    amdgpu_driver: FreeText | None = None  # AMD's driver; null also if it is the kernel's own
    adapter_firmware: dict[FreeText, FreeText] = {}  # version of each RDMA adapter


class Diagnosis(msgspec.Struct, kw_only=True, frozen=True):
    """One check of `nearpeak machine --check` (docs/reference/machine-checks.md)."""

    severity: Public  # `bad`: will spoil a measurement; `warn`: may; `ok`
    id: Public  # of the check, made of words, the same on every machine
    message: FreeText  # what it saw
    hint: FreeText = ""  # what to do; empty if all is well
    variables: list[FreeText] = []  # environment variables that it is about
    # prefix of the variables that set the same as a file that it is about: `UCX_`; empty: no file
    settings_prefix: Public = ""


class Machine(msgspec.Struct, kw_only=True, frozen=True):
    """One host, as far as its data paths need it: also the file `machine.json`."""

    schema: int = SCHEMA  # version of `machine.json`
    hostname: HostName  # its name
    architecture: Public  # `x86_64`, `aarch64`, `ppc64le`, ...
    cpu_model: FreeText  # as the system names it
    kernel: FreeText  # its release
    source: Public  # origin of these data: `lstopo` or `sysfs`
    virtual: bool  # it is a virtual machine
    cores: list[Core]  # physical cores
    caches: list[Cache]  # caches of the CPUs
    numa_nodes: list[NumaNode]  # memories
    nics: list[Nic]  # network interfaces that are up, without loopback
    allowed_cpus: list[int]  # logical CPUs that the study may run on
    allowed_nodes: list[int] | None = None  # NUMA nodes whose memory it may take; null: all
    gpus: list[Gpu] = []  # GPUs that the study may use
    gpu_links: list[GpuLink] = []  # links of each pair of GPUs
    gpu_notes: list[FreeText] = []  # why a GPU, or all of a vendor's, cannot be used: one line each
    mps: bool = False  # there is a program to start NVIDIA's MPS daemon with
    provenance: Provenance = Provenance()  # firmware, drivers and settings
    # results of `nearpeak machine --check` before the study; empty: it was not asked
    diagnoses: list[Diagnosis] = []

    @property
    def cores_of_no_node(self) -> list[Core]:
        """The cores that the kernel lists in no NUMA node."""
        return [core for core in self.cores if core.numa_node is None]

    def gpu_receives_gbs(self, uuids: Collection[str]) -> float | None:
        """The theoretical rate at which one of these GPUs receives from all others together.

        None where switches do not join them, or it is not known.
        """
        indices = {gpu.index for gpu in self.gpus if gpu.uuid in uuids}
        links = [link for link in self.gpu_links if {link.one, link.other} <= indices]
        peers = len(uuids) - 1
        rates = [link.gbs for link in links if link.kind == "nvlink" and link.gbs is not None]
        if not rates or len(rates) != peers * len(uuids) // 2:
            return None
        return max(rates) if all(link.switched for link in links) else None


def unknown() -> Machine:
    """The machine of figures that do not say where they were measured."""
    return Machine(
        hostname="an unknown machine",
        architecture="",
        cpu_model="",
        kernel="",
        source="",
        virtual=False,
        cores=[],
        caches=[],
        numa_nodes=[],
        nics=[],
        allowed_cpus=[],
    )
