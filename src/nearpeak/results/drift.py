# SPDX-License-Identifier: Apache-2.0
"""Did the machine stay the same: the copy probes of the blocks, against one another."""

from collections import defaultdict

import numpy as np

from nearpeak.results import statistics
from nearpeak.results.ceilings import PROBE
from nearpeak.results.model import Drift
from nearpeak.results.reading import StudyData


def find(data: StudyData) -> list[Drift]:
    """Every block that has a probe, in order.

    Each kind of probe (where it ran, size, method) is set against its own median block, so that
    a block which lacks one kind does not look different for it. Nothing is corrected by this.
    """
    probes: dict[tuple[str, int, str | None], list[tuple[int, float]]] = defaultdict(list)
    for launch in data.launches:
        for case in launch.believable:
            record = case.record
            if record.benchmark == PROBE:
                kind = (launch.begin.path, record.size_bytes, record.method)
                probes[kind].append((launch.begin.block, float(np.median(case.samples))))
    rates: dict[int, list[float]] = defaultdict(list)
    relative: dict[int, list[float]] = defaultdict(list)
    for found in probes.values():
        middle = float(np.median([rate for _, rate in found]))
        for block, rate in found:
            rates[block].append(rate)
            relative[block].append(rate / middle - 1 if middle > 0 else 0.0)
    blocks = sorted(rates)
    deviations = [float(np.median(relative[block])) for block in blocks]
    flagged = statistics.drifting(deviations).tolist() if blocks else []
    return [
        Drift(
            block=block,
            probe_gbs=float(np.median(rates[block])),
            deviation=deviation,
            flagged=flag,
        )
        for block, deviation, flag in zip(blocks, deviations, flagged, strict=True)
    ]
