# SPDX-License-Identifier: Apache-2.0
"""The buffers of the ranks, written "D,D": which of them fit a path, and which device they need.

H is host memory, P pinned host memory, D a device's, M managed. The first letter is of the first
half of the ranks, the second of the other half; as many letters as ranks are taken one by one.
"""

from collections.abc import Sequence

from nearpeak.errors import UserError
from nearpeak.terms.benchmarks import Basis, Benchmark
from nearpeak.terms.path import NO_DEVICE, DataPath, Endpoint, rank_devices

MEMORY = {"H": "host", "P": "host", "D": "gpu", "M": "gpu"}
HOST = "H,H"

Ends = tuple[Endpoint, ...]  # of each rank, in order


def parse_buffers(text: str) -> str:
    """`D,D` in its one spelling, `D` being the same; UserError for anything but H, P, D and M, and
    for `D,D,D`, which other numbers of ranks would be taken to have asked for."""
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
    """The kind of each rank's buffer; None where there is not one for each."""
    kinds = buffers.split(",")
    if len(kinds) == 2:
        half = ranks // 2
        return [kinds[0]] * half + [kinds[1]] * (ranks - half)
    return kinds if len(kinds) == ranks else None


def needs_gpu(buffers: str) -> bool:
    """Whether a rank has memory that only an accelerator's driver gives."""
    return buffers != HOST


def in_gpu(buffers: str) -> bool:
    """Whether a rank's memory is a GPU's."""
    return not all(on_host(buffers))


def on_host(buffers: str) -> tuple[bool, ...]:
    """Of each rank, or half of the ranks: whether its buffer lies in the host's memory."""
    return tuple(MEMORY[kind] == "host" for kind in buffers.split(","))


def turned(buffers: str) -> str:
    """The same the other way round: D,H of H,D."""
    return ",".join(reversed(buffers.split(",")))


def rank_ends(path: DataPath, buffers: str) -> Ends | None:
    """The end of the path that each rank sits at; None where such buffers do not fit the path.

    With D,H on a path from the host to a GPU rank 0 has the GPU. Pinned memory is not for ranks
    that hold no GPU, as only a driver gives it.
    """
    kinds = kinds_of(buffers, len(path.ends))
    if kinds is None:
        return None
    wanted = [MEMORY[kind] for kind in kinds]
    for ends in (path.ends, path.ends[::-1]):
        if [end.memory for end in ends] == wanted:
            held = zip(kinds, rank_devices(ends), strict=True)
            return None if ("P", NO_DEVICE) in held else ends
    return None


def default_buffers(path: DataPath, symmetric: bool) -> list[str]:
    """What is measured on a path when nothing was asked for.

    A benchmark that is not symmetric sends one way: between the host and a GPU it is run both ways.
    """
    memories = {end.memory for end in path.ends}
    if memories == {"gpu"}:
        return ["D,D"]
    if "gpu" in memories:
        return ["H,D"] if symmetric else ["H,D", "D,H"]
    return [HOST]


def ceiling_buffers(buffers: str) -> str:
    """The buffers whose ceiling holds for these: it is the path's, however memory was allocated."""
    return ",".join("H" if host else "D" for host in on_host(buffers))


def is_measured(path: DataPath, benchmark: Benchmark) -> bool:
    """Whether nearpeak-native can measure a benchmark on a path.

    It moves data between two ends; between more of them in the memory of one host alone. Its ranks
    wait without leaving their core to others.
    """
    if benchmark.ceiling != "measured" or path.transport == "local" or path.shares_cores:
        return False
    shared = path.transport == "memory" and not any(end.gpu for end in path.ends)
    return benchmark.ranks.fits(len(path.ends)) and (len(path.ends) == 2 or shared)


def held_against(
    path: DataPath, benchmark: Benchmark, known: Sequence[Benchmark]
) -> list[tuple[Benchmark, bool]]:
    """The benchmarks whose ceilings must be measured on a path to hold a benchmark against: its
    own; or, of a bound, those that it follows from (results/bounds.py), among those that are known.

    With each, whether its buffers must be measured the other way round too: a bound is of whichever
    direction is faster.
    """
    if not benchmark.over_bytes:
        # The memory that its cells are in: of a GPU, to itself.
        rates = [rate for rate in known if rate.one_way and is_measured(path, rate)]
        return [(rate, False) for rate in rates if path.shares_gpu]
    if is_measured(path, benchmark):
        return [] if path.ceilings_only else [(benchmark, False)]
    memories = {end.memory for end in path.ends}
    basis = benchmark.basis(memories)
    if basis == Basis():
        return []
    there = [other for other in known if is_measured(path, other)]
    if basis.same is not None:
        back = benchmark.one_sided == "get" and len(memories) > 1
        return [(other, back) for other in there if other.name == basis.same]
    needed = [other for other in there if basis.message and other.one_message]
    if basis.receives is not None:
        rates = [rate for rate in there if rate.main.unit == "GB/s" and not rate.symmetric]
        needed += [rate for rate in rates if rate.one_way] or rates
    return [(other, len(memories) > 1) for other in needed]


def orders(buffers: str, both: bool) -> list[str]:
    """These buffers, and the same the other way round where both count."""
    return [buffers, turned(buffers)] if both else [buffers]


def memory_devices(ends: Ends) -> list[str]:
    """The device whose memory each end is; `-` for the host's memory."""
    return [end.gpu or NO_DEVICE for end in ends]
