# SPDX-License-Identifier: Apache-2.0
"""The network adapters in /sys: interfaces, ports of RDMA devices, and Slingshot."""

import re
from collections.abc import Callable, Iterator
from socket import AF_INET, AF_INET6
from typing import Any

import psutil

from nearpeak.machine.gpus.pci import addresses, bridges, device_address, links_gbs, root_bus
from nearpeak.machine.machine import Nic
from nearpeak.machine.rates import least
from nearpeak.machine.tree import Tree

NET = "sys/class/net"
INFINIBAND = "sys/class/infiniband"
CXI = "sys/class/cxi"  # of Slingshot's driver
CXI_SPEED = "device/port/0/link/speed"
NDEV = "gid_attrs/ndevs/0"  # of a port: the network interface that its first address belongs to
PHYSFN = "device/physfn"  # of a virtual function: a link to the physical one
EFA = "DRIVER=efa"  # in `device/uevent` of an RDMA device

# Numbers of the kernel's if_arp.h and if.h.
ARPHRD_INFINIBAND = 32
ARPHRD_LOOPBACK = 772
UP = re.compile(r"0x[0-9a-f]*[13579bdf]")  # flags with IFF_UP, the lowest bit
STATES_UP = ("up", "unknown")  # some drivers never say: the flag is then all there is
# Names of ports that stand for functions of others in a switch of the adapter, as BlueField has
# them (net/devlink/port.c, devlink_port_phys_port_name_get).
REPRESENTOR = re.compile(r"(c\d+)?pf\d+((vf|sf)\d+)?")

# Devices that manage the planes of a port are no adapters (`rdma dev add smi1 type SMI`).
SMI = re.compile(r"smi\d+")

Near = Callable[[str], int | None]


def read_nics(tree: Tree, near: Near) -> list[Nic]:
    """The interfaces that are up, loopback left out, and the ports that have none.

    `near` returns the NUMA node of a device for its folder under sys/class. Representors are left
    out, and virtual functions beside their physical one: an adapter has its port once.
    """
    listed = [
        *_network_interfaces(tree, near),
        *_rdma_ports(tree, near),
        *_slingshot(tree, near),
    ]
    physical = {nic.pci for _, nic in listed}
    return [nic for folder, nic in listed if physical_function(tree, folder) not in physical]


def physical_function(tree: Tree, folder: str) -> str:
    """The PCI address of the physical function of a virtual one in this folder of sys/class; empty
    for another."""
    return "".join(addresses(tree.link(f"{folder}/{PHYSFN}"))[-1:])


def _network_interfaces(tree: Tree, near: Near) -> Iterator[tuple[str, Nic]]:
    ip_addresses = _addresses() if tree.live else {}
    adapters = _ethernet_adapters(tree)
    slingshot = {device_address(tree, f"{CXI}/{name}"): name for name in tree.names(CXI)}
    for name in tree.names(NET):
        folder = f"{NET}/{name}"
        kind = _kind(tree, folder)
        up = UP.fullmatch(tree.text(f"{folder}/flags"))
        if not (kind and up and tree.text(f"{folder}/operstate") in STATES_UP):
            continue
        if REPRESENTOR.fullmatch(tree.text(f"{folder}/phys_port_name")):
            continue
        place = _place(tree, folder)
        # Linux says 10000 Mbit/s for every veth: of a virtual interface the number means nothing.
        megabits = tree.natural(f"{folder}/speed") if kind != "virtual" else None
        yield (
            folder,
            Nic(
                name=name,
                kind="slingshot" if place["pci"] in slingshot else kind,
                numa_node=near(folder),
                rate_gbs=megabits / 8000 if megabits else None,
                addresses=ip_addresses.get(name, []),
                verbs=adapters.get(name),
                cxi=slingshot.get(place["pci"]),
                **place,
            ),
        )


def _kind(tree: Tree, folder: str) -> str:
    """The kind of the network interface in this folder of sys/class; empty for loopback, and where
    the kernel does not say."""
    unclear = {ARPHRD_INFINIBAND: "infiniband", ARPHRD_LOOPBACK: "", None: ""}
    real = tree.exists(f"{folder}/bonding") or tree.exists(f"{folder}/device")
    return unclear.get(tree.integer(f"{folder}/type"), "ethernet" if real else "virtual")


def _rdma_ports(tree: Tree, near: Near) -> Iterator[tuple[str, Nic]]:
    """Active ports of RDMA devices, named as UCX names them (mlx5_0:1).

    A port of Ethernet is left out if its network interface is here, which is listed already. In a
    container it often is not.
    """
    for device, port, folder in _ports(tree):
        kind = _port_kind(tree, device, folder)
        if not kind or "ACTIVE" not in tree.text(f"{folder}/state"):
            continue
        rate = re.match(r"(\d+(?:\.\d+)?) Gb/sec", tree.text(f"{folder}/rate"))
        yield (
            f"{INFINIBAND}/{device}",
            Nic(
                name=f"{device}:{port}",
                kind=kind,
                numa_node=near(f"{INFINIBAND}/{device}"),
                rate_gbs=float(rate[1]) / 8 if rate else None,
                addresses=[],
                verbs=f"{device}:{port}",
                **_place(tree, f"{INFINIBAND}/{device}"),
            ),
        )


def _port_kind(tree: Tree, device: str, port: str) -> str:
    """The kind of a port of an RDMA device; empty for one that is not listed."""
    layer = tree.text(f"{port}/link_layer")
    if layer == "Ethernet":
        return "" if _interface(tree, device, port) in tree.names(NET) else "ethernet"
    if layer != "InfiniBand" and EFA in tree.text(f"{INFINIBAND}/{device}/device/uevent"):
        return "efa"
    return "infiniband" if layer == "InfiniBand" else ""


def _interface(tree: Tree, device: str, port: str) -> str:
    """The network interface of a port of Ethernet: of its first address, else that of its PCI
    device, as of a BlueField whose RoCE is off; empty without one."""
    if named := tree.text(f"{port}/{NDEV}"):
        return named
    pci = device_address(tree, f"{INFINIBAND}/{device}")
    names = tree.names(NET) if pci else []
    return next((name for name in names if device_address(tree, f"{NET}/{name}") == pci), "")


def _slingshot(tree: Tree, near: Near) -> Iterator[tuple[str, Nic]]:
    """Slingshot adapters whose network interface is not here, as in a container."""
    interfaces = {device_address(tree, f"{NET}/{name}") for name in tree.names(NET)}
    for name in tree.names(CXI):
        folder = f"{CXI}/{name}"
        place = _place(tree, folder)
        if place["pci"] not in interfaces:
            yield (
                folder,
                Nic(
                    name=name,
                    kind="slingshot",
                    numa_node=near(folder),
                    rate_gbs=_slingshot_gbs(tree, folder),
                    addresses=[],
                    cxi=name,
                    **place,
                ),
            )


def _slingshot_gbs(tree: Tree, folder: str) -> float | None:
    """The rate of a Slingshot adapter by its driver, which writes `bs200G` or `BS_200G`."""
    speed = re.search(r"(\d+)G$", tree.text(f"{folder}/{CXI_SPEED}"))
    return float(speed[1]) / 8 if speed else None


def _place(tree: Tree, folder: str) -> dict[str, Any]:
    """The PCIe place of the adapter in this folder of sys/class, as fields of Nic."""
    pci = device_address(tree, folder)
    links = links_gbs(tree, pci) if pci else []
    return {
        "pci": pci or None,
        "upstream": bridges(tree, pci)[:-1],
        "root_bus": root_bus(tree, pci),
        "host_gbs": least(links),
        "links_gbs": links,
    }


def _ethernet_adapters(tree: Tree) -> dict[str, str]:
    """Network interface -> its RDMA device and port, where it has one (RoCE)."""
    adapters = {
        tree.text(f"{folder}/{NDEV}"): f"{device}:{port}"
        for device, port, folder in _ports(tree)
        if tree.text(f"{folder}/link_layer") == "Ethernet"
    }
    return {name: port for name, port in adapters.items() if name}


def _ports(tree: Tree) -> Iterator[tuple[str, str, str]]:
    """The ports of RDMA devices: device, port and folder of each."""
    for device in tree.names(INFINIBAND):
        if SMI.fullmatch(device):
            continue
        for port in tree.names(f"{INFINIBAND}/{device}/ports", r"\d+"):
            yield device, port, f"{INFINIBAND}/{device}/ports/{port}"


def _addresses() -> dict[str, list[str]]:
    """The IP addresses of each interface of this machine, without link-local ones."""
    listed: dict[str, list[str]] = {}
    for name, entries in psutil.net_if_addrs().items():
        ip = (entry.address for entry in entries if entry.family in (AF_INET, AF_INET6))
        listed[name] = [address for address in ip if "%" not in address]
    return listed
