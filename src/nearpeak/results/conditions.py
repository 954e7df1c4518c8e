# SPDX-License-Identifier: Apache-2.0
"""What else the machine did while it was measured."""

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
    loads = [launch.load for launch in observations.launches if launch.load is not None]
    said = [diagnosis for diagnosis in observations.machine.diagnoses if diagnosis.id == LOAD]
    if not loads:
        bad = any(diagnosis.severity == "bad" for diagnosis in said)
        return Conditions(cores=cores, loaded=bad) if said else None
    load = median(loads)
    ranks = max(len(launch.place.ends) for launch in observations.launches)
    others = max(0.0, load - ranks)
    return Conditions(
        cores=cores,
        load=load,
        ranks=ranks,
        busy_cores=min(others, cores),
        loaded=bool(cores) and overloaded(others, cores, ranks),
    )
