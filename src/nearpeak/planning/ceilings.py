# SPDX-License-Identifier: Apache-2.0
"""The ceilings that a plan measures, for the libraries that are compared with them."""

from collections.abc import Sequence

from nearpeak.launching.describe import Variant
from nearpeak.planning.plan import Plan
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.buffers import ceiling_buffers, needed_ceilings, needs_gpu, orders, rank_ends
from nearpeak.terms.path import DataPath


def in_flight_bytes(plan: Plan, buffers: str) -> int:
    """Bytes in flight at most in a launch with these buffers: GPUs need many to be busy."""
    return plan.gpu_in_flight_bytes if needs_gpu(buffers) else plan.in_flight_bytes


def ceiling_benchmarks(plan: Plan, path: DataPath, buffers: str) -> list[str]:
    """Returns the benchmarks of a path's ceiling with these buffers: all that libraries are
    compared with."""
    return list(
        dict.fromkeys(
            needed.name
            for variant in plan.variants
            if rank_ends(path, variant.buffers) is not None
            for needed, both in needed_ceilings(path, plan.benchmark(variant), plan.benchmarks)
            if buffers in orders(ceiling_buffers(variant.buffers), both)
        )
    )


def ceiling_launches(
    path: DataPath, variant: Variant, benchmarks: Sequence[Benchmark]
) -> list[str]:
    """Returns the buffers of the ceilings of a path that a variant is compared with."""
    buffers = ceiling_buffers(variant.buffers)
    needed = needed_ceilings(path, named(benchmarks, variant.benchmark), benchmarks)
    return list(dict.fromkeys(order for _, both in needed for order in orders(buffers, both)))
