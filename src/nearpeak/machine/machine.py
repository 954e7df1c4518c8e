# SPDX-License-Identifier: Apache-2.0
"""The parts of a machine. Sizes in bytes, rates in GB/s = 1e9 bytes/s."""

from collections.abc import Collection

import msgspec

# Of all NVLinks of any GPU, each way: a B200, of which NVIDIA's data sheet has 1.8 TB/s both ways.
NVLINKS_GBS = 900.0
SCHEMA = 2  # of machine.json; 1 says neither its schema nor provenance nor diagnoses


class Cache(msgspec.Struct, kw_only=True, frozen=True):
    """One cache, and the logical CPUs that share it."""

    level: int
    kind: str  # "data", "instruction" or "unified"
    size_bytes: int
    cpus: list[int]


class Core(msgspec.Struct, kw_only=True, frozen=True):
    """One physical core: its logical CPUs (more than one with SMT) and where it sits."""

    cpus: list[int]
    package: int | None  # null: the firmware does not say
    numa_node: int | None  # null: it belongs to no node that the kernel lists


class NumaNode(msgspec.Struct, kw_only=True, frozen=True):
    """One NUMA node; `cpus` is empty for memory without cores (HBM, CXL, GPU memory)."""

    index: int
    cpus: list[int]
    memory_bytes: int | None
    distances: dict[int, int]  # to each node, itself included (10 is local)
    memory: str = "host"  # "gpu": the memory of a GPU, shown by its driver as a NUMA node


class Nic(msgspec.Struct, kw_only=True, frozen=True):
    """One network interface that is up, loopback left out."""

    name: str
    kind: str  # "ethernet", "infiniband" or "virtual"
    numa_node: int | None
    rate_gbs: float | None  # GB/s, from the link's own word; null where it says none
    addresses: list[str]
    # Its RDMA device and port as verbs name them, "mlx5_0:1"; null: it has none, or not known.
    verbs: str | None = None
    pci: str | None = None  # "0000:4d:00.0"; null: it is no PCI device, or not known
    upstream: list[str] = []  # the PCI bridges above it, from the root port down; none: not known


class Gpu(msgspec.Struct, kw_only=True, frozen=True):
    """One GPU that this process may use, as its vendor's library or the kernel describes it."""

    index: int  # as the vendor's tools number it
    vendor: str  # "nvidia" or "amd"
    name: str
    uuid: str  # "GPU-..." as the driver writes it: what a rank chooses its device by
    pci: str  # "0000:17:00.0"
    numa_node: int | None  # of the cores near to it
    memory_bytes: int | None
    memory_gbs: float | None  # theoretical, of its own memory: bytes read and written
    host_link: str  # what joins it to the CPU: "pcie", "nvlink-c2c", "nvlink", "xgmi"
    host_gbs: float | None  # theoretical payload of that link, each way
    upstream: list[str] = []  # the PCI bridges above it, from the root port down; none: not known
    # As a rank numbers those that it sees, where CUDA_VISIBLE_DEVICES names them; null: as `index`.
    ordinal: int | None = None

    @property
    def number(self) -> str:
        """Its name in an end of a path between hosts, whose uuids differ."""
        return str(self.index if self.ordinal is None else self.ordinal)


class GpuLink(msgspec.Struct, kw_only=True, frozen=True):
    """The nearest link between two GPUs."""

    one: int  # Gpu.index, the smaller one first
    other: int
    # "nvlink", "xgmi", "pcie-switch", "host-bridge" (through a CPU's root ports),
    # "cross-socket" (from one NUMA node to another), "unknown"
    kind: str
    gbs: float | None  # theoretical payload, each way, of all lanes; null where unknown
    peer: str | None = None  # why one cannot copy to the other directly; null: it can
    # Through switches, so that a GPU has these lanes for all others together.
    switched: bool = False


class Provenance(msgspec.Struct, kw_only=True, frozen=True):
    """Versions and settings that change on the same hardware; null: not known."""

    product: str | None = None  # vendor and model of the host, as its firmware says (DMI)
    bios: str | None = None  # vendor, version and date of its firmware
    microcode: str | None = None  # of its first CPU
    governor: str | None = None  # of the clocks of its CPUs; several: "performance, powersave"
    nvidia_driver: str | None = None
    cuda_driver_api: str | None = None  # the newest CUDA that NVIDIA's driver runs
    amdgpu_driver: str | None = None  # null also where it is the kernel's own
    adapter_firmware: dict[str, str] = {}  # RDMA adapter -> version


class Diagnosis(msgspec.Struct, kw_only=True, frozen=True):
    """One thing that doctor looked at. `hint` says what to do; it is empty where all is well."""

    severity: str  # "bad": will spoil a measurement; "warn": may; "ok"
    id: str  # made of words, the same on every machine
    message: str
    hint: str = ""
    variables: list[str] = []  # of the environment, that it is about


class Machine(msgspec.Struct, kw_only=True, frozen=True):
    """One host as far as data paths need it. `source` is "lstopo" or "sysfs"."""

    schema: int = 1  # of what is written now: SCHEMA
    hostname: str
    architecture: str
    cpu_model: str
    kernel: str
    source: str
    virtual: bool
    cores: list[Core]
    caches: list[Cache]
    numa_nodes: list[NumaNode]
    nics: list[Nic]
    allowed_cpus: list[int]  # what this process may run on (affinity, cgroup)
    allowed_nodes: list[int] | None = None  # whose memory it may take; null: of every node
    gpus: list[Gpu] = []
    gpu_links: list[GpuLink] = []  # of every pair
    gpu_notes: list[str] = []  # why a GPU, or all of a vendor's, cannot be used: one line each
    mps: bool = False  # whether there is a program to start NVIDIA's MPS daemon with
    provenance: Provenance = Provenance()
    diagnoses: list[Diagnosis] = []  # doctor's, before the study; none: it was not asked

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
        # Older recordings lack `switched`: no GPU has enough lanes for such a total rate.
        switched = all(link.switched for link in links) or peers * min(rates) > NVLINKS_GBS
        return max(rates) if switched else None


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
