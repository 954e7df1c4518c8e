# SPDX-License-Identifier: Apache-2.0
"""The adapters that a plan gives to GPUs, by what this host has."""

import sys

import msgspec
import pytest

from nearpeak.machine.machine import Gpu, Machine, Nic, unknown
from nearpeak.nodes import plan, rails

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


def host(ports: dict[int, float], *, near: bool = True) -> Machine:
    """Eight GPUs, and ports with these rates in GB/s, each below the switch of its GPU. `near`:
    other ports are of the same NUMA node."""
    gpus = [
        Gpu(
            index=number,
            vendor="nvidia",
            name="GPU",
            uuid=f"GPU-{number}",
            pci=f"0000:1{number}:00.0",
            numa_node=number // 4 if near else None,
            memory_bytes=None,
            memory_gbs=None,
            host_link="pcie",
            host_gbs=None,
            upstream=[f"switch {number}"],
        )
        for number in range(8)
    ]
    nics = [
        Nic(
            name=f"mlx5_{number}:1",
            kind="infiniband",
            numa_node=number // 4 if near else None,
            rate_gbs=rate,
            addresses=[],
            verbs=f"mlx5_{number}:1",
            upstream=[f"switch {number}"],
        )
        for number, rate in ports.items()
    ]
    return msgspec.structs.replace(unknown(), gpus=gpus, nics=nics)


def lines(machine: Machine) -> list[str]:
    """The plan's lines of rails."""
    chosen = rails.choose(machine, [], [], is_node=True)
    summary = plan.summary(made.chosen(8, rails=chosen, buffers="D,D"))
    return [line for line in summary if line.startswith(("rails:", "shared:"))]


ALL = dict.fromkeys(range(8), 50.0)
DOWN = {number: 50.0 for number in range(8) if number != 4}


def test_each_gpu_has_its_adapter() -> None:
    [line] = lines(host(ALL))
    assert "GPU 4 with mlx5_4:1, GPU 5 with mlx5_5:1" in line


@pytest.mark.parametrize("ports", [DOWN, {**ALL, 4: 25.0}])
def test_a_plan_says_which_gpus_share_an_adapter_as_one_is_down_or_slow(
    ports: dict[int, float],
) -> None:
    assert lines(host(ports))[1:] == [
        "shared:     mlx5_5:1, by GPUs 4 and 5; other adapters have fewer GPUs: if one is down or"
        " slow on this node, give --adapters"
    ]


def test_gpus_that_all_share_adapters_are_as_they_are_made() -> None:
    ports = [{"mlx5_0:1": 1}, {"mlx5_0:1": 2, "mlx5_1:1": 2}]
    for shares in ports:
        named = [name for name, number in shares.items() for _ in range(number)]
        of = [plan.Rail(gpu=str(gpu), adapter=name) for gpu, name in enumerate(named)]
        summary = plan.summary(made.chosen(8, rails=of, buffers="D,D"))
        assert not [line for line in summary if line.startswith("shared:")]


def test_a_plan_says_which_gpu_has_no_adapter_near_it() -> None:
    [line] = lines(host(DOWN, near=False))
    assert "GPU 3 with mlx5_3:1, GPU 4 with the library's choice, GPU 5 with mlx5_5:1" in line
