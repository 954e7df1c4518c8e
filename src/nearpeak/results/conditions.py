# SPDX-License-Identifier: Apache-2.0
"""Other work on the machine during the measurement."""

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
    """None if neither launches nor the doctor recorded the load.

    The load that launches recorded decides, as it covers the measured time; the doctor looked
    before. It includes the ranks of the study: the rest is other work. The launches with the
    fewest ranks of a session show that best.
    """
    cores = len(observations.machine.cores)
    loads: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for launch in observations.launches:
        if launch.load is not None:
            loads[launch.block.session][len(launch.place.ends)].append(launch.load)
    diagnoses = [diagnosis for diagnosis in observations.machine.diagnoses if diagnosis.id == LOAD]
    if not loads:
        bad = any(diagnosis.severity == "bad" for diagnosis in diagnoses)
        return Conditions(cores=cores, loaded=bad) if diagnoses else None
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
