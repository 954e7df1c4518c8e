# SPDX-License-Identifier: Apache-2.0
"""Settings to try first: those that rules name for an explanation, those that act at the sizes of
the targets, and the cost model of UCX if messages go over it."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import nearpeak
from nearpeak.explain.launches import explain
from nearpeak.findings.evidence import View
from nearpeak.findings.find import find_in
from nearpeak.findings.rules import all_rules
from nearpeak.findings.settings import named_settings, over_ucx, suggested
from nearpeak.launching.single import Single
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.observations.explained import Explanation
from nearpeak.observations.observed import Library, Observations
from nearpeak.results.ceilings import Ceilings
from nearpeak.terms.identity import Who

Named = list[tuple[str, str]]


class Hints(NamedTuple):
    """Settings that are worth trying first."""

    named: Named  # variables with their values
    over_ucx: bool | None  # whether messages go over UCX; None: not known


def hints(
    single: Single, sizes: list[int], tell: Callable[[str], None], limit_seconds: float
) -> Hints:
    """Returns the settings that rules name for messages of these sizes in bytes, and whether they
    go over UCX. Explains nothing if there is no size, or if the library cannot be explained.
    `limit_seconds`: of a launch."""
    seen: list[Explanation] = []
    if sizes:
        try:
            seen = [explain(single, sizes, [], tell, launches=1, limit_seconds=limit_seconds)]
        except LaunchFailed as error:
            tell(f"Nothing is known of what its messages go through: {error}")
    who = Who(single.library.name, single.settings.name)
    view = _view(single, who, seen)
    named = [*named_settings(find_in(view)), *_acting(single, sizes, who, view)]
    return Hints(list(dict.fromkeys(named)), over_ucx(who, view.observations))


def _acting(single: Single, sizes: list[int], who: Who, view: View) -> Iterable[tuple[str, str]]:
    """Returns the settings that rules name by the message size only, as where two protocols meet.
    Only a study that also measures neighbouring sizes shows whether the targets lose there."""
    settings = [
        setting
        for rule in all_rules()
        for setting in rule.settings
        if setting.least_bytes and any(map(setting.helps, sizes))
    ]
    for change in suggested(settings, who, view.observations, single.path.place):
        if change.name and change.value is not None:
            yield change.name, change.value


def _view(single: Single, who: Who, explanations: list[Explanation]) -> View:
    """Returns the view of a study that has only these explanations."""
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
        started="",
        nearpeak=nearpeak.__version__,
        complete=True,
        machine=single.machine,
        paths=[single.path],
        libraries=[library],
        benchmarks=[single.benchmark],
        curves=[],
        sessions=[],
        explanations=explanations,
    )
    return View([], {}, {who: single.settings}, Ceilings([]), observations, [])
