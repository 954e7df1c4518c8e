# SPDX-License-Identifier: Apache-2.0
"""Recorded machines read from /sys."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.machine.doctor import examine
from nearpeak.machine.machine import Cache, Core, Machine, Nic
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.places import usable_cores
from nearpeak.machine.recording import record
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.machine.tree import parse_recording
from nearpeak.picture.layout import layout

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]


def nic(machine: Machine, name: str) -> Nic:
    return next(nic for nic in machine.nics if nic.name == name)


def interface(put: Put, file: Path, name: str, **files: str) -> None:
    """Adds a network interface that is up."""
    for path, text in {"flags": "0x1003", "operstate": "up", "type": "1", **files}.items():
        put(file, f"sys/class/net/{name}/{path}", text)


def test_every_machine_is_consistent(any_machine: Path) -> None:
    machine = from_sysfs(any_machine)
    cpus = sorted(cpu for core in machine.cores for cpu in core.cpus)
    assert len(cpus) == len(set(cpus))
    of_nodes = {cpu for node in machine.numa_nodes for cpu in node.cpus}
    assert of_nodes == {*cpus} - {cpu for core in machine.cores_of_no_node for cpu in core.cpus}
    assert machine.allowed_cpus == cpus
    nodes = {node.index: node for node in machine.numa_nodes}
    for core in machine.cores:
        assert core.numa_node is None or set(core.cpus) <= set(nodes[core.numa_node].cpus)
    for node in machine.numa_nodes:
        assert node.distances.keys() in (nodes.keys(), {node.index})
        assert node.distances[node.index] == 10
    for level, kind in ((1, "data"), (2, "unified"), (3, "unified")):
        caches = [cache for cache in machine.caches if (cache.level, cache.kind) == (level, kind)]
        assert sorted(cpu for cache in caches for cpu in cache.cpus) in (cpus, [])
    assert "lo" not in [nic.name for nic in machine.nics]


def test_one_socket(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("one-socket"))
    assert machine.cores == [Core(cpus=[cpu], package=0, numa_node=0) for cpu in range(8)]
    assert machine.caches[-1] == Cache(
        level=3, kind="unified", size_bytes=12 << 20, cpus=list(range(8))
    )
    assert not machine.virtual
    assert machine.source == "sysfs"
    # The firmware says no node (-1); there is but one.
    assert machine.nics == [
        Nic(name="enp3s0", kind="ethernet", numa_node=0, rate_gbs=0.125, addresses=[])
    ]


def test_two_sockets_with_smt_numbered_alternately(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("two-sockets-smt"))
    assert len(machine.cores) == 40
    assert machine.cores[1] == Core(cpus=[1, 41], package=1, numa_node=1)
    assert machine.numa_nodes[1].distances == {0: 21, 1: 10}
    assert [nic.name for nic in machine.nics] == ["eno1", "ib0", "mlx5_0:1"]  # eno2 is down
    assert nic(machine, "eno1").rate_gbs == 1.25
    assert nic(machine, "ib0").kind == "infiniband"
    assert nic(machine, "mlx5_0:1") == Nic(
        name="mlx5_0:1",
        kind="infiniband",
        numa_node=1,
        rate_gbs=12.5,
        addresses=[],
        verbs="mlx5_0:1",
    )


def test_an_ethernet_interface_knows_its_rdma_adapter(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    assert from_sysfs(root).nics[0].verbs is None
    port = "sys/class/infiniband/mlx5_2/ports/1"
    put(root, f"{port}/link_layer", "Ethernet")
    put(root, f"{port}/state", "4: ACTIVE")
    put(root, f"{port}/gid_attrs/ndevs/0", "enp3s0")
    (only,) = from_sysfs(root).nics
    assert (only.name, only.kind, only.verbs) == ("enp3s0", "ethernet", "mlx5_2:1")


def test_epyc_in_nps4(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("epyc-nps4"))
    assert [len(node.cpus) for node in machine.numa_nodes] == [32] * 8
    assert machine.cores[127] == Core(cpus=[127, 255], package=1, numa_node=7)
    assert sum(1 for cache in machine.caches if cache.level == 3) == 16
    # mlx5_2 is Ethernet (RoCE), and a network interface already.
    assert [nic.numa_node for nic in machine.nics if ":" in nic.name] == [3, 7]


def test_power9_with_gpu_memory_as_nodes(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("power9-ac922"))
    assert machine.cpu_model == "POWER9, altivec supported"
    assert machine.architecture == "ppc64le"
    assert len(machine.cores) == 43
    assert 20 not in machine.allowed_cpus
    assert machine.cores[5] == Core(cpus=[24, 25, 26, 27], package=0, numa_node=0)
    assert {core.package for core in machine.cores} == {0, 8}
    assert [node.index for node in machine.numa_nodes] == [0, 8, 250, 251, 252, 253, 254, 255]
    assert [node.memory for node in machine.numa_nodes] == ["host"] * 2 + ["gpu"] * 6
    assert machine.numa_nodes[2].cpus == []
    assert machine.numa_nodes[0].distances[8] == 40


def test_grace_hopper(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("grace-hopper"))
    assert machine.cpu_model == "Arm Neoverse V2"
    assert [node.memory for node in machine.numa_nodes][:3] == ["host", "gpu", "host"]
    assert machine.numa_nodes[2].memory_bytes == 0


def test_cloud_vm(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("cloud-vm"))
    assert machine.virtual
    assert [core.cpus for core in machine.cores] == [[0], [1]]
    assert nic(machine, "eth0").rate_gbs is None  # -1: the hypervisor does not say


def test_affinity_limits_the_usable_cpus(recorded: Recorded, put: Put) -> None:
    root = recorded("two-sockets-smt")
    put(root, "proc/self/status", "Cpus_allowed_list:\t2,4,99\nMems_allowed_list:\t0")
    machine = from_sysfs(root)
    assert machine.allowed_cpus == [2, 4]
    assert machine.allowed_nodes == [0]


def test_offline_cpus_are_left_out(recorded: Recorded, put: Put) -> None:
    root = recorded("two-sockets-smt")
    put(root, "sys/devices/system/cpu/online", "0-39")  # SMT switched off
    machine = from_sysfs(root)
    assert machine.cores[1].cpus == [1]
    assert machine.caches[0].cpus == [0]


def test_virtual_interfaces_have_no_believable_rate(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    interface(put, root, "veth0", speed="10000")
    interface(put, root, "br0", speed="10000")
    interface(put, root, "bond0", speed="2000", **{"bonding/mode": "802.3ad 4"})
    interface(put, root, "tun9", operstate="unknown", speed="10")
    interface(put, root, "dead0", operstate="down")
    machine = from_sysfs(root)
    assert nic(machine, "veth0").kind == "virtual"
    assert nic(machine, "veth0").rate_gbs is None
    assert nic(machine, "br0").kind == "virtual"
    assert nic(machine, "bond0").kind == "ethernet"
    assert nic(machine, "bond0").rate_gbs == 0.25
    assert nic(machine, "tun9").kind == "virtual"
    assert "dead0" not in [nic.name for nic in machine.nics]


def test_a_device_takes_the_node_of_the_device_above(tmp_path: Path) -> None:
    for node in (0, 1):
        (tmp_path / f"sys/devices/system/cpu/cpu{node}").mkdir(parents=True)
        (tmp_path / f"sys/devices/system/node/node{node}").mkdir(parents=True)
        (tmp_path / f"sys/devices/system/node/node{node}/cpulist").write_text(f"{node}\n")
    pci = tmp_path / "sys/devices/pci0000:80/0000:80:01.0"
    (pci / "virtio3").mkdir(parents=True)
    (pci / "numa_node").write_text("1\n")
    eth9 = tmp_path / "sys/class/net/eth9"
    eth9.mkdir(parents=True)
    for file, text in (("flags", "0x1003"), ("operstate", "up"), ("type", "1")):
        (eth9 / file).write_text(f"{text}\n")
    (eth9 / "device").symlink_to(pci / "virtio3")
    assert nic(from_sysfs(tmp_path), "eth9").numa_node == 1
    (pci / "numa_node").write_text("-1\n")
    assert nic(from_sysfs(tmp_path), "eth9").numa_node is None


def test_a_kernel_without_numa_or_topology(tmp_path: Path) -> None:
    for cpu in (0, 1):
        (tmp_path / f"sys/devices/system/cpu/cpu{cpu}").mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 4096 kB\n")
    machine = from_sysfs(tmp_path)
    assert [core.cpus for core in machine.cores] == [[0], [1]]
    assert machine.numa_nodes[0].memory_bytes == 4 << 20
    assert machine.allowed_cpus == [0, 1]
    assert machine.allowed_nodes is None
    assert machine.caches == []


@pytest.mark.parametrize(
    ("lists", "homeless"),
    [
        ({"node0": ""}, {0}),  # node 0 has memory alone
        ({"node0": "", "node1": ""}, {0, 1}),
        ({"node1": "?"}, {1}),
    ],
)
def test_cpus_of_no_node_are_shown_and_used_by_nobody(
    recorded: Recorded, put: Put, lists: dict[str, str], homeless: set[int]
) -> None:
    root = recorded("two-sockets-smt")
    before = {core.cpus[0]: core.numa_node for core in from_sysfs(root).cores}
    for node, text in lists.items():
        put(root, f"sys/devices/system/node/{node}/cpulist", text)
    machine = from_sysfs(root)
    assert {before[core.cpus[0]] for core in machine.cores if core.numa_node is None} == homeless
    used = {
        cpu for path in discover_paths(machine)[0] for end in path.ends for cpu in end.cpus
    } & set(before)
    assert {before[cpu] for cpu in used} == {0, 1} - homeless
    rooms = layout(machine).texts
    assert any("belong to no NUMA node" in text.words for text in rooms)


@pytest.mark.parametrize("text", ["", "-1", "?", "\0", "99999", "0-3,?", "12 kB"])
def test_whatever_a_file_says_the_machine_can_be_shown(
    recorded: Recorded, tmp_path: Path, text: str
) -> None:
    """Each kind of file in turn, as another kernel or a container's made-up /sys might have it."""
    whole = parse_recording(recorded("cloud-vm").read_text())
    for path in {re.sub(r"\d+", "0", path) for path in whole}:
        said = "\n".join(
            f"{name}: {other.encode('unicode_escape').decode()}"
            for name, other in {**whole, path: text}.items()
        )
        (tmp_path / "changed.txt").write_text(said)
        try:
            machine = from_sysfs(tmp_path / "changed.txt")
        except UserError:
            continue  # a line
        discover_paths(machine, ["recorded", "127.0.0.1"], all_pairs=True)
        layout(machine)
        examine(tmp_path / "changed.txt", settings_files=[], machine=machine)


def test_where_an_adapter_is_on_pcie(tmp_path: Path) -> None:
    bridge = tmp_path / "sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0"
    folder = bridge / "0000:45:00.0/infiniband/mlx5_0"
    (folder / "ports/1").mkdir(parents=True)
    for file, text in (
        ("link_layer", "InfiniBand"),
        ("state", "4: ACTIVE"),
        ("rate", "100 Gb/sec"),
    ):
        (folder / "ports/1" / file).write_text(text)
    (folder / "device").symlink_to("../../../0000:45:00.0")
    (bridge / "0000:45:00.0/numa_node").write_text("0")
    for path, target in (
        ("sys/class/infiniband/mlx5_0", folder),
        ("sys/bus/pci/devices/0000:45:00.0", bridge / "0000:45:00.0"),
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).symlink_to(target)
    (tmp_path / "sys/devices/system/cpu/cpu0").mkdir(parents=True)
    (port,) = from_sysfs(tmp_path).nics
    assert (port.pci, port.upstream) == ("0000:45:00.0", ["0000:40:01.1", "0000:41:00.0"])


def test_no_sys_is_the_users_to_mend(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no CPUs in"):
        from_sysfs(tmp_path)


def test_this_machine() -> None:
    machine = from_sysfs()
    assert machine.hostname == os.uname().nodename
    assert machine.architecture == os.uname().machine
    assert machine.allowed_cpus == sorted(os.sched_getaffinity(0))


def test_a_node_has_only_the_cpus_that_are_online(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("offline-node"))
    (node,) = machine.numa_nodes
    assert node.cpus == [5, 7, 9, 11, 13, 15, 17, 19]
    assert [core.cpus[0] for core in machine.cores_of_no_node] == list(range(4, 21, 2))


def test_cores_of_two_kinds(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    for cpu in range(8):
        put(root, f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity", "1024")
    assert {core.capacity for core in from_sysfs(root).cores} == {None}
    for cpu, capacity in enumerate((718, 721, 718, 718)):
        put(root, f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity", str(capacity))
    put(root, "sys/devices/system/cpu/cpu5/cpu_capacity", "997")
    machine = from_sysfs(root)
    assert [core.capacity for core in machine.cores] == [718, 721, 718, 718, 1024, 997, 1024, 1024]
    # The slow ones come last.
    assert [core.cpus[0] for core in usable_cores(machine)[0]] == [4, 5, 6, 7, 0, 1, 2, 3]
    cpuinfo = "\n".join(
        f"processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n"
        for cpu, part in enumerate(("0xd87", "0xd85", "0xd87"))
    )
    put(root, "proc/cpuinfo", cpuinfo)
    assert from_sysfs(root).cpu_model == "Arm Cortex-X925 and Arm Cortex-A725"
    again = root.with_name("again.txt")
    again.write_text(record(from_sysfs(root), root), encoding="utf-8")
    assert from_sysfs(again) == from_sysfs(root)
