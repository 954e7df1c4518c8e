# SPDX-License-Identifier: Apache-2.0
"""Differences of the machines, drivers, libraries, builds and inherited variables of both sides."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nearpeak.compare.compared import Difference
from nearpeak.compare.load import Study
from nearpeak.grouping import collected
from nearpeak.results.results import Results, SessionInfo
from nearpeak.terms.fingerprints import NOTHING, PROGRAM, ByPart, Change, changes


def find(old: Sequence[Study], new: Sequence[Study]) -> list[Difference]:
    """Returns the differences of variables, machine, driver, libraries and build.

    If only one side has a library, or settings, only the library's name is reported.
    """
    return (
        _variables(old, new)
        + _names(old, new)
        + [
            Difference(part=change.part, name=change.name, old=change.before, new=change.now)
            for change in changes(_side(old), _side(new))
            if NOTHING not in (change.before, change.now) or not _of_library(change)
        ]
    )


def _variables(old: Sequence[Study], new: Sequence[Study]) -> list[Difference]:
    """Returns the differences of inherited variables; none if a side recorded no variables."""
    before, now = _inherited(old), _inherited(new)
    if not before or not now:
        return []
    names = sorted(set().union(*before, *now))
    values = {name: (_value(name, before), _value(name, now)) for name in names}
    return [
        Difference(part="variable", name=name, old=old_value, new=new_value)
        for name, (old_value, new_value) in values.items()
        if old_value != new_value
    ]


def _inherited(side: Iterable[Study]) -> list[Mapping[str, str]]:
    return [variables for study in side for variables in study.inherited.values()]


def _value(name: str, side: Iterable[Mapping[str, str]]) -> str:
    return " or ".join(sorted({variables.get(name, NOTHING) for variables in side}))


def _names(old: Sequence[Study], new: Sequence[Study]) -> list[Difference]:
    """Returns the difference between the names of the libraries, if there is one."""
    before, now = _libraries(old), _libraries(new)
    if before == now:
        return []
    return [Difference(part="library", name="names", old=before or NOTHING, new=now or NOTHING)]


def _libraries(side: Iterable[Study]) -> str:
    return ", ".join(
        sorted({library.name for study in side for library in study.results.libraries})
    )


def _of_library(change: Change) -> bool:
    return change.part == "library" or (change.part == "build" and change.name.startswith(PROGRAM))


def _side(studies: Sequence[Study]) -> ByPart:
    """Returns every value of the sessions of a side."""
    facts = [
        fact
        for study in studies
        for session in study.results.sessions
        for fact in known_facts(study.results, session)
    ]
    values = collected(((part, name), value) for part, name, value in facts)
    joined: dict[str, dict[str, str]] = defaultdict(dict)
    for (part, name), distinct in values.items():
        joined[part][name] = " or ".join(sorted({*distinct}))
    return joined


def known_facts(results: Results, session: SessionInfo) -> Iterator[tuple[str, str, str]]:
    """Yields the fingerprint of a session, completed with facts of the study; not the inherited
    variables, which launches record better."""
    machine = results.machine
    facts = {
        "machine": {
            "host": machine.hostname,
            "cpu": machine.cpu_model,
            "kernel": machine.kernel,
            **{f"gpu {gpu.uuid}": gpu.name for gpu in machine.gpus},
        },
        "driver": {},
        "library": {
            f"{library.name} version": library.version_text.strip() for library in results.libraries
        },
        "build": {"nearpeak": session.nearpeak},
    }
    for part, of_study in facts.items():
        for name, value in (of_study | session.fingerprint.get(part, {})).items():
            yield part, name, value
