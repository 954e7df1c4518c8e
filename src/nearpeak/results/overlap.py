# SPDX-License-Identifier: Apache-2.0
"""The overlap of communication and computation, from the phases of the same launches.

The share of the shorter one that is hidden may be 0 or below, so that no logarithm can be taken of
it. docs/methods/statistics.md says what is measured.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter

import numpy as np

from nearpeak.observations.observed import Observation
from nearpeak.results.blocks import estimated
from nearpeak.results.results import Overlap

COMMUNICATE, COMPUTE, BOTH = "communicate", "compute", "both"  # as bench/overlap names its phases
PHASES = (COMMUNICATE, COMPUTE, BOTH)
DEVICE_ALONE, DEVICE_BESIDE = "device alone", "device beside"


def overlap(launches: Sequence[Observation]) -> Overlap | None:
    """The overlap in the launches of a cell; None where they did not compute."""
    times = {observation.launch.block: observation.phases for observation in launches}
    if not times or not all(map(_is_complete, times.values())):
        return None
    slowdowns = {
        block: phases[DEVICE_BESIDE] / phases[DEVICE_ALONE]
        for block, phases in times.items()
        if phases.get(DEVICE_ALONE, 0.0) > 0
    }
    middles = np.median([*map(itemgetter(*PHASES), times.values())], axis=0).tolist()
    return Overlap(
        hidden=estimated({block: hidden(phases) for block, phases in times.items()}),
        communicate_us=middles[0],
        compute_us=middles[1],
        both_us=middles[2],
        device_slowdown=estimated(slowdowns) if len(slowdowns) == len(times) else None,
    )


def _is_complete(phases: Mapping[str, float]) -> bool:
    return phases.keys() >= {*PHASES} and min(phases[COMMUNICATE], phases[COMPUTE]) > 0


def hidden(times: dict[str, float]) -> float:
    """The share of the shorter time that went on during the longer: 1 all of it, 0 nothing, below 0
    where both at once take longer than one after the other."""
    communicate, compute = times[COMMUNICATE], times[COMPUTE]
    return (communicate + compute - times[BOTH]) / min(communicate, compute)
