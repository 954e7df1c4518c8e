# SPDX-License-Identifier: Apache-2.0
"""Records a machine: the few files of /sys and /proc that matter, in one text file.

tree.parse_recording describes the format. A recording holds the facts of an allow-list only: no
serial numbers, no MAC or IP addresses, no names of hosts, users or jobs.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from nearpeak.machine import limits
from nearpeak.machine.gpus.amd import KFD, properties
from nearpeak.machine.gpus.nvidia import FACTS, nvidia_facts
from nearpeak.machine.gpus.pci import DEVICES, bridges
from nearpeak.machine.machine import Machine, Nic
from nearpeak.machine.provenance import AMDGPU, BIOS, MICROCODE, PRODUCT
from nearpeak.machine.rdma_doctor import GDRCOPY, LIMITS, LOCKED, MODULES, PEER_MEMORY
from nearpeak.machine.sysfs import CPU, INFINIBAND, NDEV, NET, NODE, NVIDIA
from nearpeak.machine.tree import Tree, format_list

CPUINFO = ("model name", "cpu", "machine", "microcode", "CPU implementer", "CPU part")
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
# A kernel's first of these is recorded: the name now, before Linux 5.3, and before 2.6.26.
SIBLINGS = ("core_cpus_list", "thread_siblings_list", "thread_siblings")
# Facts of the topology of AMD's GPUs.
KFD_NODE = (
    "cpu_cores_count",
    "simd_count",
    "vendor_id",
    "device_id",
    "location_id",
    "domain",
    "unique_id",
)
KFD_BANK = ("heap_type", "size_in_bytes", "width", "mem_clk_max")
KFD_LINK = ("type", "node_to", "max_bandwidth")


def record(machine: Machine, root: Path = Path("/")) -> str:
    """The recording of this machine, or of the one under `root`, for Tree to read."""
    tree = Tree(root)
    files = {path: text for path in SETTINGS if (text := tree.text(path)) is not None}
    files.update(_identity(tree, machine))
    files.update(_processors(tree, machine))
    files.update(_memory(tree))
    files.update(_devices(tree, machine))
    files.update(_nvidia(tree))
    files.update(_amd(tree))
    files.update(_pci(tree, machine))
    lines = [
        "# Recorded by `nearpeak machine --record`.",
        f"# {machine.cpu_model}, {len(machine.cores)} cores, {len(machine.numa_nodes)} NUMA nodes",
    ]
    lines += [f"{path}: {_escape(text)}".rstrip() for path, text in _merge(files)]
    return "\n".join(lines) + "\n"


def _identity(tree: Tree, machine: Machine) -> Iterator[tuple[str, str]]:
    yield "proc/sys/kernel/hostname", "recorded"
    yield "proc/sys/kernel/arch", machine.architecture
    cpuinfo = tree.fields("proc/cpuinfo")
    kept = [f"{key}: {cpuinfo[key]}" for key in CPUINFO if key in cpuinfo]
    if "hypervisor" in cpuinfo.get("flags", "").split():
        kept.append("flags: hypervisor")
    if kept:
        yield "proc/cpuinfo", "\n".join(kept)
    status = tree.fields("proc/self/status")
    keys = ("Cpus_allowed_list", "Mems_allowed_list", "CapEff", "Seccomp")
    yield "proc/self/status", "\n".join(f"{key}: {status[key]}" for key in keys if key in status)
    bounds = (tree.text(LIMITS) or "").splitlines()
    yield LIMITS, "\n".join(line.rstrip() for line in bounds if line.startswith(LOCKED))
    yield "proc/stat", (tree.text("proc/stat") or "").partition("\n")[0]


def _processors(tree: Tree, machine: Machine) -> Iterator[tuple[str, str]]:
    yield f"{CPU}/online", format_list([cpu for core in machine.cores for cpu in core.cpus])
    for cpu in tree.indices(CPU, "cpu"):
        folder = f"{CPU}/cpu{cpu}/topology"
        siblings = next((name for name in SIBLINGS if tree.exists(f"{folder}/{name}")), SIBLINGS[0])
        paths = ["topology/physical_package_id", f"topology/{siblings}"]
        for index in tree.indices(f"{CPU}/cpu{cpu}/cache", "index"):
            names = ("level", "type", "size", "shared_cpu_list", "shared_cpu_map")
            listed = tree.exists(f"{CPU}/cpu{cpu}/cache/index{index}/shared_cpu_list")
            paths += [f"cache/index{index}/{name}" for name in names[: -1 if listed else None]]
        for path in paths:
            if (text := tree.text(f"{CPU}/cpu{cpu}/{path}")) is not None:
                yield f"{CPU}/cpu{cpu}/{path}", text
    for policy in tree.names(f"{CPU}/cpufreq", r"policy\d+"):
        if (text := tree.text(f"{CPU}/cpufreq/{policy}/scaling_governor")) is not None:
            yield f"{CPU}/cpufreq/{policy}/scaling_governor", text


def _memory(tree: Tree) -> Iterator[tuple[str, str]]:
    meminfo = tree.fields("proc/meminfo")
    keys = ("MemTotal", "MemAvailable")
    yield "proc/meminfo", "\n".join(f"{key}: {meminfo[key]}" for key in keys if key in meminfo)
    if mount := limits.shm_mount(tree):
        yield "proc/self/mountinfo", mount
    # Names of control groups name users, jobs and containers: the limits in force are enough.
    yield "proc/self/cgroup", "0::/"
    if (quota := limits.cpu_quota(tree)) is not None:
        yield "sys/fs/cgroup/cpu.max", f"{round(quota * 100_000)} 100000"
    if (limit := limits.memory_limit(tree)) is not None:
        yield "sys/fs/cgroup/memory.max", str(limit)
    for node in tree.indices(NODE, "node"):
        folder = f"{NODE}/node{node}"
        cpus = tree.cpus(f"{folder}/cpulist", f"{folder}/cpumap") or []
        yield f"{folder}/cpulist", format_list(cpus)
        yield f"{folder}/distance", tree.text(f"{folder}/distance") or ""
        key = f"Node {node} MemTotal"
        if key in (info := tree.fields(f"{folder}/meminfo")):
            yield f"{folder}/meminfo", f"{key}: {info[key]}"
    for name in ("nvidia", *PEER_MEMORY, GDRCOPY):
        if state := tree.text(f"{MODULES}/{name}/initstate"):
            yield f"{MODULES}/{name}/initstate", state
    for gpu in tree.names(NVIDIA):
        numa = tree.fields(f"{NVIDIA}/{gpu}/numa_status").get("Node")
        yield f"{NVIDIA}/{gpu}/numa_status", f"Node: {numa}" if numa else ""


def _devices(tree: Tree, machine: Machine) -> Iterator[tuple[str, str]]:
    adapters = {nic.name.partition(":")[0]: nic for nic in machine.nics}
    # systemd names interfaces of USB adapters by their MAC address.
    names = {
        name: re.sub(r"x[0-9a-f]{12}$", f"x{number}", name)
        for number, name in enumerate(tree.names(NET))
        if name in adapters
    }
    for name, shown in names.items():
        for file in ("flags", "operstate", "speed", "type"):
            if text := tree.text(f"{NET}/{name}/{file}"):
                yield f"{NET}/{shown}/{file}", text
        if tree.exists(f"{NET}/{name}/bonding"):
            yield f"{NET}/{shown}/bonding/mode", tree.text(f"{NET}/{name}/bonding/mode") or ""
        if tree.exists(f"{NET}/{name}/device"):
            yield from _place(f"{NET}/{shown}", adapters[name])
    for device in tree.names(INFINIBAND):
        if firmware := tree.text(f"{INFINIBAND}/{device}/fw_ver"):
            yield f"{INFINIBAND}/{device}/fw_ver", firmware
        for port in tree.names(f"{INFINIBAND}/{device}/ports", r"\d+"):
            for file in ("link_layer", "rate", "state"):
                path = f"{INFINIBAND}/{device}/ports/{port}/{file}"
                yield path, tree.text(path) or ""
            path = f"{INFINIBAND}/{device}/ports/{port}/{NDEV}"
            if interface := names.get(tree.text(path) or ""):
                yield path, interface
        if device in adapters:
            yield from _place(f"{INFINIBAND}/{device}", adapters[device])


def _place(folder: str, nic: Nic) -> Iterator[tuple[str, str]]:
    """Record the place of the adapter in this folder of sys/class."""
    yield f"{folder}/device/numa_node", _node(nic.numa_node)
    if nic.pci:
        yield f"{folder}/device", f"../../../{nic.pci}"


def _nvidia(tree: Tree) -> Iterator[tuple[str, str]]:
    for path, text in nvidia_facts(tree).items():
        if match := re.fullmatch(rf"{FACTS}/gpu(\d+)/uuid", path):
            yield path, _made_up(int(match[1]))
        else:
            yield path, text


def _made_up(gpu: int) -> str:
    """A UUID that identifies no GPU."""
    return f"GPU-00000000-0000-0000-0000-{gpu:012d}"


def _amd(tree: Tree) -> Iterator[tuple[str, str]]:
    gpus = 0
    for node in tree.indices(KFD, ""):
        folder = f"{KFD}/{node}"
        facts = properties(tree, f"{folder}/properties")
        if facts.get("simd_count"):
            facts["unique_id"] = gpus
            gpus += 1
        yield f"{folder}/properties", _kept(facts, KFD_NODE)
        if name := tree.text(f"{folder}/name"):
            yield f"{folder}/name", name
        for kind, keys in (
            ("mem_banks", KFD_BANK),
            ("io_links", KFD_LINK),
            ("p2p_links", KFD_LINK),
        ):
            for number in tree.indices(f"{folder}/{kind}", ""):
                path = f"{folder}/{kind}/{number}/properties"
                if kept := _kept(properties(tree, path), keys):
                    yield path, kept


def _kept(facts: dict[str, int], keys: tuple[str, ...]) -> str:
    return "\n".join(f"{key} {facts[key]}" for key in keys if key in facts)


def _pci(tree: Tree, machine: Machine) -> Iterator[tuple[str, str]]:
    places = {gpu.pci: gpu.numa_node for gpu in machine.gpus}
    adapters = {nic.pci: nic.numa_node for nic in machine.nics if nic.pci}
    for pci, node in (adapters | places).items():
        yield f"{DEVICES}/{pci}/numa_node", _node(node)
        if link := tree.link(f"{DEVICES}/{pci}"):
            yield f"{DEVICES}/{pci}", link
    for gpu in machine.gpus:
        folder = f"{DEVICES}/{gpu.pci}"
        if kind := tree.text(f"{folder}/iommu_group/type"):
            yield f"{folder}/iommu_group/type", kind
        for port in bridges(tree, gpu.pci):
            for file in ("max_link_speed", "current_link_width"):
                if text := tree.text(f"{DEVICES}/{port}/{file}"):
                    yield f"{DEVICES}/{port}/{file}", text


def _node(node: int | None) -> str:
    return "-1" if node is None else str(node)


def _merge(files: dict[str, str]) -> list[tuple[str, str]]:
    """Joins files of the same content: first over CPUs or GPUs, then over their files."""
    plain: list[tuple[str, str]] = []
    by_file: dict[tuple[str, str, str], list[int]] = {}
    for path, text in files.items():
        if of_cpu := re.fullmatch(rf"({CPU}/cpu|{CPU}/cpufreq/policy|{FACTS}/gpu)(\d+)/(.*)", path):
            by_file.setdefault((of_cpu[1], of_cpu[3], text), []).append(int(of_cpu[2]))
        else:
            plain.append((path, text))
    by_cpus: dict[tuple[str, str, str], list[str]] = {}
    for (folder, file, text), cpus in by_file.items():
        by_cpus.setdefault((folder, format_list(cpus), text), []).append(file)
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
