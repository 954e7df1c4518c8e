# SPDX-License-Identifier: Apache-2.0
"""What else the machine did while it was measured."""

from collections import defaultdict
from statistics import median

from nearpeak.machine.states import overloaded
from nearpeak.observations.observed import Observations
from nearpeak.results.results import Conditions

LOAD = "load"  # of doctor's diagnoses
# Of the cores: what a launch on all of them leaves in the load of narrower ones after it, which is
# a mean of a minute. In recorded studies it was up to a tenth.
LEFT_BEHIND = 0.25


def find(observations: Observations) -> Conditions | None:
    """None where neither launches nor the doctor tell.

    The load that launches recorded decides, as it is of the time that was measured; the doctor
    looked before. It holds the ranks of the study, so that what is above them is of others: most
    surely told by the launches of a session that have the fewest.
    """
    cores = len(observations.machine.cores)
    loads: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for launch in observations.launches:
        if launch.load is not None:
            loads[launch.block.session][len(launch.place.ends)].append(launch.load)
    said = [diagnosis for diagnosis in observations.machine.diagnoses if diagnosis.id == LOAD]
    if not loads:
        bad = any(diagnosis.severity == "bad" for diagnosis in said)
        return Conditions(cores=cores, loaded=bad) if said else None
    narrow = {session: min(of_ranks) for session, of_ranks in sorted(loads.items())}
    medians = {session: median(loads[session][ranks]) for session, ranks in narrow.items()}
    others = {session: max(0.0, load - narrow[session]) for session, load in medians.items()}
    loaded = [
        session
        for session, load in others.items()
        if cores
        and (
            overloaded(load, cores, narrow[session])
            or overloaded(load - LEFT_BEHIND * cores, cores, max(loads[session]))
        )
    ]
    highest = max(medians, key=lambda session: others[session])
    return Conditions(
        cores=cores,
        load=medians[highest],
        ranks=narrow[highest],
        busy_cores=min(others[highest], cores),
        loaded=bool(loaded),
        sessions=loaded if len(loaded) < len(medians) else [],
    )
