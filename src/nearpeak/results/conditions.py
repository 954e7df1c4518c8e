# SPDX-License-Identifier: Apache-2.0
"""Other work on the machine during the measurement."""

from collections.abc import Sequence
from statistics import median

from nearpeak.grouping import collected
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
    loads = collected(
        (launch.block.session, (len(launch.place.ends), launch.load))
        for launch in observations.launches
        if launch.load is not None
    )
    severities = [d.severity for d in observations.machine.diagnoses if d.id == LOAD]
    if not loads:
        return Conditions(cores=cores, loaded="bad" in severities) if severities else None
    sessions = {session: _Session(cores, loads[session]) for session in sorted(loads)}
    loaded = [number for number, session in sessions.items() if session.loaded]
    highest = max(sessions.values(), key=lambda session: session.others)
    return Conditions(
        cores=cores,
        load=highest.load,
        ranks=highest.narrow,
        busy_cores=min(highest.others, cores),
        loaded=bool(loaded),
        sessions=loaded if len(loaded) < len(sessions) else [],
    )


class _Session:
    """The load of a session, by the launches with the fewest ranks."""

    def __init__(self, cores: int, loads: Sequence[tuple[int, float]]) -> None:
        by_ranks = collected(loads)
        self.narrow = min(by_ranks)
        self.load = median(by_ranks[self.narrow])
        self.others = max(0.0, self.load - self.narrow)
        self.loaded = cores > 0 and (
            overloaded(self.others, cores, self.narrow)
            or overloaded(self.others - LEFT_BEHIND * cores, cores, max(by_ranks))
        )
