# SPDX-License-Identifier: Apache-2.0
"""The data paths of recorded machines."""

import socket
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.machine.machine import Machine, Nic
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.places import Ranks
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.terms.path import DataPath

Load = Callable[[str], Machine]


def limited(machine: Machine, cpus: list[int], nodes: list[int] | None = None) -> Machine:
    return msgspec.structs.replace(machine, allowed_cpus=cpus, allowed_nodes=nodes)


def by_id(machine: Machine) -> dict[str, DataPath]:
    paths, _ = discover_paths(machine)
    assert len({path.id for path in paths}) == len(paths)
    return {path.id: path for path in paths}


def ends(path: DataPath) -> list[tuple[list[int], int]]:
    return [(end.cpus, end.numa_node) for end in path.ends]


def reason(machine: Machine, name: str) -> str:
    _, missing = discover_paths(machine)
    return next(lack.why for lack in missing if lack.path == name)


def test_every_path_stands_on_usable_cores(any_machine: Path) -> None:
    machine = from_sysfs(any_machine)
    paths, missing = discover_paths(machine)
    home = {cpu: core for core in machine.cores for cpu in core.cpus}
    for path in paths:
        cpus = [end.cpus for end in path.ends]
        assert {cpu for known in cpus for cpu in known} <= set(machine.allowed_cpus)
        assert all(home[cpu].numa_node == path.ends[0].numa_node for cpu in cpus[0])
        if path.transport == "local":
            assert cpus[0] == cpus[1]
        else:
            assert {len(cpu) for cpu in cpus} == {1}
            assert len({home[cpu[0]].cpus[0] for cpu in cpus}) == len(cpus)
    names = [path.id for path in paths] + [lack.path for lack in missing]
    for name in ("same-numa", "cross-numa", "tcp-loopback", "two-nodes"):
        assert names.count(f"host-host {name}") == 1
    assert discover_paths(machine) == (paths, missing)


def test_one_socket(load: Load) -> None:
    machine = load("one-socket")
    paths = by_id(machine)
    assert list(paths) == [
        *("host-host same-numa", "host-host tcp-loopback"),
        *("host x4", "host x8", "host-memory node0"),
    ]
    assert ends(paths["host-host same-numa"]) == [([0], 0), ([1], 0)]
    assert paths["host-host same-numa"].transport == "memory"
    assert "one L3 cache" in paths["host-host same-numa"].summary
    assert paths["host-host tcp-loopback"].transport == "network"
    assert reason(machine, "host-host cross-numa").endswith(
        "the machine has one NUMA node with cores"
    )


def many(machine: Machine, *counts: int, oversubscribe: bool = False) -> dict[int, DataPath]:
    """The paths of more than two ranks of the host, by their number."""
    paths, _ = discover_paths(machine, ranks=Ranks(counts, oversubscribe))
    found = [path for path in paths if len(path.ends) > 2 and path.ends[0].memory == "host"]
    assert all(path.id == f"host x{len(path.ends)}" for path in found)
    return {len(path.ends): path for path in found}


def test_four_ranks_and_one_for_each_core_an_even_number_of_them(load: Load) -> None:
    two_sockets = load("two-sockets-smt")
    paths = many(two_sockets)
    assert [*paths] == [4, len(two_sockets.cores)]
    nodes = [end.numa_node for end in paths[40].ends]
    assert nodes == sorted(nodes)  # the second half sits on the second socket
    assert [end.cpus for end in paths[4].ends] == [[0], [2], [4], [6]]  # all on the first
    one_socket = load("one-socket")
    for allowed, ranks in ((8, [4, 8]), (7, [4, 6]), (5, [4]), (4, [4]), (3, []), (2, [])):
        assert [*many(limited(one_socket, list(range(allowed))))] == ranks
    assert "3 cores only" in reason(limited(one_socket, [0, 1, 2]), "host x4")
    _, missing = discover_paths(limited(one_socket, [0, 1]))
    assert not any(lack.ranks > 2 for lack in missing)  # the paths between two are all there is


def test_more_ranks_hold_the_ends_of_fewer(any_machine: Path) -> None:
    paths, _ = discover_paths(from_sysfs(any_machine))
    by_name = {path.id: path for path in paths}
    for path in (path for path in paths if len(path.ends) > 2):
        assert path.holds(path)
        assert path.ends[0].memory == "gpu" or path.holds(by_name["host-host same-numa"])
        assert not any(path.holds(way) for way in paths if way.transport == "network")
        assert not any(path.holds(way) for way in paths if way.shares_gpu)
        kind = [
            way
            for way in paths
            if len(way.ends) > 2
            and way.ends[0].memory == path.ends[0].memory
            and not way.gpu_support  # of which there is one, that need not be the widest
        ]
        assert kind[-1].holds(path)


def test_as_many_ranks_as_are_asked_for(load: Load) -> None:
    machine = load("one-socket")
    assert [*many(machine, 6, 2, 3)] == [3, 6]
    assert "8 cores only" in next(
        path.why for path in discover_paths(machine, ranks=Ranks((16,)))[1] if path.ranks == 16
    )
    shared = many(machine, 12, oversubscribe=True)[12]
    assert [end.cpus[0] for end in shared.ends] == [*range(8), *range(4)]
    assert shared.shares_cores
    assert "12 ranks, on 8 cores, which they share" in shared.summary
    assert not many(machine, 8, oversubscribe=True)[8].shares_cores


def test_two_sockets_with_smt(load: Load) -> None:
    paths = by_id(load("two-sockets-smt"))
    # Neither the sibling 40 of CPU 0 nor CPU 1, which is on the other socket.
    assert ends(paths["host-host same-numa"]) == [([0], 0), ([2], 0)]
    assert ends(paths["host-host cross-numa"]) == [([0], 0), ([1], 1)]
    assert "of two packages" in paths["host-host cross-numa"].summary
    assert "host-host cross-numa same-package" not in paths
    assert [name for name in paths if name.startswith("host-memory")] == [
        "host-memory node0",
        "host-memory node0 from node1",
        "host-memory node1",
        "host-memory node1 from node0",
    ]
    far = paths["host-memory node0 from node1"]
    assert far.ends[0].cpus == list(range(1, 40, 2))  # one logical CPU of each core of node 1
    assert [end.numa_node for end in far.ends] == [1, 0]


def test_epyc_has_two_classes_of_distance(load: Load) -> None:
    paths = by_id(load("epyc-nps4"))
    assert ends(paths["host-host same-numa"]) == [([0], 0), ([1], 0)]
    assert ends(paths["host-host cross-numa"]) == [([0], 0), ([64], 4)]
    assert "distance 32" in paths["host-host cross-numa"].summary
    assert ends(paths["host-host cross-numa same-package"]) == [([0], 0), ([16], 1)]
    assert "distance 12" in paths["host-host cross-numa same-package"].summary
    assert sum(1 for path in paths.values() if path.transport == "local") == 64


def test_one_package_of_several_nodes_has_one_cross_path(load: Load) -> None:
    machine = load("epyc-nps4")
    paths = by_id(limited(machine, list(range(64))))
    assert ends(paths["host-host cross-numa"]) == [([0], 0), ([16], 1)]
    assert "host-host cross-numa same-package" not in paths


def test_power9_leaves_pairs_of_cores_and_gpu_memory_alone(load: Load) -> None:
    paths = by_id(load("power9-ac922"))
    # Cores 0 and 1 share L2 and L3: between them no path is seen.
    assert ends(paths["host-host same-numa"]) == [([0], 0), ([8], 0)]
    assert "no cache in common" in paths["host-host same-numa"].summary
    assert ends(paths["host-host cross-numa"]) == [([0], 0), ([88], 8)]
    assert sum(1 for path in paths.values() if path.transport == "local") == 4
    assert paths["host-memory node8"].ends[0].cpus == list(range(88, 176, 4))


def test_grace_hopper_has_one_host_memory(load: Load) -> None:
    paths = by_id(load("grace-hopper"))
    assert [name for name in paths if name.startswith("host-memory")] == ["host-memory node0"]


def test_memory_without_cores_is_measured_from_other_nodes(load: Load) -> None:
    machine = load("grace-hopper")
    nodes = [msgspec.structs.replace(node, memory="host") for node in machine.numa_nodes]
    machine = msgspec.structs.replace(machine, numa_nodes=nodes)  # as if the HBM were the host's
    assert "host-memory node1 from node0" in by_id(machine)
    assert "it has no cores" in reason(machine, "host-memory node1")


def test_one_allowed_core_has_no_pair(load: Load) -> None:
    machine = limited(load("two-sockets-smt"), [2, 42])
    assert [name for name in by_id(machine) if name.startswith("host-host")] == []
    assert "may not use two cores" in reason(machine, "host-host same-numa")
    assert "one core only" in reason(machine, "host-host tcp-loopback")
    assert "one NUMA node only" in reason(machine, "host-host cross-numa")
    assert "may not use its cores" in reason(machine, "host-memory node1")


def test_only_allowed_cpus(load: Load) -> None:
    paths = by_id(limited(load("two-sockets-smt"), [43, 44, 46]))
    assert ends(paths["host-host same-numa"]) == [([44], 0), ([46], 0)]
    assert ends(paths["host-host cross-numa"]) == [([44], 0), ([43], 1)]


def test_one_core_in_each_of_two_nodes(load: Load) -> None:
    paths = by_id(limited(load("two-sockets-smt"), [0, 1]))
    assert "host-host same-numa" not in paths
    assert ends(paths["host-host tcp-loopback"]) == [([0], 0), ([1], 1)]


def test_forbidden_memory_is_said(load: Load) -> None:
    machine = load("two-sockets-smt")
    machine = limited(machine, machine.allowed_cpus, [0])
    assert "no memory of NUMA node 1" in reason(machine, "host-memory node1")
    assert "host-memory node1 from node0" not in by_id(machine)


def test_two_nodes_through_infiniband(load: Load) -> None:
    machine = load("two-sockets-smt")
    paths, missing = discover_paths(machine, ["recorded.example.org", "node2"])
    path = next(path for path in paths if path.id == "host-host two-nodes")
    assert path.transport == "network"
    assert [end.host for end in path.ends] == ["recorded.example.org", "node2"]
    # Near the adapter, and two cores, for both hosts may be containers of one machine.
    assert ends(path) == [([1], 1), ([3], 1)]
    assert path.theoretical_gbs == 12.5
    assert path.adapter == "mlx5_0:1"
    assert "mlx5_0:1" in path.summary
    assert "host-host two-nodes" not in [lack.path for lack in missing]


def test_two_nodes_by_the_route(load: Load) -> None:
    nic = Nic(name="lo9", kind="ethernet", numa_node=0, rate_gbs=1.25, addresses=["127.0.0.1"])
    machine = msgspec.structs.replace(load("one-socket"), nics=[nic])
    path = discover_paths(machine, ["recorded", "127.0.0.1"])[0][2]
    assert path.id == "host-host two-nodes"
    assert (path.theoretical_gbs, path.adapter) == (1.25, None)
    roce = msgspec.structs.replace(nic, verbs="mlx5_2:1")
    machine = msgspec.structs.replace(machine, nics=[roce])
    assert discover_paths(machine, ["recorded", "127.0.0.1"])[0][2].adapter == "mlx5_2:1"


def test_two_other_nodes_have_no_known_rate(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    def unresolved(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    for hosts in (["a", "b"], ["recorded", "b"]):
        path = discover_paths(load("one-socket"), hosts)[0][2]
        assert path.theoretical_gbs is None
        assert path.summary == f"{hosts[0]} to {hosts[1]}"


def test_a_path_joins_two_hosts_or_more(load: Load) -> None:
    with pytest.raises(UserError, match="not a alone: name another"):
        discover_paths(load("one-socket"), ["a"])


def many_nodes(load: Load, number: int, *counts: int) -> dict[str, DataPath]:
    """Those on several of so many hosts."""
    hosts = [f"n{host}" for host in range(number)]
    paths, _ = discover_paths(load("one-socket"), hosts, ranks=Ranks(counts))
    return {path.id: path for path in paths if path.between_hosts}


@pytest.mark.parametrize(
    ("number", "names"),
    [
        (2, []),
        (3, ["host x3 3-nodes"]),
        (4, ["host x4 4-nodes"]),
        (5, ["host x4 4-nodes", "host x5 5-nodes"]),
        (16, ["host x4 4-nodes", "host x8 8-nodes", "host x16 16-nodes"]),
    ],
)
def test_all_nodes_and_powers_of_two_below(load: Load, number: int, names: list[str]) -> None:
    assert list(many_nodes(load, number)) == ["host-host two-nodes", *names]


def test_a_rank_on_each_node_or_as_many_as_asked_for(load: Load) -> None:
    path = many_nodes(load, 4)["host x4 4-nodes"]
    assert [end.host for end in path.ends] == ["n0", "n1", "n2", "n3"]
    assert [end.cpus for end in path.ends[2:]] == [end.cpus for end in path.ends[:2]]
    assert path.place.hosts == 4
    found = many_nodes(load, 4, 8)
    assert list(found) == ["host-host two-nodes", "host x8 2-nodes", "host x8 4-nodes"]
    wide = found["host x8 4-nodes"]
    assert [end.host for end in wide.ends] == ["n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3"]
    assert not wide.shares_cores
    assert list(many_nodes(load, 2, 4)) == ["host-host two-nodes", "host x4 2-nodes"]


def test_the_first_pair_is_within_a_rank_on_each_node_alone(load: Load) -> None:
    """Ranks of one node also exchange what crosses no network: the pair is no bound of theirs."""
    pair = many_nodes(load, 4)["host-host two-nodes"]
    assert [end.host for end in pair.ends] == ["n0", "n1"]
    assert many_nodes(load, 4)["host x4 4-nodes"].holds(pair)
    assert not many_nodes(load, 4, 8)["host x8 4-nodes"].holds(pair)


def test_one_rank_alone_where_it_is_asked_for(load: Load) -> None:
    machine = load("h200x2")
    usual, _ = discover_paths(machine)
    assert not {"host x1", "gpu x1"} & {path.id for path in usual}
    paths, _ = discover_paths(machine, ranks=Ranks((1, 2)))
    alone = {path.id: path for path in paths if len(path.ends) == 1}
    assert {"host x1", "gpu x1"} == set(alone)
    assert alone["gpu x1"].place.kind == "gpu-gpu"
    assert alone["gpu x1"].summary == f"one rank with GPU 0 ({machine.gpus[0].name})"
