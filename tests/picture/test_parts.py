# SPDX-License-Identifier: Apache-2.0
"""What stands together in the drawing, and which links are one."""

from collections import Counter
from collections.abc import Callable

import pytest

from nearpeak.machine.machine import Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.picture.parts import fabrics, gib, indirect, sockets, spot
from nearpeak.terms.path import DataPath, Endpoint

Recorded = Callable[[str], Machine]


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-h100"])
def test_all_to_all_is_one_fabric(recorded: Recorded, name: str) -> None:
    (whole,) = fabrics(recorded(name))
    assert (whole.kind, whole.gpus) == ("nvlink", tuple(range(8)))


def test_one_fabric_for_each_socket_of_an_ac922(recorded: Recorded) -> None:
    found = fabrics(recorded("power9-ac922"))
    assert [fabric.gpus for fabric in found] == [(0, 1, 2), (3, 4, 5)]
    assert found[0].label.replace("\N{NO-BREAK SPACE}", " ") == "NVLink 50 GB/s"


def test_direct_links_of_mi250x_alone(recorded: Recorded) -> None:
    machine = recorded("mi250x-node")
    assert Counter(fabric.gbs for fabric in fabrics(machine)) == {200.0: 4, 100.0: 2, 50.0: 6}
    assert indirect(machine)
    assert not indirect(recorded("dgx-h100"))


def test_ways_through_the_host_are_no_links(recorded: Recorded) -> None:
    assert [fabric.gpus for fabric in fabrics(recorded("pcie-only"))] == [(0, 1), (2, 3)]


def test_gpus_stand_in_the_order_of_their_nodes(recorded: Recorded) -> None:
    (socket,) = sockets(recorded("mi250x-node"))
    assert [gpu.index for gpu in socket.gpus] == [4, 5, 2, 3, 6, 7, 0, 1]
    first, second = sockets(recorded("dgx-a100"))
    assert [gpu.index for gpu in first.gpus] == [2, 3, 0, 1]
    assert [node.index for node in second.nodes] == [4, 5, 6, 7]


def test_gpu_memory_and_empty_nodes_are_no_parts(recorded: Recorded) -> None:
    (socket,) = sockets(recorded("grace-hopper"))
    assert [node.index for node in socket.nodes] == [0]


@pytest.mark.parametrize(
    ("name", "path", "where"),
    [
        ("h200x2", "host-host same-numa", ("node", 0, 0)),
        ("h200x2", "gpu-gpu same-gpu", ("gpu", 0, 0)),
        ("h200x2", "gpu-gpu nvlink", ("link", 0, 1)),
        ("h200x2", "host-gpu near", ("host link", 0, 0)),
        ("h200x2", "host-memory node0", ("memory", 0, 0)),
        ("dgx-a100", "host-host cross-numa", ("sockets", 0, 0)),
        ("dgx-a100", "host-host cross-numa same-package", ("inside", 0, 0)),
        ("dgx-a100", "gpu-gpu two-nodes", ("remote", 0, 0)),
        ("mi250x-node", "host-host cross-numa", ("inside", 0, 0)),
        ("power9-ac922", "gpu-gpu cross-socket", ("sockets", 0, 0)),
        ("power9-ac922", "host-gpu far", ("sockets", 0, 0)),
    ],
)
def test_where_a_path_is_drawn(
    recorded: Recorded, name: str, path: str, where: tuple[str, int, int]
) -> None:
    machine = recorded(name)
    paths, _ = discover_paths(machine, ["recorded", "other"])
    assert spot(machine, next(way for way in paths if way.id == path)) == where


def test_ends_that_are_not_known_are_nowhere(recorded: Recorded) -> None:
    end = Endpoint(memory="host", cpus=[], numa_node=None)
    path = DataPath(id="imported", summary="", transport="unknown", ends=(end, end))
    assert not path.located
    assert path.place.hosts == 0
    with pytest.raises(ValueError, match="imported: it is not known where its ends are"):
        spot(recorded("dgx-a100"), path)


def test_memory_in_words() -> None:
    assert gib(500 << 30).split() == ["500", "GiB"]
    assert gib(2048 << 30).split() == ["2.0", "TiB"]
    assert gib(5_196_000_000).split() == ["5", "GiB"]  # 4.84
    assert gib(3 << 29).split() == ["1.5", "GiB"]
