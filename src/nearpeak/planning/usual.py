# SPDX-License-Identifier: Apache-2.0
"""The measurements and the budget of a study where nothing else was asked for."""

from nearpeak.launching.paths import fits
from nearpeak.planning.options import Options
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.path import DataPath

SIZES = [0, *(2**power for power in range(27))]  # 0 B to 64 MiB
# A study with default options measures benchmarks without a measured ceiling at its sizes nearest
# to these. They are many, and a few sizes show where one is slow.
FEW_SIZES = (8, 1 << 10, 1 << 15, 1 << 20, 1 << 24)
USUAL_SECONDS = 780.0  # its budget: 15 minutes with what comes before, on 2x H200


def is_measured_on(path: DataPath, benchmark: Benchmark, buffers: str) -> bool:
    """True if a study that is asked for a benchmark measures it on a path: applications where they
    are usual, and on named paths between memories that are alike."""
    ordinary = benchmark.over_bytes and not path.gpu_support
    chosen = ordinary or is_usual(path, benchmark) or (path.named and _alike(path))
    return chosen and fits(path, benchmark, buffers)


def _alike(path: DataPath) -> bool:
    return len(set(path.memories)) == 1


def is_usual(path: DataPath, benchmark: Benchmark) -> bool:
    """True if a study measures a benchmark on a path by default.

    Benchmarks without a measured ceiling run where memories are alike and no ranks share a GPU, by
    the library's own choice of transport: their launches cost as much as those of the others. If
    another path gives the host's rank a GPU of its own, one message shows the cost of sharing one.
    Messages one way and the usual collective operations show the cost of GPU support.
    """
    if path.gpu_support:
        message = benchmark.one_message or benchmark.one_way
        collective = benchmark.family == "collective" and benchmark.default
        return collective or (message and benchmark.ceiling == "measured")
    if path.host_device == "same" and path.variant_of:
        return benchmark.one_message
    if benchmark.ceiling == "measured":
        return True
    direct = not path.shares_gpu and (path.transport == "memory" or path.between_hosts)
    return direct and _alike(path)


def budget_of(options: Options) -> float | None:
    """Returns the budget in seconds; None, as long as it takes, if the user chose a part of what is
    measured and gave none."""
    free = options.nothing_asked and not options.launches
    return options.budget_seconds or (USUAL_SECONDS if free else None)
