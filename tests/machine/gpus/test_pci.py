# SPDX-License-Identifier: Apache-2.0
"""PCI devices of recorded machines, and the rates of PCIe."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine.gpus.pci import DEVICES, bridges, link_gbs, pci_node, pcie_gbs, root_bus
from nearpeak.machine.machine import NumaNode
from nearpeak.machine.tree import read_tree

GPU = "0000:3d:00.0"


@pytest.mark.parametrize(
    ("generation", "gbs"),
    # GB/s each way of 16 lanes, as the PCI-SIG's tables round them
    [(1, 3.657), (2, 7.314), (3, 14.404), (4, 28.807), (5, 57.614), (6, 110.629)],
)
def test_the_rate_of_each_generation(generation: int, gbs: float) -> None:
    assert link_gbs(generation, 16) == pytest.approx(gbs, abs=0.001)
    assert link_gbs(generation, 8) == pytest.approx(gbs / 2, abs=0.001)


def test_an_unknown_link_has_no_rate() -> None:
    assert link_gbs(None, 16) is None
    assert link_gbs(5, None) is None
    assert link_gbs(5, 0) is None
    assert link_gbs(99, 16) is None


def test_the_way_to_the_cpu(recorded: Callable[[str], Path]) -> None:
    tree = read_tree(recorded("pcie-only"))
    assert bridges(tree, GPU) == ["0000:3a:00.0", "0000:3b:00.0", "0000:3c:08.0", GPU]
    assert root_bus(tree, GPU) == "0000:3a"
    assert bridges(tree, "0000:99:00.0") == ["0000:99:00.0"]
    assert root_bus(tree, "0000:99:00.0") is None


@pytest.mark.parametrize(
    ("port", "speed", "width", "gbs"),
    [
        (GPU, "8.0 GT/s PCIe", "8", 7.202),  # badly seated
        ("0000:3b:00.0", "5.0 GT/s PCIe", "16", 7.314),  # an old switch
        ("0000:3a:00.0", "16.0 GT/s PCIe", "16", 14.404),  # more than the GPU can
        ("0000:3a:00.0", "Unknown", "0", 14.404),
        ("0000:3a:00.0", "8.0 GT/s PCIe", "255", 14.404),  # seen on virtual bridges
    ],
)
def test_the_narrowest_link_counts(
    recorded: Callable[[str], Path],
    put: Callable[[Path, str, str], None],
    port: str,
    speed: str,
    width: str,
    gbs: float,
) -> None:
    root = recorded("pcie-only")
    put(root, f"{DEVICES}/{port}/max_link_speed", speed)
    put(root, f"{DEVICES}/{port}/current_link_width", width)
    assert pcie_gbs(read_tree(root), GPU) == pytest.approx(gbs, abs=0.001)


def test_the_numa_node(
    recorded: Callable[[str], Path], put: Callable[[Path, str, str], None]
) -> None:
    root = recorded("pcie-only")
    put(root, f"{DEVICES}/{GPU}/numa_node", "-1")
    nodes = [
        NumaNode(index=index, cpus=[index], memory_bytes=1, distances={}) for index in range(2)
    ]
    assert pci_node(read_tree(root), "0000:b1:00.0", nodes) == 1
    assert pci_node(read_tree(root), GPU, nodes) is None
    assert pci_node(read_tree(root), GPU, nodes[:1]) == 0  # the only one with cores
