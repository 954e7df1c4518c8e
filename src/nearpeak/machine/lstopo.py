# SPDX-License-Identifier: Apache-2.0
"""The machine as hwloc's lstopo describes it: hwloc corrects errors of some firmware in /sys."""

import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

from nearpeak.machine.machine import Cache, Core, Machine, NumaNode
from nearpeak.machine.sysfs import INFINIBAND, NET, assemble, device_node, distances
from nearpeak.machine.tree import Tree, parse_mask, read_tree

SECONDS = 30
CACHE_KINDS = {"0": "unified", "1": "data", "2": "instruction"}  # hwloc_obj_cache_type_e
ACCELERATORS = "-cuda,-nvml,-opencl,-rsmi,-levelzero,-gl"  # slow to start, and not needed


def lstopo_xml(root: Path = Path("/")) -> str | None:
    """The output of `lstopo --of xml` for the machine under `root`; None where lstopo fails."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if program is None:
        return None
    # HWLOC_ variables of the user's may describe another machine than this one.
    env = {name: value for name, value in os.environ.items() if not name.startswith("HWLOC_")}
    env["HWLOC_COMPONENTS"] = ACCELERATORS
    env["HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES"] = "1"
    if root != Path("/"):
        env["HWLOC_FSROOT"] = str(root)
        env["HWLOC_COMPONENTS"] = "linux,stop"
    try:
        done = subprocess.run(
            [program, "--of", "xml", "--disallowed"],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def from_lstopo(xml: str, root: Path = Path("/")) -> Machine:
    """The machine whose topology hwloc (2 or later) wrote as `xml`, and whose /proc is at `root`.

    hwloc gives cores, caches, NUMA nodes and the places of devices; names, rates and the limits of
    this process are read under `root`. ValueError where the XML is not such a topology.
    """
    try:
        top = ElementTree.fromstring(xml)
        return _machine(top, read_tree(root))
    except (ElementTree.ParseError, KeyError) as error:
        raise ValueError(f"no topology that hwloc 2 or later wrote: {error}") from error


def _machine(top: ElementTree.Element, tree: Tree) -> Machine:
    parents = {child: parent for parent in top.iter() for child in parent}
    objects = list(top.iter("object"))

    nodes = [element for element in objects if element.get("type") == "NUMANode"]
    # Memory without cores is listed at the cores it is near to. A core's own node is ordinary
    # memory before HBM, CXL or a GPU's, and the first of those.
    ordered = sorted(
        nodes,
        key=lambda node: (node.get("subtype") not in (None, "DRAM"), int(node.attrib["os_index"])),
    )
    owner: dict[int, int] = {}
    for node in ordered:
        for cpu in parse_mask(node.attrib["cpuset"]):
            owner.setdefault(cpu, int(node.attrib["os_index"]))

    cores: list[Core] = []
    caches: list[Cache] = []
    for element in objects:
        kind = element.attrib["type"]
        if kind == "Core":
            cpus = parse_mask(element.attrib["cpuset"])
            cores.append(
                Core(cpus=cpus, package=_package(element, parents), numa_node=owner.get(cpus[0]))
            )
        elif "cache_type" in element.attrib and int(element.get("cache_size", "0")):
            caches.append(
                Cache(
                    level=int(element.attrib["depth"]),
                    kind=CACHE_KINDS[element.attrib["cache_type"]],
                    size_bytes=int(element.attrib["cache_size"]),
                    cpus=parse_mask(element.attrib["cpuset"]),
                )
            )
    if not cores or not nodes:
        raise ValueError("no topology that hwloc 2 or later wrote: it has no cores or no memory")

    matrix = _distances(top)
    numa_nodes = []
    for node in nodes:
        index = int(node.attrib["os_index"])
        memory = node.get("local_memory")
        numa_nodes.append(
            NumaNode(
                index=index,
                cpus=sorted(cpu for cpu, home in owner.items() if home == index),
                memory_bytes=int(memory) if memory else 0,
                distances=matrix.get(index) or distances(tree, index),
                memory="gpu" if node.get("subtype") == "GPUMemory" else "host",
            )
        )

    homes = set(owner.values())
    placed = {
        element.attrib["name"]: _near(element, parents, homes)
        for element in objects
        if element.attrib["type"] == "OSDev" and "name" in element.attrib
    }

    def near(device: str) -> int | None:
        folder, _, name = device.rpartition("/")
        if folder in (NET, INFINIBAND) and placed.get(name) is not None:
            return placed[name]
        return device_node(tree, device, numa_nodes)

    return assemble(
        tree, source="lstopo", cores=cores, caches=caches, numa_nodes=numa_nodes, near=near
    )


def _package(
    element: ElementTree.Element, parents: dict[ElementTree.Element, ElementTree.Element]
) -> int | None:
    """The number of the package that a core is in; None where it is not known."""
    above: ElementTree.Element | None = element
    while above is not None:
        if above.get("type") == "Package":
            number = above.get("os_index")
            return None if number is None else int(number)
        above = parents.get(above)
    return None


def _near(
    element: ElementTree.Element,
    parents: dict[ElementTree.Element, ElementTree.Element],
    homes: set[int],
) -> int | None:
    """The one NUMA node with cores where the device hangs; None where it is of several."""
    above = element
    while "nodeset" not in above.attrib:  # devices and bridges have none
        above = parents[above]
    nodes = [node for node in parse_mask(above.attrib["nodeset"]) if node in homes]
    return nodes[0] if len(nodes) == 1 else None


def _distances(top: ElementTree.Element) -> dict[int, dict[int, int]]:
    """node -> node -> distance; empty where hwloc wrote none, as on a machine of one node."""
    for table in top.iter("distances2"):
        if table.get("type") == "NUMANode" and table.get("name", "NUMALatency") == "NUMALatency":
            nodes = _numbers(table, "indexes")
            values = _numbers(table, "u64values")
            if len(values) == len(nodes) ** 2:
                rows = (
                    values[start : start + len(nodes)]
                    for start in range(0, len(values), len(nodes))
                )
                return {
                    node: dict(zip(nodes, row, strict=True))
                    for node, row in zip(nodes, rows, strict=True)
                }
    return {}


def _numbers(table: ElementTree.Element, tag: str) -> list[int]:
    """hwloc breaks long lists over several elements."""
    return [int(word) for element in table.iter(tag) for word in (element.text or "").split()]
