# SPDX-License-Identifier: Apache-2.0
"""Which ceilings a plan measures, for what is held against them."""

from collections.abc import Sequence

from nearpeak.launching.describe import Variant
from nearpeak.study.plan import Plan
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.buffers import ceiling_buffers, needed_ceilings, needs_gpu, orders, rank_ends
from nearpeak.terms.path import DataPath


def in_flight_bytes(plan: Plan, buffers: str) -> int:
    """Bytes in flight at most in a launch with these buffers: GPUs need many to be busy."""
    return plan.gpu_in_flight_bytes if needs_gpu(buffers) else plan.in_flight_bytes


def ceiling_benchmarks(plan: Plan, path: DataPath, buffers: str) -> list[str]:
    """What is measured of these buffers of a path's ceiling: all that is held against it."""
    return list(
        dict.fromkeys(
            needed.name
            for variant in plan.variants
            if rank_ends(path, variant.buffers) is not None
            for needed, both in needed_ceilings(path, plan.benchmark(variant), plan.benchmarks)
            if buffers in orders(ceiling_buffers(variant.buffers), both)
        )
    )


def ceiling_launches(path: DataPath, variant: Variant, known: Sequence[Benchmark]) -> list[str]:
    """The buffers of the ceilings of a path that a variant is held against."""
    buffers = ceiling_buffers(variant.buffers)
    needed = needed_ceilings(path, named(known, variant.benchmark), known)
    return list(dict.fromkeys(each for _, both in needed for each in orders(buffers, both)))
