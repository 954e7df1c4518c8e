# SPDX-License-Identifier: Apache-2.0
"""Variables that launches inherited from the shell, the job or the container."""

from collections import defaultdict
from collections.abc import Mapping

from nearpeak.findings.settings import CONDITION
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
    of_session: dict[int, list[Launch]] = defaultdict(list)
    for launch in observations.launches:
        if launch.tick_ns is not None:  # it recorded its environment
            of_session[launch.block.session].append(launch)
    diagnoses = observations.machine.diagnoses
    named = {
        name for diagnosis in diagnoses if diagnosis.id == VARIABLES for name in diagnosis.variables
    }
    by_session = {}
    for session, launches in of_session.items():
        ceilings = [launch for launch in launches if launch.who == CEILING]
        alike = set.intersection(*(_variables(launch) for launch in ceilings or launches))
        by_session[session] = {
            name: value for name, value in sorted(alike) if ceilings or name in named
        }
    return by_session


def _variables(launch: Launch) -> set[tuple[str, str]]:
    names = {
        condition: condition.removeprefix(CONDITION)
        for condition in launch.conditions
        if condition.startswith(CONDITION)
    }
    return {
        (name, launch.conditions[condition])
        for condition, name in names.items()
        if name not in NO_SETTINGS and not name.startswith(_OURS)
    }
