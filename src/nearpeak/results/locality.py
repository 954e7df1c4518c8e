# SPDX-License-Identifier: Apache-2.0
"""The location of the bytes of a case: in caches, or in memory (docs/methods/ceilings.md).

It follows from the sizes of its buffers at each end and of the machine's caches. Nothing that may
lie in a cache is called memory.
"""

import math
from collections.abc import Mapping, Sequence

from nearpeak.grouping import grouped
from nearpeak.machine.machine import Cache, Machine
from nearpeak.results.results import CeilingPoint, LiesIn
from nearpeak.terms.buffers import rank_ends
from nearpeak.terms.identity import Case, Place
from nearpeak.terms.path import DataPath, Endpoint

BEYOND = 2  # times a cache: hardly anything of so much stays in it
# The largest that any GPU of a vendor has.
GPU_CACHE_BYTES = {"nvidia": 128 << 20, "amd": 256 << 20}
ORDER: Sequence[LiesIn] = ("core cache", "shared cache", "device cache", "memory")
COPY = "copy"
ABOVE = 1.03  # of what the memory copies: more is a defect


def lies_in(machine: Machine, path: DataPath, case: Case, window: int | None) -> LiesIn | None:
    """The location of the bytes at either end of a case; of two locations the nearer one.

    None between hosts, where the other one's caches are not known, on a machine without any, and
    where it is not known how many messages are in flight.
    """
    if path.between_hosts or not machine.caches or window is None:
        return None
    if path.is_local:
        return "memory" if 2 * case.x >= BEYOND * cached_bytes(machine, path) else "shared cache"
    ends = rank_ends(path, case.buffers) or ()
    reuse = case.axes.get("reuse", "fixed")
    if ends and reuse == "rotating":  # over more than twice the caches
        return "memory"
    footprint = case.x * (1 if reuse == "single" else window)
    alike = grouped(ends, lambda end: end.memory)
    locations = {_IN[end.memory](machine, end, alike[end.memory], footprint) for end in ends}
    return next((place for place in ORDER if place in locations), None)


def cached_bytes(machine: Machine, path: DataPath) -> int:
    """The size of the largest caches that the CPUs of its ranks have."""
    cpus = {cpu for end in path.ends for cpu in end.cpus}
    last = [_last(_caches(machine, cpu)) for cpu in cpus]
    return sum(cache.size_bytes for cache in machine.caches if cache in last)


def _caches(machine: Machine, cpu: int) -> list[Cache]:
    """The caches of a CPU that hold data."""
    return [cache for cache in machine.caches if cache.kind != "instruction" and cpu in cache.cpus]


def _last(caches: Sequence[Cache]) -> Cache | None:
    return max(caches, key=lambda cache: cache.level, default=None)


def _in_host(
    machine: Machine, end: Endpoint, ends: Sequence[Endpoint], footprint: int
) -> LiesIn | None:
    """The location for one rank, among all ends in host memory. `footprint`: bytes of each end."""
    cpu = end.cpus[0]
    caches = _caches(machine, cpu)
    last = _last(caches)
    if last is None:
        return None
    core = {cpu}.union(*(core.cpus for core in machine.cores if cpu in core.cpus))
    private = [cache.size_bytes for cache in caches if set(cache.cpus) <= core]
    if len(ends) * footprint <= max(private, default=0):
        return "core cache"
    sharing = sum(other.cpus[0] in last.cpus for other in ends)
    if sharing * footprint >= BEYOND * last.size_bytes:
        return "memory"
    return "core cache" if set(last.cpus) <= core else "shared cache"


def gpu_cache_bytes(vendor: str) -> int:
    """An upper limit of the cache of a GPU of a vendor; for another vendor, of all known ones."""
    return GPU_CACHE_BYTES.get(vendor, max(GPU_CACHE_BYTES.values()))


def _in_gpu(
    machine: Machine, end: Endpoint, ends: Sequence[Endpoint], footprint: int
) -> LiesIn | None:
    vendor = next((gpu.vendor for gpu in machine.gpus if gpu.uuid == end.gpu), "")
    cache = gpu_cache_bytes(vendor)
    sharing = sum(other.gpu == end.gpu for other in ends)
    return "memory" if sharing * footprint >= BEYOND * cache else "device cache"


_IN = {"host": _in_host, "gpu": _in_gpu}  # by the memory of an end


def locate(
    machine: Machine, paths: Mapping[Place, DataPath], points: Sequence[CeilingPoint]
) -> None:
    """Sets where the bytes of measured ceilings lie. Marks those in host memory that exceed what
    the memory copies, which is a defect."""
    for point in points:
        if point.place in paths and not point.fact:
            point.lies_in = lies_in(machine, paths[point.place], point.case, point.window)
    in_memory = [point for point in points if point.lies_in == "memory"]
    copies = [
        point.value
        for point in in_memory
        if (point.case.metric, point.place.transport) == (COPY, "local")
    ]
    highest = max(copies, default=math.inf)
    for point in in_memory:
        rate = point.unit == "GB/s" and point.place.in_host_memory
        if rate and (point.ci95 or point.range)[0] > ABOVE * highest:
            point.above_memory = highest
