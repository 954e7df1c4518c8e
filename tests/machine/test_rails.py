# SPDX-License-Identifier: Apache-2.0
"""The rails of machines: the network adapter of each GPU."""

import msgspec
import pytest

from nearpeak.machine.machine import Gpu, Machine, Nic, unknown
from nearpeak.machine.rails import below_switches, direct_gbs, joined, nearness, rails_of

ROOT, SWITCH = "0000:15:01.0", "0000:16:00.0"


def gpu(index: int, node: int | None = 0, *upstream: str) -> Gpu:
    return Gpu(
        index=index,
        vendor="nvidia",
        name="GPU",
        uuid=f"GPU-{index}",
        pci=f"0000:1{index}:00.0",
        numa_node=node,
        memory_bytes=None,
        memory_gbs=None,
        host_link="pcie",
        host_gbs=None,
        upstream=list(upstream),
    )


def port(number: int, node: int | None = 0, *upstream: str, rate: float = 50.0) -> Nic:
    return Nic(
        name=f"mlx5_{number}:1",
        kind="infiniband",
        numa_node=node,
        rate_gbs=rate,
        addresses=[],
        verbs=f"mlx5_{number}:1",
        upstream=list(upstream),
    )


def machine(gpus: list[Gpu], nics: list[Nic]) -> Machine:
    return msgspec.structs.replace(unknown(), gpus=gpus, nics=nics)


def names(gpus: list[Gpu], nics: list[Nic]) -> dict[int, str]:
    return {index: joined(some).name for index, some in rails_of(machine(gpus, nics)).items()}


@pytest.mark.parametrize(
    ("gpus", "nics", "expected"),
    [
        ([gpu(0)], [], {}),
        ([], [port(0)], {}),
        # The first of the node is for storage; the GPU's own is below its switch.
        ([gpu(0, 0, ROOT)], [port(0), port(2, 0, ROOT)], {0: "mlx5_2:1"}),
        # Two GPUs and two adapters below a switch.
        ([gpu(0, 0, ROOT), gpu(1, 0, ROOT)], [port(n, 0, ROOT) for n in (9, 10)], {0: 9, 1: 10}),
        # Two GPUs and an adapter below a switch, and a farther one that is free.
        (
            [gpu(0, 0, ROOT, SWITCH), gpu(1, 0, ROOT, SWITCH)],
            [port(0, 0, ROOT, SWITCH), port(1)],
            {0: 0, 1: 0},
        ),
        # By NUMA node where bridges are not known.
        ([gpu(0, 0), gpu(1, 1)], [port(0, 1), port(1, 0)], {0: 1, 1: 0}),
        # A GPU that is near to none.
        ([gpu(0, 0), gpu(1, 1), gpu(2, None)], [port(0, 1)], {1: 0}),
        # A slower one is for something else.
        ([gpu(0, 0, ROOT)], [port(0, 0, ROOT, rate=12.5), port(1)], {0: 1}),
    ],
)
def test_the_adapter_of_each_gpu(
    gpus: list[Gpu], nics: list[Nic], expected: dict[int, int | str]
) -> None:
    wanted = {
        index: f"mlx5_{nic}:1" if isinstance(nic, int) else nic for index, nic in expected.items()
    }
    assert names(gpus, nics) == wanted


@pytest.mark.parametrize(
    ("many", "expected"),
    [
        (1, [[0], [0]]),
        (2, [[0], [1]]),
        (4, [[0, 2], [1, 3]]),
    ],
)
def test_adapters_of_efa_are_dealt_out(many: int, expected: list[list[int]]) -> None:
    gpus = [gpu(0, 0, ROOT), gpu(1, 0, ROOT)]
    nics = [msgspec.structs.replace(port(n, 0, ROOT), kind="efa") for n in range(many)]
    rails = rails_of(machine(gpus, nics)).values()
    assert [[nic.name for nic in some] for some in rails] == [
        [f"mlx5_{n}:1" for n in numbers] for numbers in expected
    ]


def test_a_rail_of_several_adapters_has_the_rate_of_all() -> None:
    rail = joined([port(0), port(1), port(2)])
    assert (rail.name, rail.rate_gbs, rail.verbs) == ("mlx5_0:1 and 2 more", 150.0, None)
    assert joined([port(0)]) == port(0)


def test_common_bridges_are_nearer_than_a_common_node() -> None:
    near, other = port(0, 1, ROOT), port(1, 0)
    assert nearness(gpu(0, 0, ROOT), near) > nearness(gpu(0, 0, ROOT), other)


def test_a_common_host_bridge_is_nearer_than_a_common_node() -> None:
    def at(bus: str, nic: Nic) -> Nic:
        return msgspec.structs.replace(nic, root_bus=bus)

    guest = msgspec.structs.replace(gpu(0), root_bus="0000:10")
    assert nearness(gpu(0, 0, ROOT), port(0, 0, ROOT)) > nearness(guest, at("0000:10", port(0)))
    assert nearness(guest, at("0000:10", port(0, 1))) > nearness(guest, at("0000:20", port(0)))
    unplaced = msgspec.structs.replace(guest, numa_node=None)
    both = [at("0000:20", port(0)), at("0000:10", port(1))]
    assert names([unplaced], both) == {0: "mlx5_1:1"}
    # One host bridge of a guest says nothing.
    assert names([unplaced], both[1:]) == {}


def test_adapters_below_the_switches_of_gpus() -> None:
    gpus = [gpu(0, 0, ROOT), gpu(1, 0, ROOT), gpu(2, 0, SWITCH), gpu(3)]
    nics = [port(0, 0, ROOT), port(1, 0, ROOT), port(2, 0, SWITCH), port(3)]
    grouped = [
        ([each.index for each in some], nics) for some, nics in below_switches(machine(gpus, nics))
    ]
    assert grouped == [([0, 1], ("mlx5_0:1", "mlx5_1:1")), ([2], ("mlx5_2:1",))]


def test_only_links_below_a_common_bridge_bound_a_gpu_and_its_adapter() -> None:
    below, slow = [SWITCH], 14.4
    device = msgspec.structs.replace(gpu(0, 0, *below), host_gbs=slow, links_gbs=[slow, 57.6])
    adapter = msgspec.structs.replace(port(0, 0, *below), host_gbs=slow, links_gbs=[slow, 28.8])
    assert adapter.path_gbs == slow
    assert direct_gbs(device, adapter) == 28.8
    assert direct_gbs(device, joined([adapter, adapter])) == 57.6
    assert joined([adapter, adapter]).path_gbs == slow
    apart = msgspec.structs.replace(adapter, upstream=[ROOT])
    assert direct_gbs(device, apart) == slow
    assert joined([adapter, apart]).path_gbs == 2 * slow
    assert direct_gbs(device, msgspec.structs.replace(adapter, rate_gbs=None)) is None
