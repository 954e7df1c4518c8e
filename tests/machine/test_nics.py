# SPDX-License-Identifier: Apache-2.0
"""Which network adapters a machine has: each port once, of every kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine.machine import Nic
from nearpeak.machine.nics import CXI, EFA, INFINIBAND, NET
from nearpeak.machine.recording import record
from nearpeak.machine.sysfs import from_sysfs

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]
PCI = "0000:41:00.0"


@pytest.fixture
def root(recorded: Recorded) -> Path:
    """A machine with one Ethernet interface, enp3s0, for one test to change."""
    return recorded("one-socket")


def nics(root: Path) -> dict[str, Nic]:
    """The adapters by their names; the recording of the machine has the same."""
    machine = from_sysfs(root)
    again = root.with_name("again.txt")
    again.write_text(record(machine, root), encoding="utf-8")
    assert from_sysfs(again).nics == machine.nics
    return {nic.name: nic for nic in machine.nics if nic.name != "enp3s0"}


def interface(put: Put, root: Path, name: str, pci: str, **files: str) -> None:
    facts = {"flags": "0x1003", "operstate": "up", "speed": "200000", "type": "1"} | files
    for file, text in facts.items():
        put(root, f"{NET}/{name}/{file}", text)
    put(root, f"{NET}/{name}/device", f"../../../{pci}")
    put(root, f"{NET}/{name}/device/numa_node", "0")


def port(put: Put, root: Path, device: str, pci: str, layer: str, number: int = 1) -> None:
    folder = f"{INFINIBAND}/{device}/ports/{number}"
    put(root, f"{INFINIBAND}/{device}/device", f"../../../{pci}")
    put(root, f"{INFINIBAND}/{device}/device/numa_node", "0")
    for file, text in (
        ("link_layer", layer),
        ("state", "4: ACTIVE"),
        ("rate", "400 Gb/sec (4X NDR)"),
    ):
        put(root, f"{folder}/{file}", text)


def test_both_ports_of_a_device(root: Path, put: Put) -> None:
    for number in (1, 2):
        port(put, root, "mlx5_4", PCI, "InfiniBand", number)
    found = nics(root)
    assert list(found) == ["mlx5_4:1", "mlx5_4:2"]
    assert {(nic.kind, nic.pci, nic.rate_gbs) for nic in found.values()} == {
        ("infiniband", PCI, 50.0)
    }


def test_roce_is_an_interface_with_a_port(root: Path, put: Put) -> None:
    interface(put, root, "ens1", PCI)
    port(put, root, "mlx5_4", PCI, "Ethernet")
    put(root, f"{INFINIBAND}/mlx5_4/ports/1/gid_attrs/ndevs/0", "ens1")
    found = nics(root)
    assert [(nic.name, nic.verbs, nic.rate_gbs) for nic in found.values()] == [
        ("ens1", "mlx5_4:1", 25.0)
    ]


@pytest.mark.parametrize("name", ["", "ens1"])  # of the interface, which a container lacks
def test_roce_without_its_interface_is_a_port(root: Path, put: Put, name: str) -> None:
    port(put, root, "bnxt_re0", PCI, "Ethernet")
    put(root, f"{INFINIBAND}/bnxt_re0/ports/1/gid_attrs/ndevs/0", name)
    (nic,) = nics(root).values()
    assert (nic.name, nic.kind, nic.verbs) == ("bnxt_re0:1", "ethernet", "bnxt_re0:1")


def test_ports_without_addresses_are_their_interface(root: Path, put: Put) -> None:
    """The host has the ports of a BlueField: RoCE is off, and its functions have ports."""
    interface(put, root, "p0", PCI, phys_port_name="p0")
    for number in (1, 2):
        port(put, root, "mlx5_0", PCI, "Ethernet", number)
    assert [(nic.name, nic.verbs) for nic in nics(root).values()] == [("p0", None)]


def test_devices_for_management_are_left_out(root: Path, put: Put) -> None:
    """The port of a ConnectX-8 has four planes (rdma dev add smi1 type SMI)."""
    port(put, root, "mlx5_0", PCI, "InfiniBand")
    for number in range(1, 5):
        port(put, root, "smi1", PCI, "InfiniBand", number)
    assert list(nics(root)) == ["mlx5_0:1"]


def test_efa(root: Path, put: Put) -> None:
    interface(put, root, "eth1", "0000:40:00.0")
    port(put, root, "rdmap65s0", PCI, "Unknown")
    assert list(nics(root)) == ["eth1"]  # of a driver that is not known
    put(root, f"{INFINIBAND}/rdmap65s0/device/uevent", f"{EFA}\nPCI_CLASS=20000")
    assert nics(root)["rdmap65s0:1"].kind == "efa"


@pytest.mark.parametrize(
    ("speed", "rate_gbs"), [("bs200G", 25.0), ("CK_400G", 50.0), ("unknown", None)]
)
def test_slingshot(root: Path, put: Put, speed: str, rate_gbs: float | None) -> None:
    interface(put, root, "hsn0", PCI)
    for number, pci in enumerate((PCI, "0000:42:00.0")):
        put(root, f"{CXI}/cxi{number}/device", f"../../../{pci}")
        put(root, f"{CXI}/cxi{number}/device/numa_node", "0")
    put(root, f"{CXI}/cxi1/device/port/0/link/speed", speed)
    found = nics(root)
    assert {name: nic.kind for name, nic in found.items()} == {
        "hsn0": "slingshot",
        "cxi1": "slingshot",  # without an interface here
    }
    assert (found["hsn0"].rate_gbs, found["cxi1"].rate_gbs) == (25.0, rate_gbs)
    assert (found["hsn0"].counted_as, found["cxi1"].counted_as) == ("cxi0", "cxi1")


@pytest.mark.parametrize(
    ("name", "listed"),
    [("p0", True), ("pf0", False), ("pf0vf3", False), ("c1pf0sf2", False), ("c1pf1", False)],
)
def test_ports_of_a_bluefield_that_stand_for_functions(
    root: Path, put: Put, name: str, listed: bool
) -> None:
    interface(put, root, "en3f0np0", PCI, phys_port_name=name)
    assert bool(nics(root)) == listed


def test_virtual_functions_are_left_out_beside_the_physical_one(root: Path, put: Put) -> None:
    for number in range(1, 5):
        interface(put, root, f"ens1v{number}", f"0000:41:00.{number}")
        put(root, f"{NET}/ens1v{number}/device/physfn", f"../{PCI}")
        port(put, root, f"mlx5_{number}", f"0000:41:00.{number}", "InfiniBand")
        put(root, f"{INFINIBAND}/mlx5_{number}/device/physfn", f"../{PCI}")
    assert len(nics(root)) == 8  # a guest or a container has only these
    interface(put, root, "ens1", PCI)
    assert list(nics(root)) == ["ens1"]
