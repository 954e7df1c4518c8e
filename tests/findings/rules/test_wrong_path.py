# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages that were counted on other links than those of their path."""

from dataclasses import replace
from typing import Any

import pytest
from made_counters import (
    between_hosts,
    counted,
    facts,
    host_path,
    nic,
    noticed,
    nvlink_path,
    on_gpus,
    studied,
    with_gpus,
    with_nics,
)

from nearpeak.findings.find import find_in
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Nic
from nearpeak.report.findings import sentence
from nearpeak.terms.counters import Link

RULE = "wrong_path"
LOOPBACK = Link("loopback", "a", "lo")
PORT = Link("infiniband", "a", "mlx5_0:1")
INTERFACE = Link("network", "a", "eth0")


def on_nvlink(by_hand: Any, nvlink: float, pcie: float, **how: Any) -> list[Any]:
    machine = with_gpus(by_hand.MACHINE, how.pop("peer", None))
    launch = counted(on_gpus(nvlink, pcie), how.pop("at_least", ()))
    return noticed(by_hand, RULE, nvlink_path(), *[launch] * 3, machine=machine, **how)


def test_messages_that_nvlink_should_carry_and_pcie_does(by_hand: Any) -> None:
    found = on_nvlink(by_hand, 0.0, 1.08)
    assert facts(found) == ["NVLink: 0 times the payload", "PCIe: 1.08 times the payload"]
    assert found[0].sure


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *[("^cuda_ipc", True), ("^cuda_ipc,rocm_ipc", True), ("^gdr_copy,cuda*", True)],
        *[("tcp,cuda_copy", True), ("sm,self", True), ("^cuda", True)],
        *[("all", False), ("^rocm_ipc", False), ("sm,cuda_copy,cuda_ipc", False)],
        *[("rc,cuda", False), ("^tcp", False), ("*", False)],
    ],
)
def test_a_variable_that_may_be_the_reason_is_named(by_hand: Any, value: str, said: bool) -> None:
    library = replace(by_hand.library("openmpi"), given=Settings(env={"UCX_TLS": value}))
    launches = [counted(on_gpus(0.0, 1.08))] * 2
    study = studied(by_hand, nvlink_path(), *launches, machine=with_gpus(by_hand.MACHINE))
    (found,) = find_in(by_hand.view(libraries=[library], **study))
    assert (f"It is run with UCX_TLS={value}." in sentence(found)) == said
    assert "NVLink: 0 times the payload; PCIe: 1.08 times the payload." in sentence(found)


def test_a_list_without_ipc_is_no_reason_of_messages_between_hosts(by_hand: Any) -> None:
    library = replace(by_hand.library("openmpi"), given=Settings(env={"UCX_TLS": "tcp"}))
    machine = with_nics(with_gpus(by_hand.MACHINE), nic("mlx5_0:1"))
    launches = [counted({PORT: 0.0, INTERFACE: 1.05})] * 2
    study = studied(by_hand, between_hosts(), *launches, machine=machine, buffers="H,H")
    (found,) = find_in(by_hand.view(libraries=[library], **study))
    assert "It is run with" not in sentence(found)


def test_a_counter_that_wrapped_gives_a_lower_bound(by_hand: Any) -> None:
    found = on_nvlink(by_hand, 0.0, 0.6, at_least=("pcie",))
    assert facts(found)[1] == "PCIe: at least 0.600 times the payload"


def test_nothing_where_nvlink_carries_them(by_hand: Any) -> None:
    assert on_nvlink(by_hand, 1.0, 0.01) == []
    assert on_nvlink(by_hand, 1.0, 1.08) == []  # it is more than the payload, and on its path


def test_nothing_of_other_memory_or_where_peers_cannot_reach_each_other(by_hand: Any) -> None:
    for buffers in ("H,D", "M,D", "M,M"):
        assert on_nvlink(by_hand, 0.0, 1.08, buffers=buffers) == []
    assert on_nvlink(by_hand, 0.0, 1.08, peer="not supported") == []


def test_nothing_of_small_messages(by_hand: Any) -> None:
    assert on_nvlink(by_hand, 0.0, 1.08, x=4096) == []


def test_nothing_where_nvlink_was_not_read(by_hand: Any) -> None:
    machine = with_gpus(by_hand.MACHINE)
    launch = counted({Link("pcie", "a", "GPU-0"): 1.08})
    assert noticed(by_hand, RULE, nvlink_path(), launch, machine=machine) == []


def test_launches_must_agree_and_one_is_not_significant(by_hand: Any) -> None:
    machine = with_gpus(by_hand.MACHINE)
    wrong, right = counted(on_gpus(0.0, 1.08)), counted(on_gpus(1.0, 0.0))
    path = nvlink_path()
    assert noticed(by_hand, RULE, path, wrong, wrong, right, machine=machine) == []
    (found,) = noticed(by_hand, RULE, path, wrong, machine=machine)
    assert not found.sure


def test_tcp_by_loopback_inside_a_host(by_hand: Any) -> None:
    launches = [counted({LOOPBACK: 1.002, INTERFACE: 0.0})] * 2
    found = noticed(by_hand, RULE, host_path(), *launches, buffers="H,H")
    assert facts(found) == ["loopback: 1.00 times the payload"]
    forced = host_path(id="host-host tcp-loopback", transport="network")
    assert noticed(by_hand, RULE, forced, *launches, buffers="H,H") == []
    quiet = [counted({LOOPBACK: 0.01})] * 2
    assert noticed(by_hand, RULE, host_path(), *quiet, buffers="H,H") == []


def of_hosts(
    by_hand: Any, counts: dict[Link, float], *nics: Nic, forced: str | None = None
) -> list[str]:
    machine = with_nics(by_hand.MACHINE, *(nics or [nic("mlx5_0:1")]))
    path, launches = between_hosts(nic=forced), [counted(counts)] * 2
    return facts(noticed(by_hand, RULE, path, *launches, buffers="H,H", machine=machine))


def test_tcp_between_hosts_that_have_adapters(by_hand: Any) -> None:
    assert of_hosts(by_hand, {PORT: 0.0, INTERFACE: 1.05}) == [
        "InfiniBand or RoCE: 0 times the payload",
        "network: 1.05 times the payload",
    ]
    assert of_hosts(by_hand, {PORT: 1.02, INTERFACE: 0.0}) == []


def test_tcp_over_the_adapter_which_counts_it_too(by_hand: Any) -> None:
    assert of_hosts(by_hand, {PORT: 1.09, Link("network", "a", "ib0"): 1.06}) == [
        "InfiniBand or RoCE: 1.09 times the payload",
        "network: 1.06 times the payload",
    ]


def test_tcp_between_hosts_of_slingshot(by_hand: Any) -> None:
    counts = {Link("slingshot", "a", "cxi0"): 1.09, Link("network", "a", "hsn0"): 1.06}
    assert of_hosts(by_hand, counts, nic("hsn0", "slingshot")) == [
        "Slingshot: 1.09 times the payload",
        "network: 1.06 times the payload",
    ]


ROCE = nic("eth0", "ethernet", verbs="mlx5_0:1", pci="0000:17:00.0")


def test_rdma_that_the_interface_of_roce_counts_too_is_no_tcp(by_hand: Any) -> None:
    assert of_hosts(by_hand, {PORT: 1.02, INTERFACE: 1.05}, ROCE) == []
    assert of_hosts(by_hand, {PORT: 0.4, INTERFACE: 0.45}, ROCE) == []
    other = {PORT: 1.02, Link("infiniband", "b", "mlx5_0:1"): 0.0, INTERFACE: 0.0}
    assert of_hosts(by_hand, {**other, Link("network", "b", "eth0"): 1.05}, ROCE) != []


def test_tcp_over_the_interface_of_roce(by_hand: Any) -> None:
    assert of_hosts(by_hand, {PORT: 0.0, INTERFACE: 1.05}, ROCE) == [
        "InfiniBand or RoCE: 0 times the payload",
        "network: 1.05 times the payload",
    ]
    assert of_hosts(by_hand, {PORT: 0.3, INTERFACE: 1.05}, ROCE) != []
    elsewhere = {PORT: 1.0, INTERFACE: 0.0, Link("network", "a", "eth9"): 1.05}
    assert of_hosts(by_hand, elsewhere, ROCE) != []


def test_the_parts_of_a_bond_count_its_rdma_too(by_hand: Any) -> None:
    bond = nic("bond0", "ethernet", verbs="mlx5_bond_0:1")
    parts = [nic(name, "ethernet", pci=f"0000:17:00.{name[-1]}") for name in ("eth0", "eth1")]
    counts = {Link("infiniband", "a", "mlx5_bond_0:1"): 1.0, Link("network", "a", "bond0"): 1.05}
    counts |= {Link("network", "a", part.name): 0.6 for part in parts}
    assert of_hosts(by_hand, counts, bond, *parts) == []


def test_tcp_is_right_without_an_adapter_that_is_up_and_where_it_is_forced(by_hand: Any) -> None:
    counts, ethernet = {PORT: 0.0, INTERFACE: 1.05}, nic("eth0", "ethernet")
    assert of_hosts(by_hand, counts, ethernet) == []
    assert of_hosts(by_hand, counts, ethernet, nic("mlx5_0:1"), forced="eth0") == []
    assert of_hosts(by_hand, counts, ethernet, nic("mlx5_0:1"), forced="mlx5_0:1") != []


def test_nothing_between_hosts_whose_gpus_nvlink_joins(by_hand: Any) -> None:
    nvlink = Link("nvlink", "a", "GPU-0")
    assert of_hosts(by_hand, {nvlink: 1.0, PORT: 0.0, INTERFACE: 0.01}) == []


def test_nothing_between_hosts_where_no_interface_carries_them(by_hand: Any) -> None:
    assert of_hosts(by_hand, {PORT: 0.0, INTERFACE: 0.01}) == []  # a port that is not counted
