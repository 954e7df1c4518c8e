# SPDX-License-Identifier: Apache-2.0
"""The buffers of the ranks, written "D,D": the paths and devices that they need.

H is host memory, P pinned host memory, D device memory, M managed memory. The first letter stands
for the first half of the ranks, the second for the other half; or each rank has its letter.
"""

from collections.abc import Sequence

from nearpeak.errors import UserError
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.path import NO_DEVICE, DataPath, Endpoint, rank_devices

MEMORY = {"H": "host", "P": "host", "D": "gpu", "M": "gpu"}
HOST = "H,H"
WAYS = {"H,D": "to GPU", "D,H": "from GPU"}  # of messages in one direction

Ends = tuple[Endpoint, ...]  # of each rank, in order


def parse_buffers(text: str) -> str:
    """Normalises buffers: `D` becomes `D,D`.

    UserError for anything but H, P, D and M, and for `D,D,D`, which names a number of ranks.
    """
    kinds = [kind.strip().upper() for kind in text.split(",")]
    if not set(kinds) <= set(MEMORY):
        raise UserError(
            f"{text!r} does not name buffers: give D for all ranks, or H,D for the first half of "
            "them and the second; H (host), P (pinned host), D (device), M (managed)"
        )
    if len(set(kinds)) > 1:
        return ",".join(kinds)
    if len(kinds) > 2:
        raise UserError(f"{text!r} names {len(kinds)} buffers alike: give {kinds[0]} for all ranks")
    return ",".join(kinds[:1] * 2)


def kinds_of(buffers: str, ranks: int) -> list[str] | None:
    """The kind of each rank's buffer; None if the number of letters does not fit."""
    kinds = buffers.split(",")
    if len(kinds) == 2:
        half = ranks // 2
        return [kinds[0]] * half + [kinds[1]] * (ranks - half)
    return kinds if len(kinds) == ranks else None


def needs_gpu(buffers: str) -> bool:
    """True if a rank has memory that only the driver of an accelerator allocates."""
    return buffers != HOST


def in_gpu(buffers: str) -> bool:
    """True if the memory of a rank is that of a GPU."""
    return not all(on_host(buffers))


def on_host(buffers: str) -> tuple[bool, ...]:
    """True for each rank, or half of the ranks, with its buffer in host memory."""
    return tuple(MEMORY[kind] == "host" for kind in buffers.split(","))


def turned(buffers: str) -> str:
    """The buffers in the opposite order: H,D becomes D,H."""
    return ",".join(reversed(buffers.split(",")))


def rank_ends(path: DataPath, buffers: str) -> Ends | None:
    """The end of the path of each rank; None if the buffers do not fit the path.

    With D,H on a path from the host to a GPU rank 0 has the GPU. Ranks without a GPU cannot have
    pinned memory, which only a driver allocates.
    """
    kinds = kinds_of(buffers, len(path.ends)) or []
    memories = tuple(MEMORY[kind] for kind in kinds)
    orders = {path.memories[::-1]: path.ends[::-1]} | {path.memories: path.ends}
    ends = orders.get(memories)
    if ends is None or ("P", NO_DEVICE) in zip(kinds, rank_devices(ends), strict=True):
        return None
    return ends


def default_buffers(path: DataPath, symmetric: bool) -> list[str]:
    """The buffers that are measured on a path by default.

    A benchmark that is not symmetric sends one way: between host and GPU it runs in both
    directions.
    """
    unlike = ["H,D"] if symmetric else ["H,D", "D,H"]
    by_memories = {frozenset({"gpu"}): ["D,D"], frozenset({"host"}): [HOST]}
    return by_memories.get(frozenset(path.memories), unlike)


def ceiling_buffers(buffers: str) -> str:
    """The buffers whose ceiling holds for these, which may have another allocator."""
    return ",".join("H" if host else "D" for host in on_host(buffers))


def is_measured(path: DataPath, benchmark: Benchmark) -> bool:
    """True if nearpeak-native can measure a benchmark on a path.

    It moves data between two ends; between more only in the memory of one host. Its ranks do not
    yield their cores while they wait.
    """
    if benchmark.ceiling != "measured" or path.is_local or path.shares_cores:
        return False
    shared = path.transport == "memory" and not any(end.gpu for end in path.ends)
    return benchmark.ranks.fits(len(path.ends)) and (path.is_pair or shared)


def needed_ceilings(
    path: DataPath, benchmark: Benchmark, benchmarks: Sequence[Benchmark]
) -> list[tuple[Benchmark, bool]]:
    """The benchmarks whose ceilings a benchmark needs on a path.

    Its own; or those of `benchmarks` from which its bound follows (results/bounds.py). Each with
    True if the opposite order of its buffers is needed, too: a bound is that of the faster
    direction.
    """
    measurable = [other for other in benchmarks if is_measured(path, other)]
    if not benchmark.over_bytes:
        # The memory of its cells: copies of a GPU to itself.
        return [(rate, False) for rate in measurable if rate.one_way and path.shares_gpu]
    if is_measured(path, benchmark):
        return [] if path.ceilings_only else [(benchmark, False)]
    unlike = len(set(path.memories)) > 1
    basis = benchmark.basis(path.memories)
    if basis.same is not None:
        back = benchmark.one_sided == "get" and unlike
        return [(other, back) for other in measurable if other.name == basis.same]
    needed = [other for other in measurable if basis.message and other.one_message]
    if basis.receives is not None:
        rates = [rate for rate in measurable if rate.main.unit == "GB/s" and not rate.symmetric]
        needed += [rate for rate in rates if rate.one_way] or rates
    return [(other, unlike) for other in needed]


def orders(buffers: str, both: bool) -> list[str]:
    """The buffers; if `both`, also in the opposite order."""
    return [buffers, turned(buffers)] if both else [buffers]


def memory_devices(ends: Ends) -> list[str]:
    """The device of the memory of each end; `-` for host memory."""
    return [end.gpu or NO_DEVICE for end in ends]
