# SPDX-License-Identifier: Apache-2.0
"""AMD's GPUs on recorded machines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine.gpus.amd import KFD
from nearpeak.machine.machine import Gpu, GpuLink, Machine
from nearpeak.machine.sysfs import from_sysfs

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]


def link(machine: Machine, one: int, other: int) -> GpuLink:
    return next(each for each in machine.gpu_links if (each.one, each.other) == (one, other))


def test_a_node_of_four_mi250x(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("mi250x-node"))
    assert machine.gpus[1] == Gpu(
        index=1,
        vendor="amd",
        name="AMD Instinct MI250X",
        uuid="GPU-0000000000000001",
        pci="0000:c6:00.0",
        numa_node=3,
        memory_bytes=68702699520,
        memory_gbs=pytest.approx(1638.4),
        host_link="xgmi",
        host_gbs=36.0,
    )
    assert [gpu.numa_node for gpu in machine.gpus] == [3, 3, 1, 1, 0, 0, 2, 2]
    assert len(machine.gpu_links) == 28
    assert {each.kind for each in machine.gpu_links} == {"xgmi"}
    # Four links within a module, two or one between some modules, none between others.
    rates = [link(machine, 0, other).gbs for other in (1, 6, 2, 7)]
    assert rates == [200.0, 100.0, 50.0, None]
    assert machine.gpu_notes == []


def test_a_hidden_gpu_is_said(recorded: Recorded, put: Put) -> None:
    root = recorded("mi250x-node")
    put(root, f"{KFD}/4/properties", "")
    machine = from_sysfs(root)
    assert [gpu.pci[5:7] for gpu in machine.gpus] == ["c6", "c9", "ce", "d1", "d6", "d9", "de"]
    assert machine.gpu_notes == [
        "1 of AMD's GPUs cannot be used: hidden by a control group or container"
    ]


def pcie_gpu(put: Put, root: Path, node: int, bus: int, place: str, peers: str = "") -> None:
    """Adds a GPU of PCIe 4 below the devices `place`, with links to the nodes of `peers`."""
    folder = f"{KFD}/{node}"
    pci = f"0000:{bus:02x}:00.0"
    put(root, f"{folder}/name", "gfx1100")
    put(
        root,
        f"{folder}/properties",
        f"simd_count 192\nvendor_id 4098\ndevice_id 29772\nlocation_id {bus << 8}\nunique_id {bus}",
    )
    put(root, f"{folder}/mem_banks/0/properties", "heap_type 2\nsize_in_bytes 25753026560")
    put(root, f"sys/bus/pci/devices/{pci}", f"../../../devices/{place}/{pci}")
    put(root, f"sys/bus/pci/devices/{pci}/max_link_speed", "16.0 GT/s PCIe")
    put(root, f"sys/bus/pci/devices/{pci}/current_link_width", "16")
    for number, peer in enumerate(peers):
        put(root, f"{folder}/p2p_links/{number}/properties", f"type 2\nnode_to {peer}")


def test_pcie_cards(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    put(root, f"{KFD}/0/properties", "cpu_cores_count 8\nsimd_count 0")
    pcie_gpu(put, root, 1, 0x03, "pci0000:00/0000:00:01.0/0000:01:00.0", "2")
    pcie_gpu(put, root, 2, 0x04, "pci0000:00/0000:00:01.0/0000:01:00.0")
    pcie_gpu(put, root, 3, 0x05, "pci0000:00/0000:00:02.0")
    machine = from_sysfs(root)
    assert [gpu.name for gpu in machine.gpus] == ["AMD gfx1100 (0x744c)"] * 3
    assert machine.gpus[0].memory_gbs is None
    assert machine.gpus[0].host_link == "pcie"
    assert machine.gpus[0].host_gbs == pytest.approx(28.807, abs=0.001)
    assert (link(machine, 0, 1).kind, link(machine, 0, 1).peer) == ("pcie-switch", None)
    assert link(machine, 0, 2).kind == "host-bridge"
    assert "no link between them" in (link(machine, 0, 2).peer or "")


def test_another_vendors_node_is_left_out(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    put(root, f"{KFD}/1/properties", "simd_count 8\nvendor_id 4318")
    assert from_sysfs(root).gpus == []
