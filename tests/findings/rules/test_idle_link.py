# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""An adapter of several that carries nothing."""

from typing import Any

import pytest
from made_counters import between_hosts, counted, facts, nic, noticed, with_rails

from nearpeak.terms.counters import Link

RULE = "idle_link"


def ports(idle: int, of: int = 8, host: str = "a") -> dict[Link, float]:
    """The ports of a host, the last ones idle."""
    return {
        Link("infiniband", host, f"mlx5_{number}:1"): 0.0
        if number >= of - idle
        else 1 / (of - idle)
        for number in range(of)
    }


def of_ports(by_hand: Any, idle: int, rate_gbs: float | None = 50.0, ranks: int = 8) -> list[str]:
    nics = [nic(link.name, rate_gbs=rate_gbs) for link in ports(idle)]
    machine = with_rails(by_hand.MACHINE, *nics)
    launches = [counted(ports(idle))] * 2
    path = between_hosts(ranks)
    return facts(noticed(by_hand, RULE, path, *launches, buffers="H,H", machine=machine))


def test_an_adapter_of_eight_is_idle(by_hand: Any) -> None:
    assert of_ports(by_hand, 1) == ["mlx5_7:1 of a: carried nothing"]


def test_a_path_has_one_finding_of_all_its_hosts(by_hand: Any) -> None:
    machine = with_rails(by_hand.MACHINE, *(nic(link.name) for link in ports(0)))
    launches = [counted({**ports(2), **ports(1, host="b")})] * 2
    (found,) = noticed(by_hand, RULE, between_hosts(8), *launches, machine=machine)
    assert facts([found]) == [
        "mlx5_6:1 of a: carried nothing",
        "mlx5_7:1 of a and b: carried nothing",
    ]


@pytest.mark.parametrize("idle", [0, 4, 7])
def test_nothing_where_all_are_at_work_or_few_of_them_by_design(by_hand: Any, idle: int) -> None:
    assert of_ports(by_hand, idle) == []


@pytest.mark.parametrize(("idle", "said"), [(1, True), (0, False)])
def test_an_adapter_of_four_of_slingshot(by_hand: Any, idle: int, said: bool) -> None:
    counts = {Link("slingshot", "a", f"cxi{n}"): 0.0 if n < idle else 0.3 for n in range(4)}
    nics = [nic(f"hsi{n}", "slingshot", 25.0, cxi=f"cxi{3 - n}") for n in range(4)]
    machine = with_rails(by_hand.MACHINE, *nics)
    found = noticed(
        by_hand, RULE, between_hosts(4), *[counted(counts)] * 2, machine=machine, buffers="H,H"
    )
    assert facts(found) == (["cxi0 of a: carried nothing"] if said else [])


def test_nothing_of_fewer_ranks_than_adapters(by_hand: Any) -> None:
    assert of_ports(by_hand, 1, ranks=7) == []


def test_nothing_where_no_rate_shows_which_are_alike(by_hand: Any) -> None:
    assert of_ports(by_hand, 1, rate_gbs=None) == []
