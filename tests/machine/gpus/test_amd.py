# SPDX-License-Identifier: Apache-2.0
"""AMD's GPUs on recorded machines."""

import re
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
        upstream=["0000:c4:07.1"],
        root_bus="0000:c4",
        links_gbs=[None, None],
    )
    assert [gpu.numa_node for gpu in machine.gpus] == [3, 3, 1, 1, 0, 0, 2, 2]
    assert len(machine.gpu_links) == 28
    assert {each.kind for each in machine.gpu_links} == {"xgmi"}
    # Four links within a module, two or one between some modules, none between others.
    rates = [link(machine, 0, other).gbs for other in (1, 6, 2, 7)]
    assert rates == [200.0, 100.0, 50.0, None]
    assert [link(machine, 0, other).hops for other in (1, 6, 2, 7)] == [1, 1, 1, 2]
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


def test_partitions_of_one_package(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("mi300x-cpx"))
    assert len(machine.gpus) == 63
    assert len({gpu.uuid for gpu in machine.gpus}) == 63
    assert [gpu.uuid for gpu in machine.gpus[7:9]] == [
        "GPU-0000000000000000.7",
        "GPU-0000000000000001.0",
    ]
    # Of a package there is one PCI device.
    assert len({gpu.pci for gpu in machine.gpus}) == 8
    assert [gpu.partition for gpu in machine.gpus[:9]] == [*range(8), 0]
    assert [gpu.numa_node for gpu in machine.gpus] == [0] * 32 + [1] * 31
    assert {gpu.name for gpu in machine.gpus} == {"AMD Instinct MI300X"}
    # The kernel's 819.2 GB/s inside a package is a constant, and of others it says nothing.
    assert (link(machine, 0, 7).kind, link(machine, 0, 7).gbs) == ("package", None)
    assert (link(machine, 0, 8).kind, link(machine, 0, 8).gbs) == ("xgmi", None)
    assert {gpu.memory_gbs for gpu in machine.gpus} == {None}


def test_partitions_whose_number_is_in_the_high_bits(recorded: Recorded) -> None:
    """Kernels write it to bits 31:28 or 2:0 of location_id (changelog of AMD SMI)."""
    old, new = recorded("mi300x-cpx"), recorded("mi300x-cpx").with_name("high.txt")

    def moved(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"location_id {number & ~7 | (number & 7) << 28}"

    new.write_text(re.sub(r"location_id (\d+)", moved, old.read_text()))
    assert from_sysfs(new) == from_sysfs(old)


def test_partitions_to_which_the_kernel_gives_uuids(recorded: Recorded, put: Put) -> None:
    root = recorded("mi308x-partitions")
    for node in range(2, 6):
        facts = f"simd_count 80\nlocation_id {2558 + node}\nunique_id {100 + node}"
        put(root, f"{KFD}/{node}/properties", facts)
    machine = from_sysfs(root)
    assert [gpu.uuid for gpu in machine.gpus[:5]] == [
        *(f"GPU-{100 + node:016x}" for node in range(2, 6)),
        "GPU-0000000000000001.0",
    ]
    assert link(machine, 0, 3).kind == "package"


@pytest.mark.parametrize(
    ("said", "gbs", "driver_gbs"), [(50000, 64.0, 50.0), (64000, 64.0, None), (0, None, None)]
)
def test_a_link_has_no_less_than_its_model(
    recorded: Recorded, said: int, gbs: float | None, driver_gbs: float | None
) -> None:
    """Older drivers take 25 GT/s for the links of every model."""
    root = recorded("mi300x")
    link_file = re.compile(r"(io_links/\d+/properties: type 11\\nnode_to \d+)")
    figures = rf"\1\\nweight 15\\nmax_bandwidth {said}"
    root.write_text(link_file.sub(figures, root.read_text()))
    links = from_sysfs(root).gpu_links
    assert {(each.gbs, each.driver_gbs) for each in links} == {(gbs, driver_gbs)}


def test_two_hives(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("mi210-hives"))
    assert {gpu.name for gpu in machine.gpus} == {"AMD Instinct MI210"}
    assert (link(machine, 0, 3).kind, link(machine, 0, 3).gbs) == ("xgmi", 50.0)
    assert (link(machine, 0, 4).kind, link(machine, 0, 4).peer) == ("cross-socket", None)


@pytest.mark.parametrize(
    ("version", "clock", "expected"),
    [
        (90010, 1600, 1638.4),  # MI250X: two transfers a clock, 4096 wires below
        (90402, 1300, 5324.8 / 2),  # MI300X: four, 5.3 TB/s with 8192
        (90500, 2000, None),  # MI355X: nobody has seen its clock
    ],
)
def test_rates_of_memory(
    recorded: Recorded, put: Put, version: int, clock: int, expected: float | None
) -> None:
    root = recorded("mi210-hives")
    facts = f"simd_count 416\nlocation_id 768\ngfx_target_version {version}"
    put(root, f"{KFD}/4/properties", facts)
    bank = f"heap_type 1\nsize_in_bytes 68702699520\nwidth 4096\nmem_clk_max {clock}"
    put(root, f"{KFD}/4/mem_banks/0/properties", bank)
    assert from_sysfs(root).gpus[2].memory_gbs == expected


def test_a_gpu_in_one_package_with_its_cpu(recorded: Recorded, put: Put) -> None:
    root = recorded("mi210-hives")
    put(
        root,
        f"{KFD}/2/io_links/0/properties",
        "type 11\nnode_to 0\nweight 13\nmax_bandwidth 819200",
    )
    gpu = from_sysfs(root).gpus[0]
    assert (gpu.host_link, gpu.host_gbs) == ("package", None)
