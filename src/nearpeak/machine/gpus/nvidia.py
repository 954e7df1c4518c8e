# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's GPUs, from NVML's facts (`nvidia/` of a recorded machine) and from /sys."""

import itertools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from nearpeak.machine.gpus import nvml
from nearpeak.machine.gpus.fabric import CHANNELS, clique_of
from nearpeak.machine.gpus.inventory import GpuInventory
from nearpeak.machine.gpus.pci import bridges, link_gbs, links_gbs, pci_kind, pci_node, root_bus
from nearpeak.machine.machine import Gpu, GpuLink, NumaNode
from nearpeak.machine.rates import bottleneck, least
from nearpeak.machine.tree import RecordedTree, Tree, format_list, parse_list
from nearpeak.numbers import count

FACTS = nvml.FACTS
DRIVER = "proc/driver/nvidia"
MPS_CONTROL = "nvidia-cuda-mps-control"
MPS_PIPES = "/tmp/nvidia-mps"  # the default folder of a daemon's pipes
# MB/s of one NVLink each way. NVML reports the raw rate with error correction, NVIDIA's data sheets
# the payload: V100 300 GB/s bidirectional by 6 links, A100 600 by 12, H100 900 by 18, B200 1800 by
# 18.
LANE_PAYLOAD = {25781: 25000, 26562: 25000, 53125: 50000}
# GPUs that share a package and its memory with the CPU: NVML reports no link to the host that means
# anything (NVIDIA DGX Spark User Guide, Hardware Overview).
IN_ONE_PACKAGE = ("NVIDIA GB10",)
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
    if not (tree.exists(DRIVER) or nvml.library_present()):
        return {}
    import pynvml  # slow to import, and most machines without a driver never need it

    facts = nvml.ask(pynvml, os.environ)
    if shutil.which(MPS_CONTROL):
        facts[f"{FACTS}/mps/control"] = "found"
    if owner := _mps_owner():
        facts[f"{FACTS}/mps/daemon"] = owner
    return facts


def nvidia_gpus(tree: Tree, numa_nodes: list[NumaNode]) -> GpuInventory:
    """The GPUs that this process may use; notes name the others."""
    facts = RecordedTree(tree.root, nvidia_facts(tree))
    if error := facts.text(f"{FACTS}/error"):
        note = (
            f"NVIDIA's driver does not answer ({error}): see whether nvidia-smi works; update an "
            "old driver, restart the machine after an update"
        )
        return GpuInventory(notes=[note])
    notes: list[str] = []
    indices = facts.indices(FACTS, "gpu")
    ordinals: dict[int, int | None] = dict.fromkeys(indices)
    wanted, _, instance = facts.text(f"{FACTS}/visible").partition("/mig")
    if facts.exists(f"{FACTS}/visible"):
        named = map(parse_list, wanted.split(","))
        ordinals = {index: number for number, index in enumerate(itertools.chain(*named))}
    visible = sorted(ordinals.keys() & indices)
    if hidden := sorted(set(indices) - set(visible)):
        notes.append(f"NVIDIA {_named(hidden)} hidden by CUDA_VISIBLE_DEVICES: change it")
    refused = {index: note for index in visible if (note := _refusal(facts, index))}
    notes += refused.values()
    usable = [index for index in visible if index not in refused]
    gpus = [_gpu(tree, facts, index, ordinals[index], numa_nodes) for index in usable]
    if parted := [gpu for gpu in gpus if _instances(facts, gpu.index)]:
        whole = min(parted, key=lambda gpu: (gpu.ordinal or 0, gpu.index))
        number = int(instance) if instance else _instances(facts, whole.index)[0]
        notes += _instance_notes(facts, whole.index, number, usable)
        gpus = [_instance(facts, whole, number)]
    notes += _fabric_notes(tree, facts, [gpu.index for gpu in gpus])
    # The driver lists those too that a control group or container hides from NVML.
    if facts.exists(FACTS) and (unseen := len(tree.names(f"{DRIVER}/gpus")) - len(indices)) > 0:
        notes.append(
            f"{unseen} more of NVIDIA's GPUs are in this machine, but hidden by a control group "
            "or container"
        )
    return GpuInventory(
        gpus=gpus,
        links=[_link(tree, facts, *pair) for pair in itertools.combinations(gpus, 2)],
        notes=notes,
        mps=bool(gpus) and facts.exists(f"{FACTS}/mps/control"),
    )


def _refusal(facts: Tree, index: int) -> str:
    """The note on a GPU that cannot be used; empty for another."""
    if error := facts.text(f"{FACTS}/gpu{index}/error"):
        return (
            f"NVIDIA GPU {index} cannot be used ({error}): it is lost, or taken away by a "
            "control group or container; see nvidia-smi and dmesg"
        )
    if facts.text(f"{FACTS}/gpu{index}/mig") == "on" and not _instances(facts, index):
        return (
            f"NVIDIA GPU {index} is in MIG mode without an instance: create one (nvidia-smi mig"
            f" -cgi), or leave that mode: nvidia-smi -i {index} -mig 0"
        )
    return ""


def _instances(facts: Tree, index: int) -> list[int]:
    """The numbers of the MIG instances of a GPU."""
    return facts.indices(f"{FACTS}/gpu{index}", "mig")


def _instance(facts: Tree, gpu: Gpu, number: int) -> Gpu:
    """A MIG instance of the GPU; the rate of its part of the memory is not known."""
    folder = f"{FACTS}/gpu{gpu.index}/mig{number}"
    return msgspec.structs.replace(
        gpu,
        name=facts.text(f"{folder}/name") or f"{gpu.name} MIG",
        uuid=facts.text(f"{folder}/uuid"),
        memory_bytes=facts.integer(f"{folder}/memory_bytes"),
        memory_gbs=None,
        ordinal=0,  # CUDA shows no other
        fabric=None,
    )


def _instance_notes(facts: Tree, index: int, number: int, usable: list[int]) -> Iterator[str]:
    """The notes on the GPUs and MIG instances that CUDA does not show with this instance."""
    choose = "choose with CUDA_VISIBLE_DEVICES (nvidia-smi -L has their UUIDs)"
    if others := [other for other in _instances(facts, index) if other != number]:
        names = (facts.text(f"{FACTS}/gpu{index}/mig{other}/name") for other in others)
        profiles = ", ".join(name.rpartition(" ")[2] for name in names)
        yield (
            f"NVIDIA GPU {index} has {count(len(others), 'more MIG instance')} ({profiles}): CUDA"
            " shows a process one instance, so messages between instances are not measured;"
            f" {choose}"
        )
    if unseen := [other for other in usable if other != index]:
        yield f"NVIDIA {_named(unseen)} not shown by CUDA together with a MIG instance: {choose}"


def _fabric_notes(tree: Tree, facts: Tree, indices: list[int]) -> Iterator[str]:
    """The notes on an NVLink fabric with other hosts that cannot be used."""
    states = {index: facts.text(f"{FACTS}/gpu{index}/fabric") for index in indices}
    for state in sorted({*filter(None, states.values())}):
        named = _named([index for index in indices if states[index] == state])
        if clique_of(state) is None:
            yield (
                f"NVIDIA {named} not in the NVLink fabric yet ({state}): see Fabric in"
                " nvidia-smi -q, and the fabric manager"
            )
        elif not tree.names(CHANNELS):
            yield (
                f"NVIDIA {named} in an NVLink fabric with other hosts, but without an IMEX channel"
                f" in /{CHANNELS}: memory cannot be shared over it; load the module nvidia with"
                " NVreg_CreateImexChannel0=1, or make channel0 there with mknod (NVIDIA's IMEX"
                " guide)"
            )


def _named(indices: list[int]) -> str:
    return f"GPU {indices[0]} is" if len(indices) == 1 else f"GPUs {format_list(indices)} are"


def _mps_owner() -> str:
    """The owner of the MPS daemon that programs would use: `own`, `root` or `other`; empty without
    a daemon."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", MPS_PIPES)
    try:
        owner = (Path(folder) / "control").stat().st_uid
    except OSError:
        return ""
    return {0: "root", os.getuid(): "own"}.get(owner, "other")


def _gpu(
    tree: Tree, facts: Tree, index: int, ordinal: int | None, numa_nodes: list[NumaNode]
) -> Gpu:
    folder = f"{FACTS}/gpu{index}"
    pci = facts.text(f"{folder}/pci")
    host_link, host_gbs = _host(tree, facts, index, pci)
    clock = facts.integer(f"{folder}/memory_clock_mhz")
    bits = facts.integer(f"{folder}/memory_bus_bits")
    return Gpu(
        index=index,
        vendor="nvidia",
        name=facts.text(f"{folder}/name") or "unknown",
        uuid=facts.text(f"{folder}/uuid"),
        pci=pci,
        numa_node=pci_node(tree, pci, numa_nodes),
        upstream=bridges(tree, pci)[:-1],
        root_bus=root_bus(tree, pci),
        links_gbs=_links(tree, facts, index, pci),
        memory_bytes=facts.integer(f"{folder}/memory_bytes"),
        # Two transfers a clock, on every wire.
        memory_gbs=2 * clock * 1e6 * bits / 8 / 1e9 if clock and bits else None,
        host_link=host_link,
        host_gbs=host_gbs,
        ordinal=ordinal,
        fabric=clique_of(facts.text(f"{folder}/fabric")),
    )


def _host(tree: Tree, facts: Tree, index: int, pci: str) -> tuple[str, float | None]:
    folder = f"{FACTS}/gpu{index}"
    if c2c := facts.text(f"{folder}/c2c"):
        rate = re.match(r"\d+", c2c)
        return "nvlink-c2c", int(rate[0]) / 1000 if rate else None
    if facts.text(f"{folder}/name") in IN_ONE_PACKAGE:
        return "package", None
    if lanes := _lanes(facts, index, "cpu"):
        return "nvlink", _gbs(lanes)
    return "pcie", least(_links(tree, facts, index, pci))


def _links(tree: Tree, facts: Tree, index: int, pci: str) -> list[float | None]:
    """GB/s each way of the PCIe links above the GPU, its own last, by /sys and NVML."""
    folder = f"{FACTS}/gpu{index}"
    reported = link_gbs(
        facts.integer(f"{folder}/pcie_generation"), facts.integer(f"{folder}/pcie_width")
    )
    *above, last = links_gbs(tree, pci)
    return [*above, least([reported, last])]


def _lanes(facts: Tree, index: int, end: str) -> list[int | None]:
    """MB/s of each active NVLink of the GPU to that end: `cpu`, `switch` or `gpu PCI`."""
    folder = f"{FACTS}/gpu{index}"
    lanes = (facts.text(f"{folder}/nvlink{link}") for link in facts.indices(folder, "nvlink"))
    rates = (lane.partition(" MB/s to ") for lane in lanes)
    return [int(mbs) if mbs.isdecimal() else None for mbs, _, to in rates if to == end]


def _gbs(lanes: list[int | None]) -> float | None:
    """GB/s of payload, each way, of all lanes together."""
    rates = [LANE_PAYLOAD.get(lane, lane) for lane in lanes if lane]
    return sum(rates) / 1000 if len(rates) == len(lanes) > 0 else None


def _link(tree: Tree, facts: Tree, first: Gpu, second: Gpu) -> GpuLink:
    pair = f"{FACTS}/gpu{first.index}/to{second.index}"
    peer = facts.text(f"{pair}/peer")
    kind, gbs = _nearest(tree, facts, pair, first, second)
    return GpuLink(
        one=first.index,
        other=second.index,
        kind=kind,
        gbs=gbs,
        peer=None if peer in ("", "ok") else peer,
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
        return "nvlink", bottleneck(map(_gbs, switched))
    if facts.text(f"{pair}/nvlink") == "ok":  # a virtual machine that hides where lanes end
        return "nvlink", None
    kind = KINDS.get(facts.text(f"{pair}/ancestor")) or pci_kind(tree, first, second)
    if kind in ("cross-socket", "unknown") or "pcie" not in (first.host_link, second.host_link):
        return kind, None  # what joins the sockets does not say its rate
    return kind, bottleneck([first.host_gbs, second.host_gbs])
