# SPDX-License-Identifier: Apache-2.0
"""What to try first: the settings that rules name for what an explanation shows."""

from collections.abc import Callable

import nearpeak
from nearpeak.explain.launches import explain
from nearpeak.findings.evidence import View
from nearpeak.findings.find import find_in
from nearpeak.findings.settings import named_settings
from nearpeak.observations.explained import Explanation
from nearpeak.observations.observed import Library, Observations
from nearpeak.results.ceilings import Ceilings
from nearpeak.study.launching import LaunchFailed
from nearpeak.study.single import Single
from nearpeak.terms.identity import Who

Named = list[tuple[str, str]]


def hints(
    single: Single, sizes: list[int], tell: Callable[[str], None], limit_seconds: float
) -> Named:
    """The variables, with their values, that rules name for these messages; none where the library
    cannot be looked at. `limit_seconds`: of a launch."""
    try:
        found = explain(single, sizes, [], tell, limit_seconds=limit_seconds)
    except LaunchFailed as error:
        tell(f"Nothing is known of what its messages go through: {error}")
        return []
    return named_settings(find_in(_view(single, found)))


def _view(single: Single, found: Explanation) -> View:
    """What a study would have that has nothing but this explanation."""
    who = Who(found.library, found.settings)
    library = Library(
        who=who,
        family=single.library.family,
        version=single.library.version,
        version_text=single.library.version_text,
        env=single.library.env,
        given=single.settings,
        native=False,
    )
    observations = Observations(
        name="",
        started=found.started,
        nearpeak=nearpeak.__version__,
        complete=True,
        machine=single.machine,
        paths=[single.path],
        libraries=[library],
        benchmarks=[single.benchmark],
        curves=[],
        sessions=[],
        explanations=[found],
    )
    return View([], {}, {who: single.settings}, Ceilings([]), observations, [])
