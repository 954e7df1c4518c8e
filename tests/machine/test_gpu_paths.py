# SPDX-License-Identifier: Apache-2.0
"""The data paths of recorded machines that begin or end in a GPU."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from nearpeak.machine.machine import Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.places import Ranks
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.terms.path import DataPath

MACHINES = Path(__file__).parent.parent / "machines"
NAMES = sorted(file.stem for file in MACHINES.glob("*.txt"))
Load = Callable[[str], Machine]
Put = Callable[[Path, str, str], None]
Recorded = Callable[[str], Path]

SAME = ["gpu-gpu same-gpu", "gpu-gpu same-gpu mps"]
NEAR_FAR = ["host-gpu near", "host-gpu far", "host-gpu near same-gpu"]
EIGHT = ["gpu x4", "gpu x8"]


def gpu_paths(
    machine: Machine, hosts: Sequence[str] = (), all_pairs: bool = False
) -> dict[str, DataPath]:
    paths, _ = discover_paths(machine, hosts, all_pairs)
    return {path.id: path for path in paths if "gpu" in path.id and not path.gpu_support}


def missing(machine: Machine, hosts: Sequence[str] = ()) -> dict[str, str]:
    _, reasons = discover_paths(machine, hosts)
    return {reason.path: reason.why for reason in reasons if "gpu" in reason.path}


def limited(machine: Machine, cpus: list[int]) -> Machine:
    return msgspec.structs.replace(machine, allowed_cpus=cpus)


def ends(path: DataPath) -> list[tuple[str, int, int | None]]:
    """Of each end: the last digits of its GPU, the CPU and the NUMA node."""
    return [
        ("host" if end.gpu is None else end.gpu[-2:], end.cpus[0], end.numa_node)
        for end in path.ends
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dgx-a100", [*SAME, "gpu-gpu nvlink", *NEAR_FAR, *EIGHT]),
        ("dgx-h100", [*SAME, "gpu-gpu nvlink", *NEAR_FAR, *EIGHT]),
        (
            "power9-ac922",
            [*SAME, "gpu-gpu nvlink", "gpu-gpu cross-socket", *NEAR_FAR, "gpu x4", "gpu x6"],
        ),
        ("mi250x-node", [SAME[0], "gpu-gpu xgmi", *NEAR_FAR, *EIGHT]),
        ("grace-hopper", [*SAME, "host-gpu near", "host-gpu near same-gpu"]),
        (
            "pcie-only",
            [SAME[0], "gpu-gpu pcie-switch", "gpu-gpu cross-socket", *NEAR_FAR, "gpu x4"],
        ),
        ("one-gpu", [*SAME, "host-gpu near", "host-gpu near same-gpu"]),
        ("epyc-nps4", []),
        ("cloud-vm", []),
    ],
)
def test_the_paths_of_each_machine(load: Load, name: str, expected: list[str]) -> None:
    assert list(gpu_paths(load(name))) == expected


def test_gpu_support_is_a_variant_of_paths_in_host_memory(load: Load) -> None:
    paths, _ = discover_paths(load("dgx-h100"))
    plain = {path.id: path for path in paths if not path.gpu_support}
    on = [path for path in paths if path.gpu_support]
    assert [path.id for path in on] == [
        "host-host same-numa gpu-support",
        "host x112 gpu-support",
    ]
    for path in on:
        assert path.id == f"{path.variant_of} gpu-support"
        without = [msgspec.structs.replace(end, device=None) for end in path.ends]
        assert without == list(plain[path.variant_of].ends)
        # Each rank holds a GPU, in turns.
        gpus = [gpu.uuid for gpu in load("dgx-h100").gpus]
        assert [end.device for end in path.ends[:9]] == [*gpus, gpus[0]][: len(path.ends)]
        assert path.place.gpu_support
    assert not any(path.place.gpu_support for path in plain.values())


@pytest.mark.parametrize("name", ["epyc-nps4", "cloud-vm"])
def test_without_a_gpu_there_is_no_support_to_switch(load: Load, name: str) -> None:
    assert not any(path.gpu_support for path in discover_paths(load(name))[0])


def has_a_core_for_each_gpu(name: str) -> bool:
    """Otherwise a core of another NUMA node stands in for those that the machine lacks."""
    machine = from_sysfs(MACHINES / f"{name}.txt")
    return len(machine.cores) >= len(machine.gpus)


@pytest.mark.parametrize("name", [name for name in NAMES if has_a_core_for_each_gpu(name)])
def test_every_path_and_every_pair_stands_on_cores_of_its_own(load: Load, name: str) -> None:
    machine = load(name)
    home = {cpu: core for core in machine.cores for cpu in core.cpus}
    uuids = {gpu.uuid: gpu for gpu in machine.gpus}
    for path in gpu_paths(machine, all_pairs=True).values():
        assert len({home[end.cpus[0]].cpus[0] for end in path.ends}) == len(path.ends)
        assert path.transport == ("network" if path.is_loopback else "memory")
        for end in path.ends:
            assert home[end.cpus[0]].numa_node == end.numa_node
            assert (end.memory == "gpu") == (end.gpu is not None)
            if end.gpu is not None:
                assert uuids[end.gpu].numa_node == end.numa_node


def test_so_many_gpus_have_a_rank_each(load: Load) -> None:
    machine = load("dgx-a100")
    paths = gpu_paths(machine)
    for number in (4, 8):
        path = paths[f"gpu x{number}"]
        assert [end.gpu for end in path.ends] == [gpu.uuid for gpu in machine.gpus[:number]]
        assert path.holds(paths["gpu-gpu nvlink"])
    few = limited(machine, [0, 1, 2, 3])
    assert "4 cores only; allow it one for each GPU" in missing(few)["gpu x8"]
    found, lacking = discover_paths(machine, ranks=Ranks((3, 16)))
    assert [path.id for path in found if len(path.ends) > 2 and path.ends[0].gpu] == ["gpu x3"]
    assert [missing.why for missing in lacking if missing.path == "gpu x16"] == [
        "this process may use 8 GPUs only"
    ]


def test_dgx_a100(load: Load) -> None:
    paths = gpu_paths(load("dgx-a100"))
    assert ends(paths["gpu-gpu same-gpu"]) == [("00", 48, 3), ("00", 49, 3)]
    assert paths["gpu-gpu same-gpu"].theoretical_gbs == pytest.approx(1555.2 / 2)
    assert not paths["gpu-gpu same-gpu"].mps
    assert paths["gpu-gpu same-gpu mps"].mps
    assert ends(paths["gpu-gpu nvlink"]) == [("00", 48, 3), ("01", 49, 3)]
    assert paths["gpu-gpu nvlink"].theoretical_gbs == 300.0
    assert ends(paths["host-gpu near"]) == [("host", 48, 3), ("00", 49, 3)]
    # The first node of the other socket.
    assert ends(paths["host-gpu far"]) == [("host", 64, 4), ("00", 48, 3)]
    # The link between the sockets is on the way.
    assert paths["host-gpu far"].theoretical_gbs is None
    assert paths["host-gpu near"].theoretical_gbs == pytest.approx(28.807, abs=0.001)


def test_the_rank_of_the_host_holds_a_gpu_of_its_own_where_there_are_two(load: Load) -> None:
    machine = load("pcie-only")
    paths = gpu_paths(machine, all_pairs=True)
    for name in ("host-gpu near", "host-gpu far", "host-gpu pair node1-gpu3"):
        host, gpu = paths[name].ends
        assert paths[name].host_device == "own"
        [held] = [gpu for gpu in machine.gpus if gpu.uuid == host.device]
        assert held.uuid != gpu.gpu
        assert f"; the host's rank holds GPU {held.index}, its own" in paths[name].summary
    # Of the others the one nearest to the rank's memory.
    assert [paths[f"host-gpu {name}"].ends[0].device[-2:] for name in ("near", "far")] == [
        "01",
        "02",
    ]
    same = paths["host-gpu near same-gpu"]
    assert (same.host_device, same.variant_of) == ("same", "host-gpu near")
    assert same.ends[0].device == same.ends[1].gpu
    assert same.summary.endswith("; the host's rank holds the same GPU, time-sliced")


def test_the_rank_of_the_host_holds_no_gpu_where_there_is_one(load: Load) -> None:
    paths = gpu_paths(load("one-gpu"))
    near, same = paths["host-gpu near"], paths["host-gpu near same-gpu"]
    assert (near.host_device, near.ends[0].device) == ("none", "-")
    assert near.summary.endswith("; the host's rank holds no GPU")
    # For those alone that refuse the other one.
    assert (same.host_device, same.variant_of) == ("same", "")


def test_summit_across_sockets(load: Load) -> None:
    path = gpu_paths(load("power9-ac922"))["gpu-gpu cross-socket"]
    assert ends(path) == [("00", 0, 0), ("03", 88, 8)]
    assert path.theoretical_gbs is None
    assert "no direct copies: the chipset does not support it" in path.summary


def test_why_paths_are_missing(load: Load) -> None:
    told = missing(load("pcie-only"))
    assert told.keys() == {
        "gpu-gpu same-gpu mps",
        "gpu-gpu nvlink",
        "gpu-gpu host-bridge",
        "gpu-gpu two-nodes",
        "host-gpu two-nodes",
    }
    assert "nvidia-cuda-mps-control" in told["gpu-gpu same-gpu mps"]
    assert missing(load("one-gpu")).keys() == {
        "gpu-gpu between two",
        "host-gpu far",
        "gpu-gpu two-nodes",
        "host-gpu two-nodes",
    }
    assert "gpu-gpu same-gpu mps" not in missing(load("mi250x-node"))  # NVIDIA's alone


def test_a_machine_without_gpus_is_quiet(
    load: Load, recorded: Callable[[str], Path], put: Put
) -> None:
    assert missing(load("one-socket")) == {}
    put(recorded("one-socket"), "nvidia/error", "Driver Not Loaded")
    assert list(missing(load("one-socket"))) == ["gpu-gpu, host-gpu"]


def test_one_core_is_not_enough(load: Load) -> None:
    machine = limited(load("pcie-only"), [0, 40])
    assert gpu_paths(machine) == {}
    assert "one core only" in missing(machine)["gpu-gpu, host-gpu"]


def test_a_core_of_another_node_helps_out(load: Load) -> None:
    paths = gpu_paths(limited(load("pcie-only"), [0, 1]))
    assert ends(paths["gpu-gpu pcie-switch"]) == [("00", 0, 0), ("01", 1, 1)]
    assert ends(paths["host-gpu far"]) == [("host", 1, 1), ("00", 0, 0)]
    # No core of the GPUs' own node may be used.
    machine = limited(load("pcie-only"), [1, 3])
    paths = gpu_paths(machine)
    assert ends(paths["host-gpu near"]) == [("host", 1, 1), ("00", 3, 1)]
    assert "one NUMA node only" in missing(machine)["host-gpu far"]


@pytest.mark.parametrize("name", ["pcie-only", "dgx-h100", "power9-ac922", "mi250x-node"])
@pytest.mark.parametrize("said", ["-1", "99"])  # firmware does not know it; an offline node
def test_gpus_of_unknown_nodes_are_neither_near_nor_far(
    recorded: Recorded, put: Put, name: str, said: str
) -> None:
    root = recorded(name)
    for gpu in from_sysfs(root).gpus:
        put(root, f"sys/bus/pci/devices/{gpu.pci}/numa_node", said)
    machine = from_sysfs(root)
    assert {gpu.numa_node for gpu in machine.gpus} == {None}
    paths = gpu_paths(machine, all_pairs=True)
    assert not {"host-gpu near", "host-gpu far", "host-gpu near same-gpu"} & paths.keys()
    assert "NUMA node" in missing(machine)["host-gpu far"]
    path = paths["host-gpu node-unknown"]
    assert "at node unknown" in path.summary
    assert path.host_device == "own"
    assert paths["host-gpu node-unknown same-gpu"].variant_of == path.id
    to_gpus = [path for name, path in paths.items() if name.startswith("host-gpu")]
    assert {path.theoretical_gbs for path in to_gpus} == {None}


def test_the_first_gpu_whose_node_is_known_is_near_and_far(recorded: Recorded, put: Put) -> None:
    root = recorded("pcie-only")
    put(root, "sys/bus/pci/devices/0000:3d:00.0/numa_node", "-1")
    paths = gpu_paths(from_sysfs(root))
    assert paths["host-gpu near"].ends[1].gpu == from_sysfs(root).gpus[1].uuid
    assert "host-gpu node-unknown" not in paths


def test_a_peak_needs_cores_beside_the_gpu(load: Load) -> None:
    paths = gpu_paths(load("pcie-only"))
    assert paths["host-gpu near"].theoretical_gbs is not None
    # Cores of another socket stand in for those of the GPU's.
    paths = gpu_paths(limited(load("pcie-only"), [1, 3]))
    assert paths["host-gpu near"].theoretical_gbs is None


def test_sockets_that_the_firmware_does_not_tell_apart_have_no_peak_between(load: Load) -> None:
    machine = load("pcie-only")
    cores = [msgspec.structs.replace(core, package=None) for core in machine.cores]
    paths = gpu_paths(msgspec.structs.replace(machine, cores=cores))
    assert paths["host-gpu near"].theoretical_gbs is not None
    assert paths["host-gpu far"].theoretical_gbs is None


def test_all_pairs(load: Load) -> None:
    paths = gpu_paths(load("pcie-only"), all_pairs=True)
    pairs = [name for name in paths if " pair " in name]
    assert pairs == [
        *(f"gpu-gpu pair {pair}" for pair in ("0-1", "0-2", "0-3", "1-2", "1-3", "2-3")),
        *(f"host-gpu pair node{node}-gpu{gpu}" for node in (0, 1) for gpu in range(4)),
    ]
    assert ends(paths["gpu-gpu pair 1-2"]) == [("01", 0, 0), ("02", 1, 1)]
    assert ends(paths["host-gpu pair node1-gpu0"]) == [("host", 1, 1), ("00", 0, 0)]
    assert "gpu-gpu pair 0-1" not in gpu_paths(load("pcie-only"))


def test_two_nodes_take_a_gpu_near_the_adapter(load: Load) -> None:
    machine = load("pcie-only")
    paths = gpu_paths(machine, ["recorded", "b"])
    path = paths["gpu-gpu two-nodes"]
    assert ends(path) == [("2", 1, 1), ("2", 3, 1)]  # by index: uuids of the other are not known
    assert [end.host for end in path.ends] == ["recorded", "b"]
    assert (path.transport, path.theoretical_gbs, path.nic) == ("network", 12.5, None)
    assert ends(paths["host-gpu two-nodes"]) == [("host", 1, 1), ("2", 3, 1)]
    assert paths["host-gpu two-nodes"].ends[0].device == "2"
    assert paths["host-gpu two-nodes"].host_device == "own"
    machine.gpus[:] = [msgspec.structs.replace(machine.gpus[2], ordinal=0)]  # all others are hidden
    assert ends(gpu_paths(machine, ["recorded", "b"])["gpu-gpu two-nodes"])[1] == ("0", 3, 1)
    assert "gpu-gpu two-nodes far-nic" not in paths
    assert "no adapter" in missing(machine, ["recorded", "b"])["gpu-gpu two-nodes far-nic"]


def test_adapters_on_several_nodes_make_a_far_one(load: Load) -> None:
    paths = gpu_paths(load("dgx-h100"), ["recorded", "b"])
    far = paths["gpu-gpu two-nodes far-nic"]
    assert far.nic == far.adapter == "mlx5_7:1"  # of node 1
    assert paths["gpu-gpu two-nodes"].adapter == "mlx5_0:1"
    assert paths["host-gpu near"].adapter is None
    assert ends(far) == ends(paths["gpu-gpu two-nodes"]) == [("0", 0, 0), ("0", 1, 0)]
    assert far.theoretical_gbs == 50.0


def below(put: Put, root: Path, device: str, pci: str, *bridges: str) -> None:
    """Puts a device below PCIe bridges: an RDMA adapter by its name, or a GPU where it has none."""
    where = "/".join(["../../../devices/pci0000:00", *bridges, pci])
    put(root, f"sys/bus/pci/devices/{pci}", where)
    if device:
        put(root, f"sys/class/infiniband/{device}/device", f"../../../{pci}")


ROOT, SWITCH, OTHER = "0000:15:01.0", "0000:16:00.0", "0000:17:02.0"
GPU = "0000:1b:00.0"  # the first one of dgx-h100


@pytest.mark.parametrize(
    ("places", "adapter"),
    [
        ({}, "mlx5_0:1"),  # nothing is known but NUMA nodes
        ({GPU: (ROOT, SWITCH), "mlx5_2": (ROOT, SWITCH)}, "mlx5_2:1"),
        ({GPU: (ROOT, SWITCH, OTHER), "mlx5_1": (ROOT,), "mlx5_3": (ROOT, SWITCH)}, "mlx5_3:1"),
        ({GPU: (ROOT,), "mlx5_0": ("0000:15:02.0",), "mlx5_1": (ROOT,)}, "mlx5_1:1"),
        ({GPU: (ROOT,), "mlx5_7": (ROOT,)}, "mlx5_7:1"),  # firmware tells another NUMA node
    ],
)
def test_the_adapter_below_the_switch_of_the_gpu(
    recorded: Recorded, put: Put, places: dict[str, tuple[str, ...]], adapter: str
) -> None:
    root = recorded("dgx-h100")
    for number, (device, bridges) in enumerate(places.items()):
        gpu = device == GPU
        below(put, root, "" if gpu else device, GPU if gpu else f"0000:2{number}:00.0", *bridges)
    path = gpu_paths(from_sysfs(root), ["recorded", "b"])["gpu-gpu two-nodes"]
    assert (path.adapter, path.ends[0].gpu) == (adapter, "0")


def test_a_switch_tells_what_numa_nodes_do_not(recorded: Recorded, put: Put) -> None:
    root = recorded("dgx-h100")
    machine = from_sysfs(root)
    for gpu in machine.gpus:
        put(root, f"sys/bus/pci/devices/{gpu.pci}/numa_node", "-1")
    for number in range(8):
        put(root, f"sys/class/infiniband/mlx5_{number}/device/numa_node", "-1")
    below(put, root, "", machine.gpus[3].pci, ROOT)
    below(put, root, "mlx5_5", "0000:29:00.0", ROOT)
    paths = gpu_paths(from_sysfs(root), ["recorded", "b"])
    path = paths["gpu-gpu two-nodes"]
    assert (path.adapter, path.ends[0].gpu) == ("mlx5_5:1", "3")
    assert "gpu-gpu two-nodes far-nic" not in paths


def test_adapters_sort_by_their_numbers(recorded: Recorded, put: Put) -> None:
    root = recorded("dgx-h100")
    for number in (8, 9, 10, 11):
        folder = f"sys/class/infiniband/mlx5_{number}"
        put(root, f"{folder}/device/numa_node", "1")
        for file, text in (("link_layer", "InfiniBand"), ("state", "4: ACTIVE")):
            put(root, f"{folder}/ports/1/{file}", text)
        put(root, f"{folder}/ports/1/rate", "400 Gb/sec (4X NDR)")
    names = [nic.name for nic in from_sysfs(root).nics if nic.kind == "infiniband"]
    assert names == [f"mlx5_{number}:1" for number in range(12)]
    assert gpu_paths(from_sysfs(root), ["recorded", "b"])["gpu-gpu two-nodes far-nic"].nic == (
        "mlx5_11:1"
    )


def test_two_other_nodes_have_no_known_adapter(load: Load) -> None:
    path = gpu_paths(load("dgx-h100"), ["a", "b"])["gpu-gpu two-nodes"]
    assert path.theoretical_gbs is None
    assert path.summary == "a to b, GPU 0 (NVIDIA H100 80GB HBM3)"


def test_ids_of_paths_are_public_and_have_no_hardware_address(load: Load) -> None:
    machine = load("mi350x")
    name = "rocex1070fd0300b5eb54:1"
    nics = [msgspec.structs.replace(nic, name=name, verbs=name) for nic in machine.nics]
    machine = msgspec.structs.replace(machine, nics=nics)
    paths = gpu_paths(machine, ["recorded", "b"], all_pairs=True)
    assert paths["gpu-gpu two-nodes pair gpu3-rocex3:1"].nic == name


def test_all_pairs_of_two_nodes_with_roce_and_not_with_efa(load: Load) -> None:
    def forced(name: str) -> list[str | None]:
        paths = gpu_paths(load(name), ["recorded", "b"], all_pairs=True)
        return [path.nic for path in paths.values() if path.between_hosts and path.pair]

    assert forced("mi350x") == [f"bnxt_re{number}:1" for number in range(8)]
    assert forced("aws-p4d") == []
    assert forced("dgx-spark") == []  # at the same NUMA node only


def test_all_pairs_of_two_nodes_force_the_adapter_of_each_gpu(load: Load) -> None:
    machine = load("dgx-h100")
    paths = gpu_paths(machine, ["recorded", "b"], all_pairs=True)
    rails = {path.id: path for path in paths.values() if path.between_hosts and path.pair}
    assert list(rails) == [
        f"gpu-gpu two-nodes pair gpu{number}-mlx5_{number}:1" for number in range(8)
    ]
    path = rails["gpu-gpu two-nodes pair gpu5-mlx5_5:1"]
    assert path.nic == path.adapter == "mlx5_5:1"
    assert path.pair == ("gpu5", "mlx5_5:1")
    assert ends(path) == [("5", 56, 1), ("5", 57, 1)]
    assert not any(path.pair for path in gpu_paths(machine, ["recorded", "b"]).values())


def test_the_loopback_of_the_gpu_nearest_to_its_adapter(load: Load) -> None:
    machine = load("mi300x")
    assert "gpu-gpu nic-loopback" not in gpu_paths(machine)  # it is measured where it is named
    path = gpu_paths(machine, all_pairs=True)["gpu-gpu nic-loopback"]
    assert (path.adapter, path.theoretical_gbs, path.transport) == ("mlx5_0:1", None, "network")
    assert [end.gpu for end in path.ends] == [machine.gpus[0].uuid] * 2
    assert path.is_loopback
    assert path.without_mpi
    assert not path.pair
    assert not any(path.is_loopback for path in gpu_paths(machine, ["recorded", "b"]).values())
    reasons = {reason.path: reason.why for reason in discover_paths(load("one-gpu"), (), True)[1]}
    assert "no RDMA adapter" in reasons["gpu-gpu nic-loopback"]
    # Slingshot's adapters are not perftest's.
    assert "gpu-gpu nic-loopback" not in gpu_paths(load("mi300a"), all_pairs=True)
