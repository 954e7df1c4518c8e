# SPDX-License-Identifier: Apache-2.0
"""Where bytes lie: nothing that may lie in a cache is called memory."""

import msgspec
import pytest

from nearpeak.machine.machine import Cache, Core, Machine
from nearpeak.results.locality import lies_in, locate
from nearpeak.results.results import CeilingPoint
from nearpeak.terms.identity import Case
from nearpeak.terms.path import DataPath, Endpoint

MIB = 1 << 20


def end(cpu: int, memory: str = "host", gpu: str | None = None) -> Endpoint:
    return Endpoint(memory=memory, cpus=[cpu], numa_node=0, gpu=gpu)


def path(*ends: Endpoint, transport: str = "memory") -> DataPath:
    return DataPath(id="a path", summary="", transport=transport, ends=ends)


def machine(*shared: tuple[int, list[int]]) -> Machine:
    """Of four cores with 1 MiB each, and these shared caches."""
    own = [Cache(level=2, kind="unified", size_bytes=MIB, cpus=[cpu]) for cpu in range(4)]
    return Machine(
        hostname="h",
        architecture="x86_64",
        cpu_model="",
        kernel="",
        source="sysfs",
        virtual=False,
        cores=[Core(cpus=[cpu], package=0, numa_node=0) for cpu in range(4)],
        caches=own + [Cache(level=3, kind="unified", size_bytes=s, cpus=c) for s, c in shared],
        numa_nodes=[],
        nics=[],
        allowed_cpus=[0, 1, 2, 3],
    )


def case(x: int, buffers: str = "H,H", **axes: str) -> Case:
    return Case(benchmark="bw", metric="bw", buffers=buffers, axes=axes, x=x)


USUAL = machine((32 * MIB, [0, 1, 2, 3]))


@pytest.mark.parametrize(
    ("x", "window", "axes", "where"),
    [
        (8192, 64, {}, "core cache"),
        (16384, 64, {}, "shared cache"),
        (16 * MIB, 1, {}, "shared cache"),  # 16 MiB in flight: 32 at both ends
        (16 * MIB, 4, {}, "memory"),  # 64 MiB in flight
        (16 * MIB, 4, {"reuse": "single"}, "shared cache"),
        (8, 1, {"reuse": "rotating"}, "memory"),
        (16 * MIB, 4, {"touch": "sender"}, "memory"),
    ],
)
def test_between_two_cores(x: int, window: int, axes: dict[str, str], where: str) -> None:
    assert lies_in(USUAL, path(end(0), end(1)), case(x, **axes), window) == where


def test_a_cache_of_its_own_at_each_end_holds_one_end() -> None:
    apart = machine((32 * MIB, [0, 1]), (32 * MIB, [2, 3]))
    assert lies_in(apart, path(end(0), end(2)), case(32 * MIB), 1) == "shared cache"
    assert lies_in(apart, path(end(0), end(2)), case(32 * MIB), 2) == "memory"
    assert lies_in(apart, path(end(0), end(1)), case(32 * MIB), 1) == "memory"


def test_more_ranks_fill_a_cache_sooner() -> None:
    four = path(*map(end, range(4)))
    assert lies_in(USUAL, four, case(16 * MIB), 1) == "memory"


def test_a_cache_as_large_as_a_virtual_machine_says_holds_all_that_is_known() -> None:
    claims = machine((480 * MIB, [0, 1, 2, 3]))
    assert lies_in(claims, path(end(0), end(1)), case(16 * MIB), 4) == "shared cache"


def test_what_is_not_known_is_not_said() -> None:
    none = msgspec.structs.replace(USUAL, caches=[])
    assert lies_in(none, path(end(0), end(1)), case(8), 1) is None
    far = msgspec.structs.replace(end(1), host="b")
    assert lies_in(USUAL, path(end(0), far), case(8), 1) is None
    assert lies_in(USUAL, path(end(0), end(1)), case(8), None) is None


def test_memory_of_a_gpu() -> None:
    gpus = path(end(0, "gpu", "GPU-a"), end(1, "gpu", "GPU-b"))
    assert lies_in(USUAL, gpus, case(4 * MIB, "D,D"), 64) == "device cache"  # whose nobody knows
    assert lies_in(USUAL, gpus, case(512 * MIB, "D,D"), 1) == "memory"
    mixed = path(end(0), end(1, "gpu", "GPU-a"))
    assert lies_in(USUAL, mixed, case(16 * MIB, "H,D"), 1) == "shared cache"


def test_the_memorys_own_copy() -> None:
    local = path(end(0), end(0), transport="local")
    assert lies_in(USUAL, local, case(128 * MIB), 1) == "memory"
    assert lies_in(USUAL, local, case(16 * MIB), 1) == "shared cache"


def point(where: DataPath, metric: str, x: int, value: float, window: int = 1) -> CeilingPoint:
    return CeilingPoint(
        place=where.place,
        case=msgspec.structs.replace(case(x), benchmark=metric, metric=metric),
        unit="GB/s",
        better="higher",
        value=value,
        ci95=None,
        range=(value, value),
        values=[value],
        blocks=[],
        method="m",
        methods={},
        window=window,
    )


def test_a_ceiling_in_memory_above_what_the_memory_copies_is_a_defect() -> None:
    local = path(end(0), end(0), transport="local")
    pair = msgspec.structs.replace(path(end(0), end(1)), id="pair")
    points = [
        point(local, "copy", 128 * MIB, 10.0),
        point(pair, "bw", 16 * MIB, 11.0, window=4),
        point(pair, "bw", 32 * MIB, 10.2, window=2),
        point(pair, "bw", MIB, 90.0, window=4),
    ]
    locate(USUAL, {path.place: path for path in (local, pair)}, points)
    assert [point.lies_in for point in points] == ["memory", "memory", "memory", "shared cache"]
    assert [point.above_memory for point in points] == [None, 10.0, None, None]
