# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""How many times slower operations are in GPU memory than in host memory."""

from collections.abc import Callable
from typing import Any

import pytest

from nearpeak.observations.observed import Block
from nearpeak.results.gpu_memory import find
from nearpeak.results.results import InGpuMemory
from nearpeak.terms.identity import Place
from nearpeak.terms.path import DataPath, Endpoint

Found = Callable[..., list[InGpuMemory]]
NEAR, FAR = Place(path="host-host same-numa"), Place(path="host-host cross-numa")


def path_of(place: Place, *cpus: int) -> DataPath:
    """A path with a rank on each of these CPUs."""
    ends = tuple(
        Endpoint(memory=memory, cpus=[cpu], numa_node=0)
        for memory, cpu in zip(place.ends, cpus, strict=True)
    )
    return DataPath(id=place.path, summary="", transport=place.transport, ends=ends)


@pytest.fixture
def found(by_hand: Any) -> Found:
    """What is found in these cells, where both host paths are."""
    return lambda *cells, near=(0, 1): find(
        cells, [path_of(NEAR, *near), path_of(FAR, 0, 2)], by_hand.BENCHMARKS
    )


def test_times_and_rates_are_how_many_times_slower(by_hand: Any, found: Found) -> None:
    make = by_hand.make_cell
    cells = [
        make("latency", 20.0, noise=0),
        make("latency", 0.5, place=NEAR, buffers="H,H", noise=0),
        make("put_bw", 30.0, noise=0),
        make("put_bw", 10.0, place=NEAR, buffers="H,H", noise=0),
    ]
    (told,) = found(*cells)
    assert (told.place, told.host, told.x) == (by_hand.NVLINK, NEAR.path, 8)
    slower = [(each.case.benchmark, each.slower.value, each.blocks) for each in told.operations]
    assert slower == [("latency", 40.0, 6), ("put_bw", pytest.approx(1 / 3), 6)]
    assert told.slower == pytest.approx((40 + 1 / 3) / 2)


def test_only_blocks_that_have_both_count(by_hand: Any, found: Found) -> None:
    make = by_hand.make_cell
    device = make("latency", 20.0, launches=3, noise=0.5)
    host = make("latency", 1.0, place=NEAR, buffers="H,H", noise=0)
    (told,) = found(device, host)
    (operation,) = told.operations
    assert (operation.blocks, operation.slower.ci95) == (3, None)
    assert operation.slower.range == pytest.approx((10.0, 30.0))


def test_what_is_not_the_same_is_not_compared(by_hand: Any, found: Found) -> None:
    make = by_hand.make_cell
    host = {"place": NEAR, "buffers": "H,H"}
    assert not found(make("latency", 20.0), make("latency", 1.0, x=16, **host))
    assert not found(make("latency", 20.0), make("latency", 1.0, library="mpich", **host))
    assert not found(make("latency", 20.0, buffers="D,H"), make("latency", 1.0, **host))
    assert not found(make("vector", 20.0, pack="mpi"), make("vector", 1.0, **host))
    assert not found(make("iallreduce", 2.0), make("iallreduce", 1.0, **host))
    network = Place(path=NEAR.path, transport="network")
    assert not found(make("latency", 20.0), make("latency", 1.0, place=network, buffers="H,H"))
    elsewhere = make("latency", 20.0)
    elsewhere.blocks = [Block(1, block.number) for block in elsewhere.blocks]
    assert not found(elsewhere, make("latency", 1.0, **host))
    other_window = make("put_bw", 1.0, **host)
    other_window.window = 1
    assert not found(make("put_bw", 20.0), other_window)


def test_it_stands_beside_the_first_path_in_host_memory_with_a_core_for_each_rank(
    by_hand: Any, found: Found
) -> None:
    make = by_hand.make_cell
    cells = [
        make("latency", 20.0, noise=0),
        make("latency", 0.5, place=NEAR, buffers="H,H", noise=0),
        make("latency", 1.0, place=FAR, buffers="H,H", noise=0),
    ]
    assert [(told.host, told.slower) for told in found(*cells)] == [(NEAR.path, 40.0)]
    on_one_core = found(*cells, near=(0, 0))
    assert [(told.host, told.slower) for told in on_one_core] == [(FAR.path, 20.0)]
