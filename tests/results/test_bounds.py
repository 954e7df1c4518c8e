# SPDX-License-Identifier: Apache-2.0
"""Bounds of collective operations: what they follow from, and that they are less than any time."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from nearpeak.launching.program_records import SamplesRecord
from nearpeak.machine.machine import Cache, Core, Gpu, GpuLink, Machine, unknown
from nearpeak.observations.observed import Block
from nearpeak.results.bounds import find
from nearpeak.results.results import CeilingPoint, Results
from nearpeak.statistics.intervals import interval
from nearpeak.terms.benchmarks import Benchmark, Metric, Moves, RankRule, Traffic
from nearpeak.terms.identity import CEILING, Case, Who
from nearpeak.terms.path import DataPath, Endpoint

MakeStudy = Any
MIB = 1 << 20
STATE = {"reuse": "fixed", "touch": "none"}
PAIR, SOME = RankRule("exactly", 2), RankRule("at least", 2)
BENCHMARKS = [
    Benchmark("latency", [Metric("latency", "us", "lower")], PAIR, ceiling="measured"),
    Benchmark("bw", [Metric("bw", "GB/s", "higher")], PAIR, symmetric=False, ceiling="measured"),
    Benchmark(
        "bibw", [Metric("bibw", "GB/s", "higher")], PAIR, moves=Moves(ways=2), ceiling="measured"
    ),
    Benchmark(
        "mbw_mr",
        [Metric("mbw", "GB/s", "higher"), Metric("mr", "M/s", "higher")],
        RankRule("even", 2),
        symmetric=False,
        ceiling="measured",
    ),
    Benchmark("ibcast", [Metric("ibcast", "ratio", "lower")], SOME, bound=1.0, ceiling="bound"),
    *(
        Benchmark(name, [Metric(name, "us", "lower")], SOME, traffic=traffic, ceiling="bound")
        for name, traffic in (
            ("barrier", Traffic()),
            ("bcast", Traffic(once=1)),
            ("allgather", Traffic(once=-1, times_ranks=1)),
            ("allreduce", Traffic(once=2, by_ranks=-2)),
        )
    ),
    Benchmark(
        "scatter",
        [Metric("scatter", "us", "lower")],
        SOME,
        traffic=Traffic(once=-1, times_ranks=1),
        least=Traffic(once=1),
        ceiling="bound",
    ),
    Benchmark(
        "vector", [Metric("vector", "us", "lower")], PAIR, bound_by="latency", ceiling="bound"
    ),
    *(
        Benchmark(
            name,
            [Metric(name, "GB/s" if by == "bw" else "us", "higher" if by == "bw" else "lower")],
            PAIR,
            symmetric=False,
            bound_by=by,
            one_sided="get" if name.startswith("get") else "put",
            ceiling="bound",
        )
        for name, by in (("put_latency", "latency"), ("put_bw", "bw"), ("get_bw", "bw"))
    ),
]
OWNERS = {
    metric.name: (benchmark, metric) for benchmark in BENCHMARKS for metric in benchmark.metrics
}


def path(name: str, *ends: str, transport: str = "memory") -> DataPath:
    """Between such ends: `cpu0`, `gpu1`."""
    return DataPath(
        id=name,
        summary="",
        transport=transport,
        ends=tuple(
            Endpoint(
                memory="gpu" if end.startswith("gpu") else "host",
                cpus=[int(end[3:])],
                numa_node=0,
                gpu=end if end.startswith("gpu") else None,
            )
            for end in ends
        ),
    )


TWO = path("host-host", "cpu0", "cpu1")
FOUR = path("host-all", "cpu0", "cpu1", "cpu2", "cpu3")
GPUS = path("gpu-gpu", "gpu0", "gpu1")


def case(metric: str, x: int, **axes: str) -> Case:
    return Case(
        benchmark=OWNERS[metric][0].name,
        metric=metric,
        buffers="H,H",
        axes={**STATE, **axes},
        x=x,
    )


def ceiling(
    where: DataPath, metric: str, x: int, *values: float, buffers: str = "H,H", **axes: str
) -> CeilingPoint:
    """With a value in each block."""
    kind = OWNERS[metric][1]
    return CeilingPoint(
        place=where.place,
        case=msgspec.structs.replace(case(metric, x, **axes), buffers=buffers),
        unit=kind.unit,
        better=kind.better,
        value=sorted(values)[len(values) // 2],
        ci95=None,
        range=(min(values), max(values)),
        values=list(values),
        blocks=[Block(0, number) for number in range(len(values))],
        method="ring",
        methods={"ring": values[0]},
    )


# A core's own cache, and one that it shares with the next.
CACHES = [
    Cache(level=2, kind="unified", size_bytes=MIB, cpus=[0]),
    Cache(level=3, kind="unified", size_bytes=16 * MIB, cpus=[0, 1, 2, 3]),
]
MACHINE = msgspec.structs.replace(
    unknown(), caches=CACHES, cores=[Core(cpus=[0], package=0, numa_node=0)]
)


def bounds(
    *ceilings: CeilingPoint,
    at: DataPath,
    wanted: Case,
    paths: Any = None,
    window: int = 1,
    machine: Machine = MACHINE,
) -> Any:
    """Of what a library has measured: the value of the bound and what it follows from, or None."""
    measured = SimpleNamespace(
        launch=SimpleNamespace(who=Who("any", "default"), place=at.place, block=Block(0, 0)),
        case=wanted,
        window=window,
    )
    own = SimpleNamespace(launch=SimpleNamespace(who=CEILING, place=at.place), case=case("bw", 8))
    observations: Any = SimpleNamespace(
        benchmarks=BENCHMARKS, paths=paths or [at], observed=[measured, own], machine=machine
    )
    found = find(observations, ceilings)
    assert len(found) <= 1
    return (found[0].value, found[0].method) if found else None


def test_the_best_that_there_can_be_needs_no_ceiling() -> None:
    assert bounds(at=TWO, wanted=case("ibcast", 8)) == (1.0, "ideal")


def test_a_bound_is_the_longer_of_a_message_and_what_a_rank_receives() -> None:
    ceilings = (ceiling(TWO, "latency", 8, 0.2), ceiling(TWO, "bw", MIB, 10.0))
    assert bounds(*ceilings, at=TWO, wanted=case("bcast", 8)) == (0.2, "latency 8 B, ring")
    # 1 MiB at 10 GB/s
    large = bounds(*ceilings, at=TWO, wanted=case("bcast", MIB))
    assert large == (pytest.approx(104.8576), "bw 1 MiB, ring")


@pytest.mark.parametrize(
    ("operation", "bytes_"),
    [("allreduce", MIB), ("allgather", MIB), ("bcast", MIB), ("scatter", MIB)],
)
def test_the_bytes_are_those_of_the_traffic(operation: str, bytes_: int) -> None:
    found, _ = bounds(ceiling(TWO, "bw", MIB, 10.0), at=TWO, wanted=case(operation, MIB))
    assert found == pytest.approx(bytes_ / 10e3)
    paths = [TWO, FOUR]
    found, _ = bounds(
        ceiling(TWO, "bw", MIB, 10.0), at=FOUR, wanted=case(operation, MIB), paths=paths
    )
    factor = {"allreduce": 1.5, "allgather": 3, "bcast": 1, "scatter": 1}[operation]
    assert found == pytest.approx(factor * bytes_ / 10e3)


@pytest.mark.parametrize(
    ("where", "metric", "value"),
    [(TWO, "bw", 10.0), (TWO, "bibw", 20.0), (TWO, "mbw", 10.0), (FOUR, "mbw", 20.0)],
)
def test_what_one_rank_receives_of_each_rate(where: DataPath, metric: str, value: float) -> None:
    """Of a rate both ways half; of one of all pairs, what one pair has of it."""
    found, _ = bounds(
        ceiling(where, metric, MIB, value),
        at=FOUR,
        wanted=case("bcast", MIB),
        paths=[TWO, FOUR],
    )
    assert found == pytest.approx(MIB / 10e3)


def test_what_is_bound_by_another_benchmark_is_so_at_the_same_size_with_the_same_buffers() -> None:
    ceilings = (
        ceiling(TWO, "latency", 8, 0.2),
        ceiling(TWO, "latency", 1024, 0.7),
        ceiling(TWO, "latency", 1024, 0.1, buffers="D,D"),
        ceiling(TWO, "latency", 1024, 0.1, touch="sender"),
        ceiling(TWO, "bw", MIB, 99.0),
    )
    found = bounds(*ceilings, at=TWO, wanted=case("vector", 1024, block="8"))
    assert found == (0.7, "latency 1 KiB, ring")
    assert bounds(*ceilings, at=TWO, wanted=case("vector", 4096)) is None


def test_a_one_sided_operation_is_bound_by_messages_of_its_size_where_its_data_crosses() -> None:
    ceilings = (
        ceiling(TWO, "latency", 8, 0.2),
        ceiling(TWO, "latency", MIB, 90.0),
        ceiling(TWO, "bw", 8192, 20.0),
        ceiling(TWO, "bw", MIB, 12.0),
    )
    # A core copies in its own caches without the path: 8 B took a third of a message's time.
    assert bounds(*ceilings, at=TWO, wanted=case("put_latency", 8)) is None
    assert bounds(*ceilings, at=TWO, wanted=case("put_bw", 8192), window=16) is None
    found = bounds(*ceilings, at=TWO, wanted=case("put_latency", MIB, sync="flush"))
    assert found == (90.0, "latency 1 MiB, ring")
    # So many are in no cache of a core.
    found = bounds(*ceilings, at=TWO, wanted=case("put_bw", 8192), window=128)
    assert found == (20.0, "bw 8 KiB, ring")
    found = bounds(*ceilings, at=TWO, wanted=case("put_bw", MIB), window=64)
    assert found == (12.0, "bw 1 MiB, ring")


def test_what_is_complete_for_the_caller_alone_has_no_bound() -> None:
    slow = ceiling(TWO, "latency", MIB, 90.0)
    assert bounds(slow, at=TWO, wanted=case("put_latency", MIB, sync="flush_local")) is None


def test_what_the_caller_wrote_is_in_the_cache_that_it_shares() -> None:
    there = [ceiling(TWO, "latency", x, 90.0, touch="sender") for x in (MIB, 64 * MIB)]
    assert bounds(*there, at=TWO, wanted=case("put_latency", MIB, touch="sender")) is None
    assert bounds(*there, at=TWO, wanted=case("put_latency", 64 * MIB, touch="sender"))


def test_through_a_network_and_between_gpus_the_smallest_crosses_too() -> None:
    loopback = path("host-host tcp", "cpu0", "cpu1", transport="network")
    for where, buffers in ((loopback, "H,H"), (GPUS, "D,D")):
        wanted = msgspec.structs.replace(case("put_latency", 8), buffers=buffers)
        found = bounds(ceiling(where, "latency", 8, 0.2, buffers=buffers), at=where, wanted=wanted)
        assert found == (0.2, "latency 8 B, ring")


def test_what_a_get_brings_comes_the_other_way() -> None:
    near = path("host-gpu near", "cpu0", "gpu0")
    ceilings = (
        ceiling(near, "bw", MIB, 50.0, buffers="H,D"),
        ceiling(near, "bw", MIB, 40.0, buffers="D,H"),
        ceiling(near, "latency", MIB, 9.0, buffers="H,D"),
    )
    for name, value in (("put_bw", 50.0), ("get_bw", 40.0)):
        wanted = msgspec.structs.replace(case(name, MIB), buffers="H,D")
        assert bounds(*ceilings, at=near, wanted=wanted) == (value, "bw 1 MiB, ring")
    # Half of there and back is the mean of two ways.
    wanted = msgspec.structs.replace(case("put_latency", MIB), buffers="H,D")
    assert bounds(*ceilings, at=near, wanted=wanted) is None


def test_the_highest_rate_of_any_size_and_place_counts() -> None:
    other = path("host-host far", "cpu0", "cpu2")
    elsewhere = path("host-host elsewhere", "cpu0", "cpu7")
    loopback = path("host-host tcp", "cpu0", "cpu1", transport="network")
    ceilings = (
        ceiling(TWO, "bw", 8192, 12.0),
        ceiling(TWO, "bw", MIB, 10.0),
        ceiling(other, "bw", 8192, 16.0),
        ceiling(elsewhere, "bw", 8192, 99.0),
        ceiling(loopback, "bw", 8192, 99.0),
        ceiling(TWO, "bw", 8192, 99.0, touch="sender"),
        ceiling(TWO, "mr", 8192, 99.0),
    )
    found = bounds(
        *ceilings,
        at=FOUR,
        wanted=case("bcast", MIB),
        paths=[TWO, FOUR, other, elsewhere, loopback],
    )
    assert found == (pytest.approx(MIB / 16e3), "bw 8 KiB, ring")


def test_a_single_message_shows_a_rate_too() -> None:
    """One that stays in a cache may be faster than a window that does not fit."""
    ceilings = (ceiling(TWO, "bw", MIB, 10.0), ceiling(TWO, "latency", 65536, 65536 / 25e3))
    found = bounds(*ceilings, at=TWO, wanted=case("bcast", MIB))
    assert found == (pytest.approx(MIB / 25e3), "latency 64 KiB, ring")


def test_rates_of_small_messages_bound_no_larger_ones() -> None:
    few = ceiling(TWO, "bw", 8, 0.01)
    assert bounds(few, at=TWO, wanted=case("bcast", 64)) is None
    assert bounds(few, at=TWO, wanted=case("bcast", 8)) is not None
    # Those of large ones do: they grow no more.
    assert bounds(ceiling(TWO, "bw", MIB, 10.0), at=TWO, wanted=case("bcast", 64 * MIB))


def test_the_time_of_a_large_message_bounds_no_small_one() -> None:
    large = ceiling(TWO, "latency", MIB, 100.0)
    assert bounds(large, at=TWO, wanted=case("barrier", 0)) is None


def test_what_moves_no_data_takes_as_long_as_an_empty_message() -> None:
    ceilings = [ceiling(TWO, "latency", x, us) for x, us in ((0, 0.1), (1, 0.15), (8, 0.12))]
    assert bounds(*ceilings, at=TWO, wanted=case("barrier", 0)) == (0.1, "latency 0 B, ring")
    assert bounds(*ceilings, at=TWO, wanted=case("bcast", 1)) == (0.12, "latency 8 B, ring")


def test_memory_of_gpus_is_no_part_of_what_moves_no_data() -> None:
    slow = ceiling(GPUS, "latency", 0, 3.0, buffers="D,D")
    assert bounds(slow, at=GPUS, wanted=case("barrier", 0)) is None
    slow = ceiling(GPUS, "latency", 1, 3.0, buffers="D,D")
    assert bounds(slow, at=GPUS, wanted=case("bcast", 8)) == (3.0, "latency 1 B, ring")


def test_between_unlike_memories_the_faster_way_counts_and_no_message() -> None:
    mixed = path("host-gpu", "cpu0", "gpu1")
    ceilings = (
        ceiling(mixed, "latency", 1, 3.0, buffers="H,D"),
        ceiling(mixed, "bw", MIB, 20.0, buffers="H,D"),
        ceiling(mixed, "bw", MIB, 25.0, buffers="D,H"),
    )
    found, _ = bounds(*ceilings, at=mixed, wanted=case("bcast", MIB))
    assert found == pytest.approx(MIB / 25e3)


def test_a_gpu_may_have_a_link_to_each_of_the_others() -> None:
    four = path("gpu-all", "gpu0", "gpu1", "gpu2", "gpu3")
    found, _ = bounds(
        ceiling(GPUS, "bw", MIB, 100.0, buffers="D,D"),
        at=four,
        wanted=case("allgather", MIB),
        paths=[GPUS, four],
    )
    assert found == pytest.approx(3 * MIB / 300e3)


def joined(number: int, gbs: float, *, switched: bool) -> Machine:
    """With so many GPUs, all joined to each other by NVLinks."""
    gpus = [
        Gpu(
            index=index,
            vendor="nvidia",
            name="made up",
            uuid=f"gpu{index}",
            pci="",
            numa_node=0,
            memory_bytes=None,
            memory_gbs=None,
            host_link="pcie",
            host_gbs=None,
        )
        for index in range(number)
    ]
    links = [
        GpuLink(one=one, other=other, kind="nvlink", gbs=gbs, switched=switched)
        for one, other in combinations(range(number), 2)
    ]
    return msgspec.structs.replace(MACHINE, gpus=gpus, gpu_links=links)


@pytest.mark.parametrize(
    ("gbs", "switched", "rate"),
    [
        (120.0, True, 120.0),
        (90.0, True, 100.0),  # less by theory than one link carried
        (400.0, True, 300.0),
        (120.0, False, 300.0),
    ],
)
def test_behind_a_switch_a_gpu_has_its_lanes_for_all_others(
    gbs: float, switched: bool, rate: float
) -> None:
    four = path("gpu-all", "gpu0", "gpu1", "gpu2", "gpu3")
    found, _ = bounds(
        ceiling(GPUS, "bw", MIB, 100.0, buffers="D,D"),
        at=four,
        wanted=case("allgather", MIB),
        paths=[GPUS, four],
        machine=joined(4, gbs, switched=switched),
    )
    assert found == pytest.approx(3 * MIB / rate / 1e3)


def test_a_gpu_of_several_ranks_has_no_such_limit() -> None:
    shared = path("gpu-all", "gpu0", "gpu0", "gpu1", "gpu1")
    found, _ = bounds(
        ceiling(GPUS, "bw", MIB, 100.0, buffers="D,D"),
        at=shared,
        wanted=case("allgather", MIB),
        paths=[GPUS, shared],
        machine=joined(2, 120.0, switched=True),
    )
    assert found == pytest.approx(3 * MIB / 300e3)


def test_axes_of_the_operation_change_nothing() -> None:
    wanted = case("bcast", 8, calls="persistent", inplace="yes")
    assert bounds(ceiling(TWO, "latency", 8, 0.2), at=TWO, wanted=wanted)


def bound_of(wanted: Case, *ceilings: CeilingPoint) -> CeilingPoint:
    """The bound of what a library measured between two ranks."""
    measured: Any = SimpleNamespace(
        launch=SimpleNamespace(who=Who("any", "default"), place=TWO.place, block=Block(0, 0)),
        case=wanted,
    )
    observations: Any = SimpleNamespace(
        benchmarks=BENCHMARKS, paths=[TWO], observed=[measured], machine=MACHINE
    )
    (point,) = find(observations, ceilings)
    return point


def test_a_bound_is_of_the_blocks_that_measured_what_it_follows_from() -> None:
    latency = ceiling(TWO, "latency", 8, 0.1, 0.1, 200.0, 0.1)
    rate = ceiling(TWO, "bw", MIB, 10.0, 8.0, 10.0)
    point = bound_of(case("bcast", MIB), latency, rate)
    assert point.values == pytest.approx([104.8576, 131.072, 200.0])
    assert point.blocks == [Block(0, number) for number in range(3)]
    assert (point.kind, point.method, point.unit) == ("bound", "bw 1 MiB, ring", "us")
    assert point.methods == pytest.approx({"latency 8 B, ring": 0.1, "bw 1 MiB, ring": 104.8576})


def of_best(point: CeilingPoint) -> dict[Block, float]:
    """What the bound is the median of."""
    return {block: us for block, us in point.by_block.items() if block not in point.passed_over}


def test_a_bound_is_that_of_the_blocks_in_which_the_cpus_were_nearest() -> None:
    """A hypervisor moves them: those of a library may be near where a ceiling's were not."""
    latency = ceiling(TWO, "latency", 8, 0.20, 0.04, 0.22, 0.05, 0.21)
    latency.cache_line_ns = [300.0, 80.0, 310.0, 90.0, 305.0]
    point = bound_of(case("bcast", 8), latency)
    assert of_best(point) == pytest.approx({Block(0, 1): 0.04, Block(0, 3): 0.05})
    assert (point.value, point.range) == (pytest.approx(0.045), (0.04, 0.05))
    assert point.passed_over == [Block(0, 0), Block(0, 2), Block(0, 4)]
    # Launches between CPUs as far apart are held against these.
    assert point.values == pytest.approx(latency.values)
    assert point.cache_line_ns == latency.cache_line_ns
    latency.cache_line_ns = [300.0, None, 310.0, 90.0, 305.0]
    point = bound_of(case("bcast", 8), latency)
    assert point.values == pytest.approx(latency.values)
    assert point.passed_over == []


def test_the_farther_cpus_count_where_they_are_quicker() -> None:
    """Cores that share no cache may move large messages faster than those that do."""
    rate = ceiling(TWO, "bw", MIB, 25.0, 38.0, 24.0, 36.0)
    rate.cache_line_ns = [80.0, 300.0, 90.0, 310.0]
    point = bound_of(case("bcast", MIB), ceiling(TWO, "latency", 8, 0.1), rate)
    assert of_best(point) == pytest.approx({Block(0, 1): MIB / 38e3, Block(0, 3): MIB / 36e3})
    assert point.value == pytest.approx((MIB / 38e3 + MIB / 36e3) / 2)


def test_of_another_time_only_what_was_as_far_or_is_the_best_counts() -> None:
    """A message between far CPUs bounds no operation between near ones."""
    latency = ceiling(TWO, "latency", 8, 0.2, 300.0, 0.1, 400.0)
    latency.cache_line_ns = [80.0, 300.0, 85.0, 310.0]
    rate = ceiling(TWO, "bw", MIB, 10.0, 10.0, 8.0, 5.0)
    rate.cache_line_ns = [80.0, 85.0, 90.0, 310.0]
    point = bound_of(case("bcast", MIB), latency, rate)
    assert point.values == pytest.approx([104.8576, 104.8576, 131.072, 400.0])


def test_of_pairs_of_a_place_with_more_ends_the_best_distance_counts() -> None:
    """How far apart the CPUs of all are says nothing of one pair's."""
    latency = ceiling(TWO, "latency", 8, 0.20, 0.04, 0.22)
    latency.cache_line_ns = [300.0, 80.0, 310.0]
    measured: Any = SimpleNamespace(
        launch=SimpleNamespace(who=Who("any", "default"), place=FOUR.place, block=Block(0, 0)),
        case=case("bcast", 8),
    )
    observations: Any = SimpleNamespace(
        benchmarks=BENCHMARKS, paths=[TWO, FOUR], observed=[measured], machine=MACHINE
    )
    (point,) = find(observations, [latency])
    assert (point.blocks, point.values, point.cache_line_ns) == ([Block(0, 1)], [0.04], [])


def test_an_interval_counts_no_block_in_which_the_cpus_were_farther() -> None:
    near = [0.0449, 0.0456, 0.0335, 0.0316, 0.0476, 0.0441]
    latency = ceiling(TWO, "latency", 8, *near, *[0.2] * 6)
    latency.cache_line_ns = [85.0] * 6 + [330.0] * 6
    assert bound_of(case("bcast", 8), latency).ci95 == interval(near, positive=True)
    latency.cache_line_ns = [85.0] * 5 + [330.0] * 7
    assert bound_of(case("bcast", 8), latency).ci95 is None


def two_distances(make_study: MakeStudy, own: dict[int, float]) -> Any:
    """The cell of a bcast whose CPUs were so far apart in these blocks, ns (0: not known); those of
    the ceiling were far in blocks 0 and 1, and near in 2 and 3."""
    study = make_study()
    for block in range(4):
        study.ceiling(block, {("latency", "flag", 8): 0.04 if block >= 2 else 0.2})
        if block in own:
            study.launch(block, "alpha", "bcast", {8: 0.1 if own[block] < 100 else 0.4})
    far = iter(own.values())
    for record in study.records:
        if isinstance(record, SamplesRecord):
            if record.method:
                record.cache_line_ns = [60.0 if record.samples[0] < 0.1 else 300.0]
            else:
                record.cache_line_ns = [next(far) or None]
    return study.cell("bcast", 8)


def test_launches_are_held_against_the_bound_at_their_own_distance(make_study: MakeStudy) -> None:
    cell = two_distances(make_study, {0: 310.0, 1: 65.0, 2: 66.0, 3: 64.0})
    assert cell.fraction == pytest.approx(0.4)  # 0.2 / 0.4 and 0.04 / 0.1, twice
    assert (cell.fraction_range, cell.fraction_blocks) == (pytest.approx((0.4, 0.5)), 3)
    assert "fewer blocks" in cell.flags
    assert cell.ceiling.value == pytest.approx(0.04)


def test_where_no_distance_is_known_only_the_best_one_bounds(make_study: MakeStudy) -> None:
    cell = two_distances(make_study, {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0})
    assert (cell.fraction, cell.fraction_blocks) == (pytest.approx(0.4), 2)


def test_a_cell_without_a_block_of_its_bound_says_why(make_study: MakeStudy) -> None:
    """The CPUs were near in all blocks of a bcast in which those of the ceiling were far."""
    cell = two_distances(make_study, {0: 60.0, 1: 60.0})
    assert (cell.ceiling, cell.fraction, cell.status) == (None, None, "ok")
    assert cell.no_fraction == "other distance"


def test_a_cell_whose_ceiling_is_of_other_blocks_says_so(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("bw", "ring", 8): 1.0})
    study.launch(1, "alpha", "bw", {8: 1.0})
    cell = study.cell("bw", 8)
    assert (cell.status, cell.no_fraction) == ("no ceiling", "other blocks")


def test_a_fraction_is_of_the_blocks_whose_bound_was_measured(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(12):
        own = {("bw", "ring", MIB): 10.0 + block} if block % 2 else {}
        study.ceiling(block, {("latency", "flag", 8): 0.2, **own})
        study.launch(block, "alpha", "bcast", {8: 0.8, MIB: 200.0})
    cell = cell_of(study.results(), "bcast", MIB)
    measured = [MIB / (10.0 + block) / 1e3 / 200.0 for block in range(1, 12, 2)]
    assert (cell.fraction_blocks, cell.launches) == (6, 12)
    assert cell.fraction_range == pytest.approx((min(measured), max(measured)))
    assert "fewer blocks" in cell.flags


def study_of(make_study: MakeStudy, bcast_us: float) -> Any:
    study = make_study()
    for block in range(6):
        speed = 1.0 + block % 2
        study.ceiling(
            block, {("latency", "flag", 8): 0.2 * speed, ("bw", "ring", MIB): 10.0 / speed}
        )
        cases = {8: 0.8 * speed, MIB: bcast_us * speed}
        study.launch(block, "alpha", "bcast", cases)
        study.launch(block, "alpha", "barrier", {0: 0.4 * speed})
    return study


def cell_of(results: Results, benchmark: str, x: int) -> Any:
    (cell,) = [
        cell for cell in results.cells if (cell.case.benchmark, cell.case.x) == (benchmark, x)
    ]
    return cell


def test_a_cell_has_a_fraction_of_its_bound_paired_by_block(make_study: MakeStudy) -> None:
    results = study_of(make_study, 209.7152).results()
    small, large = cell_of(results, "bcast", 8), cell_of(results, "bcast", MIB)
    assert (small.ceiling.kind, small.ceiling.method) == ("bound", "latency 8 B, flag")
    assert small.fraction_ci95 == pytest.approx((0.25, 0.25))
    assert large.ceiling.method == "bw 1 MiB, ring"
    assert large.fraction_ci95 == pytest.approx((0.5, 0.5))
    assert cell_of(results, "barrier", 0).fraction == pytest.approx(0.5)
    assert {cell.status for cell in results.cells} == {"ok"}
    assert {point.case.benchmark for point in results.ceilings if point.kind == "bound"} == {
        "barrier",
        "bcast",
    }
    # It is no measurement of its own.
    assert {drift.place.path for drift in results.drift} == {"host-host same-numa"}
    fitted = {fit.curve.benchmark for fit in results.fits if fit.who == CEILING}
    assert fitted.isdisjoint({"bcast", "barrier"})
    rule = next(rule for rule in results.checklist if "upper bound" in rule.rule)
    assert (rule.state, "3 of them with a bound" in rule.how) == ("met", True)


def test_what_is_above_its_bound_is_a_defect(make_study: MakeStudy) -> None:
    results = study_of(make_study, 80.0).results()
    cell = cell_of(results, "bcast", MIB)
    assert cell.fraction == pytest.approx(1.31072)
    assert (cell.status, "above ceiling" in cell.flags) == ("above ceiling", True)


def test_without_its_ceilings_nothing_is_missing(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        study.launch(block, "alpha", "bcast", {8: 0.8})
    results = study.results()
    (cell,) = results.cells
    assert (cell.status, cell.ceiling, cell.fraction) == ("ok", None, None)
    assert results.ceilings == []
