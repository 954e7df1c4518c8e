# SPDX-License-Identifier: Apache-2.0
"""Collective operations that combine numbers: their type is an axis of ours, of no other ones."""

from nearpeak.terms.benchmarks import Benchmark

REDUCTIONS = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan")


def type_axis(benchmark: Benchmark, kind: str) -> dict[str, str]:
    """The axis of what combines numbers of type `kind`; none of what moves bytes, or where it is
    not known."""
    return {"type": kind} if kind and benchmark.name in REDUCTIONS else {}
