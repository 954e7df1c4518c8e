# SPDX-License-Identifier: Apache-2.0
"""Machines of public files, as somebody expects them who knows their vendors' drawings."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching.paths import rails_path
from nearpeak.machine.machine import Machine, Nic
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.rails import below_switches, forced_adapters, of_one_port, rails_of
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.picture.layout import layout
from nearpeak.terms.path import DataPath

Load = Callable[[str], Machine]


def links(machine: Machine) -> dict[tuple[str, float | None], int]:
    return dict(Counter((link.kind, link.gbs) for link in machine.gpu_links))


def paths(machine: Machine, hosts: Sequence[str] = ()) -> dict[str, DataPath]:
    return {path.id: path for path in discover_paths(machine, hosts)[0]}


def words(machine: Machine) -> str:
    lines = (text.words for text in layout(machine).texts)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("name", "gpus", "model", "cores", "nodes", "expected"),
    [
        ("mi300x", 8, "AMD Instinct MI300X", 112, 2, {("xgmi", None): 28}),
        ("mi350x", 8, "AMD Instinct MI350X", 192, 2, {("xgmi", None): 28}),
        ("mi300a", 4, "AMD Instinct MI300A", 96, 4, {("xgmi", None): 6}),
        ("azure-ndv5", 8, "NVIDIA H100 80GB HBM3", 96, 2, {("nvlink", 450.0): 28}),
        ("aws-p4d", 8, "NVIDIA A100-SXM4-40GB", 48, 2, {("nvlink", 300.0): 28}),
        ("aws-p5", 8, "NVIDIA H100 80GB HBM3", 96, 2, {("nvlink", 450.0): 28}),
        ("dgx2", 16, "Tesla V100-SXM3-32GB-H", 4, 2, {("nvlink", 150.0): 120}),
        ("gh200-quad", 4, "NVIDIA GH200 120GB", 288, 36, {("nvlink", 150.0): 6}),
        ("gb200-tray", 4, "NVIDIA GB200", 144, 34, {("nvlink", 900.0): 6}),
        ("lassen", 4, "Tesla V100-SXM2-16GB", 40, 2, {("nvlink", 75.0): 2}),
        ("aws-g4dn-metal", 8, "Tesla T4", 48, 2, {}),
        ("dgx-spark", 1, "NVIDIA GB10", 20, 1, {}),
    ],
)
def test_counts_names_and_links(
    load: Load,
    name: str,
    gpus: int,
    model: str,
    cores: int,
    nodes: int,
    expected: dict[tuple[str, float | None], int],
) -> None:
    machine = load(name)
    assert [gpu.name for gpu in machine.gpus] == [model] * gpus
    assert (len(machine.cores), len(machine.numa_nodes)) == (cores, nodes)
    direct = {kind: many for kind, many in links(machine).items() if kind[0] in ("nvlink", "xgmi")}
    assert direct == expected
    assert f"{gpus} × {model}" in words(machine) or gpus == 1


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("mi300x", [f"mlx5_{number}:1" for number in range(8)]),
        ("mi350x", [f"bnxt_re{number}:1" for number in range(8)]),
        ("azure-ndv5", [f"mlx5_ib{number}:1" for number in range(8)]),
        ("mi300a", ["cxi2", "cxi3", "cxi0", "cxi1"]),  # by NUMA node
        ("mi250x-node", ["hsi0", "hsi0", "hsi1", "hsi1", "hsi2", "hsi2", "hsi3", "hsi3"]),
        ("aws-p4d", [f"rdmap{bus}s27:1" for bus in (16, 16, 32, 32, 144, 144, 160, 160)]),
        ("lassen", ["mlx5_0:1", "mlx5_1:1", "mlx5_2:1", "mlx5_3:1"]),
        # Four GPUs have none at their node.
        ("aws-g4dn-metal", ["rdmap197s0:1"] * 4),
    ],
)
def test_rails(load: Load, name: str, names: list[str]) -> None:
    assert [nic.name for (nic,) in rails_of(load(name)).values()] == names


@pytest.mark.parametrize(
    ("name", "adapters"),
    [
        ("dgx-a100", [f"mlx5_{number}:1" for number in (0, 1, 2, 3, 6, 7, 8, 9)]),
        ("aws-p5", []),  # libraries use EFA by libfabric
        ("h200x2", []),
    ],
)
def test_adapters_that_ranks_are_given(load: Load, name: str, adapters: list[str]) -> None:
    assert list(forced_adapters(load(name)).values()) == adapters


def test_every_gpu_of_every_host_has_a_rank(load: Load) -> None:
    """On the nearest cores, other ones on every second host."""
    machine = load("dgx-a100")
    path = rails_path(machine, ["a", "b"], ["0", "2", "7"])
    assert path.id == "gpu x6 2-nodes"
    assert [(end.host, end.gpu) for end in path.ends] == [
        (host, gpu) for host in ("a", "b") for gpu in ("0", "2", "7")
    ]
    near = {gpu.number: gpu.numa_node for gpu in machine.gpus}
    assert all(end.numa_node == near[str(end.gpu)] for end in path.ends)
    assert len({tuple(end.cpus) for end in path.ends}) == 6
    with pytest.raises(UserError, match="may not use GPU 8; it has 0, 1, 2"):
        rails_path(machine, ["a", "b"], ["0", "8"])


def test_a_gpu_has_all_efa_adapters_below_its_switch(load: Load) -> None:
    machine = load("aws-p5")
    rails = rails_of(machine)
    assert [len(nics) for nics in rails.values()] == [4] * 8
    assert [nic.name for nic in rails[3]] == [f"rdmap{bus}s0:1" for bus in range(130, 134)]
    found = {path.id: path for path in discover_paths(machine, ["recorded", "b"], True)[0]}
    path = found["gpu-gpu two-nodes"]
    assert "through rdmap79s0:1 and 3 more, GPU 0" in path.summary
    assert (path.theoretical_gbs, path.adapter, path.nic) == (50.0, None, None)
    assert not [name for name in found if "far-nic" in name or "two-nodes pair" in name]


def test_a_gpu_reaches_its_adapters_below_the_bridges_to_the_cpu(load: Load) -> None:
    """On p5 the links above have 16 lanes of 8 GT/s: 14.2 GB/s measured to the CPU, 38 over EFA."""
    machine = load("aws-p5")
    found = paths(machine, ["recorded", "b"])
    assert {gpu.numa_node for gpu in machine.gpus[:4]} == {0}
    assert found["host-gpu near"].theoretical_gbs == pytest.approx(14.4, abs=0.01)
    assert found["gpu-gpu two-nodes"].theoretical_gbs == 50.0
    # The host's memory is behind the bridge that the four adapters share.
    assert found["host-gpu two-nodes"].theoretical_gbs == pytest.approx(14.4, abs=0.01)
    assert found["host-host two-nodes"].theoretical_gbs == 12.5


def test_switches_with_two_gpus_and_an_adapter(load: Load) -> None:
    machine = load("aws-p4d")
    assert [[gpu.index for gpu in gpus] for gpus, _ in below_switches(machine)] == [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
    ]
    assert "GPUs 0 and 1 with rdmap16s27:1" in words(machine).replace("\n", " ")
    assert below_switches(load("lassen")) == []


def test_two_hosts_of_roce_rails_have_their_rate_and_not_that_of_the_route(load: Load) -> None:
    machine = load("mi350x")
    ip = ["127.0.0.1"]
    eno1 = Nic(name="eno1", kind="ethernet", numa_node=0, rate_gbs=3.125, addresses=ip)
    found = paths(msgspec.structs.replace(machine, nics=[eno1, *machine.nics]), ["recorded", *ip])
    for name in ("gpu-gpu two-nodes", "host-host two-nodes"):
        assert "through bnxt_re0:1" in found[name].summary
        assert (found[name].theoretical_gbs, found[name].adapter) == (50.0, "bnxt_re0:1")


def test_adapters_of_guests_whose_bridges_are_hidden(recorded: Callable[[str], Path]) -> None:
    """By the host bridge, as below a switch of p4d."""
    file = recorded("aws-p4d")
    shown = from_sysfs(file)
    above = re.compile(r"devices/[0-9a-f:.]+/(\w{4}:\w\w):(\w\w\.\w)$", re.MULTILINE)
    file.write_text(above.sub(r"devices/pci\1/\1:\2", file.read_text()))
    machine = from_sysfs(file)
    assert {len(gpu.upstream) for gpu in machine.gpus} == {0}
    names = [nic.name for (nic,) in rails_of(machine).values()]
    assert names == [nic.name for (nic,) in rails_of(shown).values()]
    assert names[1:3] == ["rdmap16s27:1", "rdmap32s27:1"]


def test_two_hosts_of_infiniband_rails(load: Load) -> None:
    for name, first in (("mi300x", "mlx5_0:1"), ("azure-ndv5", "mlx5_ib0:1")):
        path = paths(load(name), ["recorded", "b"])["gpu-gpu two-nodes"]
        assert (path.adapter, path.theoretical_gbs) == (first, 50.0)


def test_two_hosts_of_slingshot(load: Load) -> None:
    machine = load("mi250x-node")
    found = {path.id: path for path in discover_paths(machine, ["recorded", "b"], True)[0]}
    path = found["gpu-gpu two-nodes"]
    # The second GPU of each module has the adapter.
    assert "through hsi0, GPU 1" in path.summary
    assert (path.adapter, path.theoretical_gbs) == (None, 25.0)
    assert found["host-host two-nodes"].theoretical_gbs == 25.0
    assert "gpu-gpu two-nodes pair gpu7-hsi3" in found


def test_nodes_without_cores_are_no_ends(load: Load) -> None:
    for name, cpus in (("gh200-quad", 4), ("gb200-tray", 2)):
        machine = load(name)
        assert sum(bool(node.cpus) for node in machine.numa_nodes) == cpus
        assert sum(node.memory == "gpu" for node in machine.numa_nodes) == 4
        local = {path.ends[1].numa_node for path in paths(machine).values() if path.is_local}
        assert local == {*range(cpus)}
        assert words(machine).count("NUMA node ") == cpus


def test_memory_of_cxl_devices(load: Load) -> None:
    machine = load("cxl-vm")
    assert [node.memory for node in machine.numa_nodes] == ["host", "host", "cxl", "cxl"]
    local = [name for name, path in paths(machine).items() if path.is_local]
    assert "host-memory node2 from node0" in local
    assert "host-memory node2" not in local  # it has no cores
    assert words(machine).count("CXL") == 2


def test_grace_hopper_quad(load: Load) -> None:
    machine = load("gh200-quad")
    near = paths(machine)["host-gpu near"]
    assert near.theoretical_gbs == pytest.approx(447.12)
    assert "nvlink-c2c at node 0" in near.summary
    assert "GPU memory is NUMA nodes 4, 12, 20, 28, too." in words(machine).replace("\n", " ")
    # What joins four sockets is not known: the drawing has none of a chain.
    assert not [line for line in layout(machine).lines if line.title == "between the sockets"]


def test_a_tray_of_gb200(load: Load) -> None:
    machine = load("gb200-tray")
    assert [gpu.numa_node for gpu in machine.gpus] == [0, 0, 1, 1]
    assert {(gpu.host_link, gpu.host_gbs) for gpu in machine.gpus} == {("nvlink-c2c", None)}
    assert all(link.switched for link in machine.gpu_links)
    assert "NVLink joins the GPUs with those of other hosts, too: clique 4026" in words(machine)
    assert "without an IMEX channel" in machine.gpu_notes[0]


def test_a_gpu_that_shares_its_cpus_package(load: Load) -> None:
    for name, node in (("mi300a", 0), ("dgx-spark", 0)):
        path = paths(load(name))["host-gpu near"]
        assert path.theoretical_gbs is None
        assert f"in one package with the CPU at node {node}" in path.summary


def test_a_spark_has_fast_cores_and_two_adapters_of_four_lanes(load: Load) -> None:
    machine = load("dgx-spark")
    assert machine.cpu_model == "Arm Cortex-X925 and Arm Cortex-A725"
    pair = paths(machine)["host-host same-numa"]
    capacities = {core.cpus[0]: core.capacity or 0 for core in machine.cores}
    assert min(capacities[end.cpus[0]] for end in pair.ends) > 900
    assert [(nic.name, nic.verbs) for nic in machine.nics] == [
        ("enP2p1s0f0np0", "roceP2p1s0f0:1"),
        ("enp1s0f0np0", "rocep1s0f0:1"),
    ]
    # 200 Gbit/s each, which no four lanes of PCIe 5 carry.
    assert {(nic.rate_gbs, round(nic.path_gbs or 0, 1)) for nic in machine.nics} == {(25.0, 14.4)}
    # Both are one port of 200 Gbit/s.
    assert [[nic.name for nic in nics] for nics in of_one_port(machine.gpus, machine.nics)] == [
        ["enP2p1s0f0np0", "enp1s0f0np0"]
    ]
    said = words(machine).replace("\n", " ")
    assert "25 GB/s together PCIe 14.4 GB/s each" in said
    assert "enP2p1s0f0np0 and enp1s0f0np0 are one port of 25 GB/s, on two PCIe functions." in said
    assert "Socket: 20 cores" in said
    other = load("dgx-h100")
    assert not of_one_port(other.gpus, other.nics)


def test_many_adapters_are_counted(load: Load) -> None:
    said = words(load("aws-p5")).replace("\n", " ")
    assert "16 adapters, rdmap79s0:1 to rdmap133s0:1 EFA 12.5 GB/s each" in said
    assert "GPU 0 with 4 adapters, rdmap79s0:1 to rdmap82s0:1;" in said
    assert "rdmap80s0:1" not in said


def test_no_direct_links_means_no_other_pairs(load: Load) -> None:
    said = words(load("aws-g4dn-metal"))
    assert "GPUs are joined through the host." in said
    assert "Other pairs" not in said
    assert "Other pairs of GPUs are joined through the host." in words(load("lassen"))


def test_a_kernel_that_ends_lists_with_a_nul(load: Load) -> None:
    machine = load("kunpeng")
    assert machine.cpu_model == "HiSilicon Kunpeng 920"
    assert [len(node.cpus) for node in machine.numa_nodes] == [32] * 4
