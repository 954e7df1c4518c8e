# SPDX-License-Identifier: Apache-2.0
"""What else the machine did while it was measured."""

from collections import defaultdict
from statistics import median

from nearpeak.machine.states import overloaded
from nearpeak.observations.observed import Observations
from nearpeak.results.results import Conditions

LOAD = "load"  # of doctor's diagnoses


def find(observations: Observations) -> Conditions | None:
    """None where neither launches nor the doctor tell.

    The load that launches recorded decides, as it is of the time that was measured; the doctor
    looked before. It holds the ranks of the study, so that what is above them is of others.
    """
    cores = len(observations.machine.cores)
    loads: dict[int, list[float]] = defaultdict(list)  # of each session
    for launch in observations.launches:
        if launch.load is not None:
            loads[launch.block.session].append(launch.load)
    said = [diagnosis for diagnosis in observations.machine.diagnoses if diagnosis.id == LOAD]
    if not loads:
        bad = any(diagnosis.severity == "bad" for diagnosis in said)
        return Conditions(cores=cores, loaded=bad) if said else None
    ranks = max(len(launch.place.ends) for launch in observations.launches)
    medians = {session: median(values) for session, values in sorted(loads.items())}
    others = {session: max(0.0, load - ranks) for session, load in medians.items()}
    loaded = [
        session for session, load in others.items() if cores and overloaded(load, cores, ranks)
    ]
    return Conditions(
        cores=cores,
        load=max(medians.values()),
        ranks=ranks,
        busy_cores=min(max(others.values()), cores),
        loaded=bool(loaded),
        sessions=loaded if len(loaded) < len(medians) else [],
    )
