# SPDX-License-Identifier: Apache-2.0
"""Records a machine: the few files of /sys and /proc that matter, in one text file.

tree.parse_recording describes the format. A recording holds the facts of an allow-list only: no
serial numbers, no MAC or IP addresses, no names of hosts, users or jobs.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from nearpeak.machine import limits, pcie_links
from nearpeak.machine.gpus.amd import KFD, properties
from nearpeak.machine.gpus.fabric import CHANNELS, without_cluster
from nearpeak.machine.gpus.nvidia import FACTS, nvidia_facts
from nearpeak.machine.gpus.pci import DEVICES, bridges, device_address
from nearpeak.machine.machine import Machine, Nic
from nearpeak.machine.nics import (
    CXI,
    CXI_SPEED,
    EFA,
    INFINIBAND,
    NDEV,
    NET,
    PHYSFN,
    physical_function,
)
from nearpeak.machine.provenance import AMDGPU, BIOS, MICROCODE, PRODUCT
from nearpeak.machine.rdma_doctor import GDRCOPY, LIMITS, LOCKED, MODULES, PEER_MEMORY
from nearpeak.machine.sysfs import CPU, CXL, DAX, NODE, NVIDIA, arm_cores
from nearpeak.machine.tree import Tree, format_list, read_tree
from nearpeak.terms.private import without_address

Files = Iterator[tuple[str, str]]  # path and text

CPUINFO = ("model name", "cpu", "machine", "microcode", "flags")
STATUS = ("Cpus_allowed_list", "Mems_allowed_list", "CapEff", "Seccomp")
SETTINGS = (
    "proc/loadavg",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/yama/ptrace_scope",
    *PRODUCT,
    *BIOS,
    MICROCODE,
    AMDGPU,
    f"{CPU}/cpufreq/boost",
    f"{CPU}/intel_pstate/no_turbo",
    "sys/hypervisor/type",
)
# Folders of many CPUs or GPUs, up to the number of one.
MERGED = "|".join((f"{CPU}/cpu", f"{CPU}/cpufreq/policy", f"{FACTS}/gpu", f"{KFD}/"))
# A kernel's first of these is recorded: the name now, before Linux 5.3, and before 2.6.26.
SIBLINGS = ("core_cpus_list", "thread_siblings_list", "thread_siblings")
SHARING = ("shared_cpu_list", "shared_cpu_map")
INTERFACE = ("flags", "operstate", "speed", "type", "phys_port_name")
# Facts of the topology of AMD's GPUs.
KFD_NODE = (
    "cpu_cores_count",
    "simd_count",
    "vendor_id",
    "device_id",
    "location_id",
    "domain",
    "gfx_target_version",
    "unique_id",
)
KFD_LINK = ("type", "node_to", "weight", "max_bandwidth")
KFD_PARTS = {
    "mem_banks": ("heap_type", "size_in_bytes", "width", "mem_clk_max"),
    "io_links": KFD_LINK,
    "p2p_links": KFD_LINK,
}


def record(machine: Machine, root: Path = Path("/")) -> str:
    """The recording of this machine, or of the one under `root`, for Tree to read."""
    tree = read_tree(root)
    files = dict(_copied(tree, SETTINGS))
    for part in (_identity, _processors, _memory, _devices, _nvidia, _amd, _pci):
        files.update(part(tree, machine))
    lines = [
        "# Recorded by `nearpeak machine --record`.",
        f"# {machine.cpu_model}, {len(machine.cores)} cores, {len(machine.numa_nodes)} NUMA nodes",
    ]
    lines += [f"{path}: {_escape(text)}".rstrip() for path, text in _merge(files)]
    return "\n".join(lines) + "\n"


def _copied(tree: Tree, paths: Iterable[str]) -> Files:
    """The files that have a text."""
    return _filled((path, tree.text(path)) for path in paths)


def _filled(files: Iterable[tuple[str, str]]) -> Files:
    return ((path, text) for path, text in files if text)


def _lines(facts: Mapping[str, object], keys: Iterable[str], separator: str = ": ") -> str:
    return "\n".join(f"{key}{separator}{facts[key]}" for key in keys if key in facts)


def _identity(tree: Tree, machine: Machine) -> Files:
    yield "proc/sys/kernel/hostname", "recorded"
    yield "proc/sys/kernel/arch", machine.architecture
    cpuinfo = tree.fields("proc/cpuinfo")
    if "hypervisor" in cpuinfo.pop("flags", "").split():
        cpuinfo["flags"] = "hypervisor"
    kinds = [f"CPU implementer: {maker}\nCPU part: {part}" for maker, part in arm_cores(tree)]
    yield from _filled([("proc/cpuinfo", "\n".join([_lines(cpuinfo, CPUINFO), *kinds]).strip())])
    yield "proc/self/status", _lines(tree.fields("proc/self/status"), STATUS)
    bounds = re.findall(rf"^{LOCKED}.*\S", tree.text(LIMITS), re.MULTILINE)
    yield LIMITS, "\n".join(bounds)
    yield "proc/stat", tree.text("proc/stat").partition("\n")[0]


def _processors(tree: Tree, machine: Machine) -> Files:
    yield f"{CPU}/online", format_list(cpu for core in machine.cores for cpu in core.cpus)
    for cpu in tree.indices(CPU, "cpu"):
        folder = f"{CPU}/cpu{cpu}"
        yield from _copied(
            tree, (f"{folder}/topology/physical_package_id", f"{folder}/cpu_capacity")
        )
        yield from _first(tree, f"{folder}/topology", SIBLINGS)
        for index in tree.indices(f"{folder}/cache", "index"):
            cache = f"{folder}/cache/index{index}"
            yield from _copied(tree, (f"{cache}/{name}" for name in ("level", "type", "size")))
            yield from _first(tree, cache, SHARING)
    policies = tree.names(f"{CPU}/cpufreq", r"policy\d+")
    yield from _copied(tree, (f"{CPU}/cpufreq/{name}/scaling_governor" for name in policies))


def _first(tree: Tree, folder: str, names: tuple[str, ...]) -> Files:
    """The first of the files that has a text: kernels name the same differently."""
    return itertools.islice(_copied(tree, (f"{folder}/{name}" for name in names)), 1)


def _memory(tree: Tree, _: Machine) -> Files:
    yield "proc/meminfo", _lines(tree.fields("proc/meminfo"), ("MemTotal", "MemAvailable"))
    yield from _filled([("proc/self/mountinfo", limits.shm_mount(tree))])
    # Names of control groups name users, jobs and containers: the limits in force are enough.
    yield "proc/self/cgroup", "0::/"
    if (quota := limits.cpu_quota(tree)) is not None:
        yield "sys/fs/cgroup/cpu.max", f"{round(quota * 100_000)} 100000"
    if (limit := limits.memory_limit(tree)) is not None:
        yield "sys/fs/cgroup/memory.max", str(limit)
    for node in tree.indices(NODE, "node"):
        folder = f"{NODE}/node{node}"
        yield f"{folder}/cpulist", format_list(tree.cpus(f"{folder}/cpulist", f"{folder}/cpumap"))
        yield f"{folder}/distance", tree.text(f"{folder}/distance")
        info = _lines(tree.fields(f"{folder}/meminfo"), [f"Node {node} MemTotal"])
        yield from _filled([(f"{folder}/meminfo", info)])
    for region in tree.names(CXL, r"dax_region\d+"):
        devices = tree.names(f"{CXL}/{region}", DAX)
        yield from _copied(tree, (f"{CXL}/{region}/{name}/target_node" for name in devices))
    modules = ("nvidia", *PEER_MEMORY, GDRCOPY)
    yield from _copied(tree, (f"{MODULES}/{name}/initstate" for name in modules))
    for gpu in tree.names(NVIDIA):
        status = tree.fields(f"{NVIDIA}/{gpu}/numa_status")
        yield f"{NVIDIA}/{gpu}/numa_status", _lines(status, ["Node"])


def _devices(tree: Tree, machine: Machine) -> Files:
    adapters = {nic.name.partition(":")[0]: nic for nic in machine.nics}
    names = {
        name: without_address(name, number)
        for number, name in enumerate(tree.names(NET))
        if name in adapters or tree.exists(f"{NET}/{name}/device")
    }
    for name, shown in names.items():
        texts = ((file, tree.text(f"{NET}/{name}/{file}")) for file in INTERFACE)
        yield from _filled((f"{NET}/{shown}/{file}", text) for file, text in texts)
        if tree.exists(f"{NET}/{name}/bonding"):
            yield f"{NET}/{shown}/bonding/mode", tree.text(f"{NET}/{name}/bonding/mode")
        if tree.exists(f"{NET}/{name}/device"):
            yield from _place(tree, f"{NET}/{name}", f"{NET}/{shown}", adapters.get(name))
    for number, device in enumerate(tree.names(INFINIBAND)):
        folder = f"{INFINIBAND}/{device}"
        shown = f"{INFINIBAND}/{without_address(device, number)}"
        yield from _filled([(f"{shown}/fw_ver", tree.text(f"{folder}/fw_ver"))])
        for port in tree.names(f"{folder}/ports", r"\d+"):
            for file in ("link_layer", "rate", "state"):
                yield f"{shown}/ports/{port}/{file}", tree.text(f"{folder}/ports/{port}/{file}")
            interface = names.get(tree.text(f"{folder}/ports/{port}/{NDEV}"), "")
            yield from _filled([(f"{shown}/ports/{port}/{NDEV}", interface)])
        if tree.exists(f"{folder}/device"):
            yield from _place(tree, folder, shown, adapters.get(device))
        if EFA in tree.text(f"{folder}/device/uevent"):
            yield f"{shown}/device/uevent", EFA
    for name in tree.names(CXI):
        yield from _place(tree, f"{CXI}/{name}", f"{CXI}/{name}", adapters.get(name))
        yield from _copied(tree, [f"{CXI}/{name}/{CXI_SPEED}"])


def _place(tree: Tree, folder: str, shown: str, nic: Nic | None) -> Files:
    """Records the place of the adapter in this folder of sys/class, named as `shown`; `nic`: as it
    is listed."""
    yield f"{shown}/device/numa_node", _node(nic.numa_node if nic else None)
    if pci := device_address(tree, folder):
        yield f"{shown}/device", f"../../../{pci}"
    if physical := physical_function(tree, folder):
        yield f"{shown}/{PHYSFN}", f"../{physical}"


def _nvidia(tree: Tree, _: Machine) -> Files:
    for path, text in nvidia_facts(tree).items():
        # UUIDs that identify no GPU.
        gpu = re.fullmatch(rf"{FACTS}/gpu(\d+)(?:/mig(\d+))?/uuid", path)
        text = without_cluster(text) if path.endswith("/fabric") else text
        if gpu:
            kind, instance = ("MIG", int(gpu[2])) if gpu[2] else ("GPU", 0)
            text = f"{kind}-00000000-0000-0000-{instance:04d}-{int(gpu[1]):012d}"
        yield path, text
    for name in tree.names(CHANNELS):
        yield f"{CHANNELS}/{name}", ""


def _amd(tree: Tree, _: Machine) -> Files:
    numbers: dict[int, int] = {}
    for node in tree.indices(KFD, ""):
        folder = f"{KFD}/{node}"
        facts = properties(tree, f"{folder}/properties")
        if facts.get("simd_count"):
            # A number that identifies no GPU; partitions of one may share it.
            facts["unique_id"] = numbers.setdefault(facts.get("unique_id", 0), len(numbers))
        yield f"{folder}/properties", _lines(facts, KFD_NODE, " ")
        yield from _copied(tree, [f"{folder}/name"])
        for kind, keys in KFD_PARTS.items():
            for number in tree.indices(f"{folder}/{kind}", ""):
                path = f"{folder}/{kind}/{number}/properties"
                yield from _filled([(path, _lines(properties(tree, path), keys, " "))])


def _pci(tree: Tree, machine: Machine) -> Files:
    places = {nic.pci: nic.numa_node for nic in machine.nics if nic.pci}
    places |= {gpu.pci: gpu.numa_node for gpu in machine.gpus}
    for pci, node in places.items():
        yield f"{DEVICES}/{pci}/numa_node", _node(node)
        yield from _filled([(f"{DEVICES}/{pci}", tree.link(f"{DEVICES}/{pci}"))])
    for gpu in machine.gpus:
        yield from _copied(tree, [f"{DEVICES}/{gpu.pci}/iommu_group/type"])
    ports = dict.fromkeys(port for pci in places for port in bridges(tree, pci))
    ends = itertools.product(ports, pcie_links.FILES)
    yield from _copied(tree, (f"{DEVICES}/{port}/{file}" for port, file in ends))


def _node(node: int | None) -> str:
    return "-1" if node is None else str(node)


def _merge(files: dict[str, str]) -> list[tuple[str, str]]:
    """Joins files of the same content: first over CPUs or GPUs, then over their files."""
    plain: list[tuple[str, str]] = []
    by_file: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for path, text in files.items():
        if of_cpu := re.fullmatch(rf"({MERGED})(\d+)/(.*)", path):
            by_file[of_cpu[1], of_cpu[3], text].append(int(of_cpu[2]))
        else:
            plain.append((path, text))
    by_cpus: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (folder, file, text), cpus in by_file.items():
        by_cpus[folder, format_list(cpus), text].append(file)
    merged = [
        (f"{folder}{_braces(cpus.split(','))}/{_braces(names)}", text)
        for (folder, cpus, text), names in by_cpus.items()
    ]
    return sorted(plain) + merged


def _braces(names: list[str]) -> str:
    single = len(names) == 1 and not re.search(r"\d-\d", names[0])
    return names[0] if single else "{" + ",".join(names) + "}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
