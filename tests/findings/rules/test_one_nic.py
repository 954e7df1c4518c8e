# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""One adapter of several that carries everything."""

from typing import Any

import msgspec
import pytest
from made_counters import (
    between_hosts,
    counted,
    facts,
    gpu,
    host_path,
    nic,
    noticed,
    studied,
    with_nics,
    with_rails,
)

from nearpeak.terms.counters import Link
from nearpeak.terms.path import DataPath


def ports(*times: float) -> dict[Link, float]:
    return {Link("infiniband", "a", f"mlx5_{n}:1"): each for n, each in enumerate(times)}


def adapters(
    by_hand: Any, path: DataPath, *times: float, rates: tuple[float | None, ...] = (50.0, 50.0)
) -> list[Any]:
    nics = [nic(f"mlx5_{n}:1", rate_gbs=rate) for n, rate in enumerate(rates)]
    machine = with_rails(by_hand.MACHINE, *nics)
    launches = [counted(ports(*times))] * 2
    return noticed(by_hand, "one_nic", path, *launches, machine=machine, buffers="H,H")


def test_one_of_two_adapters_carries_everything(by_hand: Any) -> None:
    found = adapters(by_hand, between_hosts(2), 1.0, 0.001)
    assert facts(found) == ["mlx5_0:1 of a: 99.9 % of the bytes on 2 adapters of its rate"]


def test_nothing_where_both_do_or_there_is_one(by_hand: Any) -> None:
    assert adapters(by_hand, between_hosts(2), 0.5, 0.5) == []
    assert adapters(by_hand, between_hosts(2), 1.0) == []


def test_one_rank_of_a_host_may_take_one_adapter(by_hand: Any) -> None:
    assert adapters(by_hand, between_hosts(1), 1.0, 0.0) == []


def test_nothing_inside_a_host_or_where_the_path_names_an_adapter(by_hand: Any) -> None:
    assert adapters(by_hand, host_path(), 1.0, 0.0) == []
    assert adapters(by_hand, between_hosts(2, nic="mlx5_0:1"), 1.0, 0.0) == []


def test_an_adapter_of_another_rate_is_of_another_kind(by_hand: Any) -> None:
    assert adapters(by_hand, between_hosts(2), 1.0, 0.0, rates=(50.0, 3.1)) == []
    assert adapters(by_hand, between_hosts(2), 1.0, 0.0, rates=(50.0, 50.0)) != []


def test_nothing_where_a_rate_is_not_known_as_of_a_port_that_is_down(by_hand: Any) -> None:
    for rates in ((50.0,), (50.0, None), (None, None)):
        assert adapters(by_hand, between_hosts(2), 1.0, 0.0, rates=rates) == []


def test_an_adapter_of_no_gpu_is_for_something_else(by_hand: Any) -> None:
    nics = [nic("mlx5_0:1"), nic("mlx5_1:1")]
    machine = msgspec.structs.replace(with_nics(by_hand.MACHINE, *nics), gpus=[gpu(0)])
    launches = [counted(ports(1.0, 0.0))] * 2
    known = {"buffers": "H,H", "machine": machine}
    assert noticed(by_hand, "one_nic", between_hosts(2), *launches, **known) == []


@pytest.mark.parametrize(("elsewhere", "said"), [((0.5, 0.5), True), ((1.0, 0.1), False)])
def test_without_gpus_an_adapter_that_another_case_uses_is_judged(
    by_hand: Any, elsewhere: tuple[float, ...], said: bool
) -> None:
    machine = with_nics(by_hand.MACHINE, nic("mlx5_0:1"), nic("mlx5_1:1"))
    one = studied(by_hand, between_hosts(2), counted(ports(1.0, 0.0)), buffers="H,H")
    path = between_hosts(1, id="by another one")
    other = studied(by_hand, path, counted(ports(*elsewhere)), buffers="H,H")
    both = {name: one[name] + other[name] for name in one}
    assert (by_hand.noticed("one_nic", machine=machine, **both) != []) == said


@pytest.mark.parametrize(("times", "said"), [((1.0, 0.001), True), ((0.5, 0.5), False)])
def test_one_of_two_adapters_of_slingshot(
    by_hand: Any, times: tuple[float, ...], said: bool
) -> None:
    machine = with_rails(
        by_hand.MACHINE,
        nic("hsn0", "slingshot", 25.0, cxi="cxi1"),
        nic("cxi0", "slingshot", 25.0, cxi="cxi0"),  # without an interface
    )
    launches = [counted({Link("slingshot", "a", f"cxi{n}"): each for n, each in enumerate(times)})]
    found = noticed(by_hand, "one_nic", between_hosts(2), *launches, machine=machine, buffers="H,H")
    one = ["cxi0 of a: 99.9 % of the bytes on 2 adapters of its rate"]
    assert facts(found) == (one if said else [])


def test_nothing_where_no_adapter_carries_the_messages(by_hand: Any) -> None:
    assert adapters(by_hand, between_hosts(2), 1e-4, 0.0) == []
