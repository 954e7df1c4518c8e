# SPDX-License-Identifier: Apache-2.0
"""The machine as hwloc's lstopo describes it: hwloc corrects errors of some firmware in /sys."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from nearpeak.asking import answer_of
from nearpeak.machine.machine import Cache, Core, Machine, NumaNode
from nearpeak.machine.nics import INFINIBAND, NET
from nearpeak.machine.sysfs import assemble, device_node, distances, memory_kinds
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
    return answer_of([program, "--of", "xml", "--disallowed"], SECONDS, env) or None


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
    nodes = top.findall(".//object[@type='NUMANode']")
    cores = top.findall(".//object[@type='Core']")
    if not cores or not nodes:
        raise ValueError("no topology that hwloc 2 or later wrote: it has no cores or no memory")
    # Memory without cores is listed at the cores it is near to. A core's own node is ordinary
    # memory before HBM, CXL or a GPU's, and the first of those.
    ordered = sorted(
        nodes,
        key=lambda node: (node.get("subtype") not in (None, "DRAM"), int(node.attrib["os_index"])),
    )
    owner: dict[int, int] = {}
    for node in reversed(ordered):
        owner.update(dict.fromkeys(_cpus(node), int(node.attrib["os_index"])))
    matrix = _distances(top)
    kinds = memory_kinds(tree)
    numa_nodes = [_numa_node(node, owner, matrix, tree, kinds) for node in nodes]
    places = _places(top, set(owner.values()))

    def near(device: str) -> int | None:
        folder, _, name = device.rpartition("/")
        place = places.get(name) if folder in (NET, INFINIBAND) else None
        return device_node(tree, device, numa_nodes) if place is None else place

    packages = {
        core: int(package.attrib["os_index"])
        for package in top.iterfind(".//object[@type='Package'][@os_index]")
        for core in package.iterfind(".//object[@type='Core']")
    }
    return assemble(
        tree,
        source="lstopo",
        cores=[
            Core(cpus=cpus, package=packages.get(core), numa_node=owner.get(cpus[0]))
            for core, cpus in zip(cores, map(_cpus, cores), strict=True)
        ],
        caches=[
            Cache(
                level=int(cache.attrib["depth"]),
                kind=CACHE_KINDS[cache.attrib["cache_type"]],
                size_bytes=int(cache.attrib["cache_size"]),
                cpus=_cpus(cache),
            )
            for cache in top.iterfind(".//object[@cache_type][@cache_size]")
            if int(cache.attrib["cache_size"])
        ],
        numa_nodes=numa_nodes,
        near=near,
    )


def _cpus(element: ElementTree.Element) -> list[int]:
    return parse_mask(element.attrib["cpuset"])


def _numa_node(
    node: ElementTree.Element,
    owner: dict[int, int],
    matrix: dict[int, dict[int, int]],
    tree: Tree,
    kinds: Mapping[int, str],
) -> NumaNode:
    index = int(node.attrib["os_index"])
    return NumaNode(
        index=index,
        cpus=sorted(cpu for cpu, home in owner.items() if home == index),
        memory_bytes=int(node.get("local_memory", "0")),
        distances=matrix.get(index) or distances(tree, index),
        memory=kinds.get(index) or _memory_kind(node.get("subtype", "")),
    )


def _memory_kind(subtype: str) -> str:
    """The kind of memory by hwloc's word for it: `GPUMemory`, `CXL-DRAM`, ..."""
    if subtype.startswith("CXL"):
        return "cxl"
    return "gpu" if subtype == "GPUMemory" else "host"


def _places(top: ElementTree.Element, homes: set[int]) -> dict[str, int | None]:
    """The one NUMA node with cores where each device hangs; None where it is of several."""
    parents = {child: parent for parent in top.iter() for child in parent}
    places: dict[str, int | None] = {}
    for device in top.iterfind(".//object[@type='OSDev'][@name]"):
        above = device
        while "nodeset" not in above.attrib:  # devices and bridges have none
            above = parents[above]
        nodes = homes.intersection(parse_mask(above.attrib["nodeset"]))
        places[device.attrib["name"]] = nodes.pop() if len(nodes) == 1 else None
    return places


def _distances(top: ElementTree.Element) -> dict[int, dict[int, int]]:
    """node -> node -> distance; empty where hwloc wrote none, as on a machine of one node."""
    for table in top.iterfind(".//distances2[@type='NUMANode']"):
        nodes, values = _numbers(table, "indexes"), _numbers(table, "u64values")
        latency = table.get("name", "NUMALatency") == "NUMALatency"
        if latency and len(values) == len(nodes) ** 2:
            rows = zip(*[iter(values)] * len(nodes), strict=True)
            return {
                node: dict(zip(nodes, row, strict=True))
                for node, row in zip(nodes, rows, strict=True)
            }
    return {}


def _numbers(table: ElementTree.Element, tag: str) -> list[int]:
    """hwloc breaks long lists over several elements."""
    return [int(word) for part in table.iter(tag) for word in "".join(part.itertext()).split()]
