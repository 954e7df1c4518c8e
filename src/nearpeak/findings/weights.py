# SPDX-License-Identifier: Apache-2.0
"""Weights of cases by how common they are in applications: the order of findings.

Fourteen proxies of exascale applications use few features of MPI: nearly all send messages between
pairs and reduce to all, few use other collective operations much, fewer one-sided ones or datatypes
(Sultana and others, "Understanding the usage of MPI in exascale proxy applications", 2018). Laguna
and others find the same in open-source applications ("A large-scale study of MPI usage", SC19). The
weights put these in order; their values are ours.
"""

from collections.abc import Callable

from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Case

Weigh = Callable[[Benchmark, Case], float]  # how common a case is; 0: it does not occur

COMMON = 1.0
OFTEN = 0.3
SELDOM = 0.1
BY_FAMILY = {
    "collective": OFTEN,
    "overlap": OFTEN,
    "datatype": SELDOM,
    "rma": SELDOM,
    "stream": SELDOM,
}


def by_family(benchmark: Benchmark, _: Case) -> float:
    """Returns the weight of a benchmark's operation, above 0; that of a message is 1. Collective
    operations that are measured by default are as common as messages."""
    if benchmark.family == "collective" and benchmark.default:
        return COMMON
    return BY_FAMILY.get(benchmark.family, COMMON)
