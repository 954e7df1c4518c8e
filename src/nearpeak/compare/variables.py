# SPDX-License-Identifier: Apache-2.0
"""Variables that launches inherited from the shell, the job or the container."""

from collections.abc import Mapping

from nearpeak.findings.settings import CONDITION
from nearpeak.grouping import grouped
from nearpeak.machine.doctor import NO_SETTINGS, VARIABLES
from nearpeak.observations.observed import Launch, Observations
from nearpeak.terms.identity import CEILING

Inherited = Mapping[int, Mapping[str, str]]  # of each session that recorded any launch's variables
_OURS = "CUDA_MPS_"  # of Nearpeak's own MPS daemon, whose folder is named after the study


def inherited(observations: Observations) -> Inherited:
    """Returns the inherited variables of each session, as its launches recorded them, by an
    allow-list.

    These are the variables that all launches of ceilings share, as a study sets none for them.
    Without ceilings: those that doctor named and that all launches share.
    """
    recorded = [launch for launch in observations.launches if launch.tick_ns is not None]
    diagnoses = [one for one in observations.machine.diagnoses if one.id == VARIABLES]
    named = set[str]().union(*(diagnosis.variables for diagnosis in diagnoses))
    by_session: dict[int, Mapping[str, str]] = {}
    for session, launches in grouped(recorded, lambda launch: launch.block.session).items():
        ceilings = [launch for launch in launches if launch.who == CEILING]
        alike = dict(sorted(set.intersection(*map(_variables, ceilings or launches))))
        by_session[session] = {
            name: value for name, value in alike.items() if ceilings or name in named
        }
    return by_session


def _variables(launch: Launch) -> set[tuple[str, str]]:
    variables = [
        (condition.removeprefix(CONDITION), value)
        for condition, value in launch.conditions.items()
        if condition.startswith(CONDITION)
    ]
    return {
        (name, value)
        for name, value in variables
        if name not in NO_SETTINGS and not name.startswith(_OURS)
    }
