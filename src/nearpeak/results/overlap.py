# SPDX-License-Identifier: Apache-2.0
"""The overlap of communication and computation, from the phases of the same launches.

The share of the shorter one that is hidden may be 0 or below, so that no logarithm can be taken of
it. docs/methodology.md says what is measured.
"""

from collections.abc import Sequence

import numpy as np

from nearpeak.observations.observed import Observation
from nearpeak.results.results import Estimated, Overlap
from nearpeak.statistics.intervals import interval

COMMUNICATE, COMPUTE, BOTH = "communicate", "compute", "both"  # as bench/overlap names its phases
DEVICE_ALONE, DEVICE_BESIDE = "device alone", "device beside"


def overlap(launches: Sequence[Observation]) -> Overlap | None:
    """The overlap in the launches of a cell; None where they did not compute."""
    every = [observation.phases for observation in launches]
    if not every or not all({COMMUNICATE, COMPUTE, BOTH} <= times.keys() for times in every):
        return None
    if not all(min(times[COMMUNICATE], times[COMPUTE]) > 0 for times in every):
        return None
    sessions = [observation.launch.block.session for observation in launches]
    slowdowns = [
        times[DEVICE_BESIDE] / times[DEVICE_ALONE]
        for times in every
        if times.get(DEVICE_ALONE, 0.0) > 0
    ]
    return Overlap(
        hidden=estimated(list(map(hidden, every)), sessions),
        communicate_us=float(np.median([times[COMMUNICATE] for times in every])),
        compute_us=float(np.median([times[COMPUTE] for times in every])),
        both_us=float(np.median([times[BOTH] for times in every])),
        device_slowdown=estimated(slowdowns, sessions) if len(slowdowns) == len(every) else None,
    )


def hidden(times: dict[str, float]) -> float:
    """The share of the shorter time that went on during the longer: 1 all of it, 0 nothing, below 0
    where both at once take longer than one after the other."""
    communicate, compute = times[COMMUNICATE], times[COMPUTE]
    return (communicate + compute - times[BOTH]) / min(communicate, compute)


def estimated(values: Sequence[float], sessions: Sequence[int]) -> Estimated:
    """The median of the values of single launches, or blocks, and their sessions."""
    return Estimated(
        value=float(np.median(values)),
        ci95=interval(values, sessions=sessions),
        range=(min(values), max(values)),
    )
