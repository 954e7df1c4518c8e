# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's GPUs, from NVML's facts (`nvidia/` of a recorded machine) and from /sys."""

import os
import re
import shutil
from itertools import combinations
from pathlib import Path

from nearpeak.machine.gpus import nvml
from nearpeak.machine.gpus.inventory import GpuInventory
from nearpeak.machine.gpus.pci import bridges, link_gbs, pci_kind, pci_node, pcie_gbs
from nearpeak.machine.machine import Gpu, GpuLink, NumaNode
from nearpeak.machine.tree import Tree, format_list, parse_list

FACTS = nvml.FACTS
DRIVER = "proc/driver/nvidia"
MPS_CONTROL = "nvidia-cuda-mps-control"
MPS_PIPES = "/tmp/nvidia-mps"  # the default folder of a daemon's pipes
# MB/s of one NVLink each way. NVML reports the raw rate with error correction, NVIDIA's data sheets
# the payload: V100 300 GB/s bidirectional by 6 links, A100 600 by 12, H100 900 by 18, B200 1800 by
# 18.
LANE_PAYLOAD = {25781: 25000, 26562: 25000, 53125: 50000}
# nvmlGpuTopologyLevel_t, as nvml.py words it
KINDS = {
    "internal": "pcie-switch",
    "single-switch": "pcie-switch",
    "multiple-switches": "pcie-switch",
    "host-bridge": "host-bridge",
    "node": "host-bridge",
    "system": "cross-socket",
}


def nvidia_facts(tree: Tree) -> dict[str, str]:
    """Path -> text of the facts from NVIDIA's library and tools; empty without a driver."""
    if not tree.live:
        return tree.under(FACTS)
    driver = tree.exists(DRIVER)
    if not driver and not nvml.library_present():
        return {}
    import pynvml  # slow to import, and most machines without a driver never need it

    facts = nvml.ask(pynvml, os.environ)
    if shutil.which(MPS_CONTROL):
        facts[f"{FACTS}/mps/control"] = "found"
    if (owner := _mps_owner()) is not None:
        facts[f"{FACTS}/mps/daemon"] = owner
    return facts


def nvidia_gpus(tree: Tree, numa_nodes: list[NumaNode]) -> GpuInventory:
    """The GPUs that this process may use; notes name the others."""
    facts = Tree(tree.root, nvidia_facts(tree))
    if error := facts.text(f"{FACTS}/error"):
        note = (
            f"NVIDIA's driver does not answer ({error}): see whether nvidia-smi works; update an "
            "old driver, restart the machine after an update"
        )
        return GpuInventory(notes=[note])
    gpus: list[Gpu] = []
    notes: list[str] = []
    indices = facts.indices(FACTS, "gpu")
    shown = facts.text(f"{FACTS}/visible")
    # In the order in which they are named.
    visible = (
        indices
        if shown is None
        else [index for part in shown.split(",") for index in parse_list(part)]
    )
    if hidden := sorted(set(indices) - set(visible)):
        notes.append(f"NVIDIA {_named(hidden)} hidden by CUDA_VISIBLE_DEVICES: change it")
    for index in indices:
        folder = f"{FACTS}/gpu{index}"
        if index not in visible:
            continue
        if error := facts.text(f"{folder}/error"):
            notes.append(
                f"NVIDIA GPU {index} cannot be used ({error}): it is lost, or taken away by a "
                "control group or container; see nvidia-smi and dmesg"
            )
        elif facts.text(f"{folder}/mig") == "on":
            notes.append(
                f"NVIDIA GPU {index} is in MIG mode, whose parts are not measured: "
                f"nvidia-smi -i {index} -mig 0"
            )
        else:
            ordinal = None if shown is None else visible.index(index)
            gpus.append(_gpu(tree, facts, index, ordinal, numa_nodes))
    # The driver lists those too that a control group or container hides from NVML.
    if facts.exists(FACTS) and (unseen := len(tree.names(f"{DRIVER}/gpus")) - len(indices)) > 0:
        notes.append(
            f"{unseen} more of NVIDIA's GPUs are in this machine, but hidden by a control group "
            "or container"
        )
    return GpuInventory(
        gpus=gpus,
        links=[_link(tree, facts, *pair) for pair in combinations(gpus, 2)],
        notes=notes,
        mps=bool(gpus) and facts.exists(f"{FACTS}/mps/control"),
    )


def _named(indices: list[int]) -> str:
    return f"GPU {indices[0]} is" if len(indices) == 1 else f"GPUs {format_list(indices)} are"


def _mps_owner() -> str | None:
    """The owner of the MPS daemon that programs would use: `own`, `root` or `other`."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", MPS_PIPES)
    try:
        owner = (Path(folder) / "control").stat().st_uid
    except OSError:
        return None
    if owner == os.getuid():
        return "own"
    return "root" if owner == 0 else "other"


def _gpu(
    tree: Tree, facts: Tree, index: int, ordinal: int | None, numa_nodes: list[NumaNode]
) -> Gpu:
    folder = f"{FACTS}/gpu{index}"
    pci = facts.text(f"{folder}/pci") or ""
    host_link, host_gbs = _host(tree, facts, index, pci)
    clock = facts.integer(f"{folder}/memory_clock_mhz")
    bits = facts.integer(f"{folder}/memory_bus_bits")
    return Gpu(
        index=index,
        vendor="nvidia",
        name=facts.text(f"{folder}/name") or "unknown",
        uuid=facts.text(f"{folder}/uuid") or "",
        pci=pci,
        numa_node=pci_node(tree, pci, numa_nodes),
        upstream=bridges(tree, pci)[:-1],
        memory_bytes=facts.integer(f"{folder}/memory_bytes"),
        # Two transfers a clock, on every wire.
        memory_gbs=2 * clock * 1e6 * bits / 8 / 1e9 if clock and bits else None,
        host_link=host_link,
        host_gbs=host_gbs,
        ordinal=ordinal,
    )


def _host(tree: Tree, facts: Tree, index: int, pci: str) -> tuple[str, float | None]:
    folder = f"{FACTS}/gpu{index}"
    if c2c := re.match(r"\d+", facts.text(f"{folder}/c2c") or ""):
        return "nvlink-c2c", int(c2c[0]) / 1000
    if lanes := _lanes(facts, index, "cpu"):
        return "nvlink", _gbs(lanes)
    reported = link_gbs(
        facts.integer(f"{folder}/pcie_generation"), facts.integer(f"{folder}/pcie_width")
    )
    rates = [rate for rate in (reported, pcie_gbs(tree, pci)) if rate is not None]
    return "pcie", min(rates, default=None)


def _lanes(facts: Tree, index: int, end: str) -> list[int | None]:
    """MB/s of each active NVLink of the GPU to that end: `cpu`, `switch` or `gpu PCI`."""
    folder = f"{FACTS}/gpu{index}"
    rates: list[int | None] = []
    for link in facts.indices(folder, "nvlink"):
        lane = re.fullmatch(r"(\w+) MB/s to (.+)", facts.text(f"{folder}/nvlink{link}") or "")
        if lane and lane[2] == end:
            rates.append(int(lane[1]) if lane[1].isdecimal() else None)
    return rates


def _gbs(lanes: list[int | None]) -> float | None:
    """GB/s of payload, each way, of all lanes together."""
    rates = [LANE_PAYLOAD.get(lane, lane) for lane in lanes if lane is not None]
    return sum(rates) / 1000 if lanes and len(rates) == len(lanes) else None


def _link(tree: Tree, facts: Tree, first: Gpu, second: Gpu) -> GpuLink:
    pair = f"{FACTS}/gpu{first.index}/to{second.index}"
    peer = facts.text(f"{pair}/peer")
    kind, gbs = _nearest(tree, facts, pair, first, second)
    return GpuLink(
        one=first.index,
        other=second.index,
        kind=kind,
        gbs=gbs,
        peer=None if peer in (None, "ok") else peer,
        switched=kind == "nvlink" and bool(_lanes(facts, first.index, "switch")),
    )


def _nearest(
    tree: Tree, facts: Tree, pair: str, first: Gpu, second: Gpu
) -> tuple[str, float | None]:
    if direct := _lanes(facts, first.index, f"gpu {second.pci}"):
        return "nvlink", _gbs(direct)
    # Through a switch every lane of a GPU reaches every other GPU.
    switched = [_lanes(facts, gpu.index, "switch") for gpu in (first, second)]
    if all(switched):
        rates = [rate for rate in map(_gbs, switched) if rate is not None]
        return "nvlink", min(rates) if len(rates) == 2 else None
    if facts.text(f"{pair}/nvlink") == "ok":  # a virtual machine that hides where lanes end
        return "nvlink", None
    kind = KINDS.get(facts.text(f"{pair}/ancestor") or "") or pci_kind(tree, first, second)
    if kind in ("cross-socket", "unknown") or "pcie" not in (first.host_link, second.host_link):
        return kind, None  # what joins the sockets does not say its rate
    hosts = [rate for rate in (first.host_gbs, second.host_gbs) if rate is not None]
    return kind, min(hosts) if len(hosts) == 2 else None
