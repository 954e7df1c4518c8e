# SPDX-License-Identifier: Apache-2.0
"""Collective operations of other tools, with the traffic of those of nccl-tests."""

from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule, Traffic

ANY = RankRule("at least", 2)
OF_BLOCKS = Traffic(once=-1, times_ranks=1)
# Of the operations of nccl-tests, as its doc/PERFORMANCE.md defines their bus bandwidths.
TRAFFIC = {
    "allreduce": Traffic(once=2, by_ranks=-2),
    **dict.fromkeys(("bcast", "reduce"), Traffic(once=1)),
    **dict.fromkeys(
        ("allgather", "alltoall", "gather", "reduce_scatter_block", "scatter"), OF_BLOCKS
    ),
}


def collective(name: str) -> Benchmark:
    """One of our collective operations."""
    metrics = [Metric(name, "us", "lower")]
    return Benchmark(name, metrics, ANY, family="collective", traffic=TRAFFIC.get(name))
