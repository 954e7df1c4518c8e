# SPDX-License-Identifier: Apache-2.0
"""The sessions of a study, and in what they differ."""

from collections.abc import Mapping

from nearpeak.numbers import count
from nearpeak.results.model import Results, SessionInfo

NOTHING = "none"
Fingerprint = Mapping[str, Mapping[str, str]]


def rows(results: Results) -> list[tuple[SessionInfo, list[str]]]:
    """Each session, and how it differs from the one before."""
    before = [*results.sessions[:1], *results.sessions]
    return [
        (session, differences(earlier.fingerprint, session.fingerprint))
        for earlier, session in zip(before, results.sessions, strict=False)
    ]


def differences(earlier: Fingerprint, later: Fingerprint) -> list[str]:
    """`driver nvidia: 560.2, before it 550.1` of everything that is not the same."""
    found = []
    for subject in dict.fromkeys([*earlier, *later]):
        one, other = earlier.get(subject, {}), later.get(subject, {})
        for name in dict.fromkeys([*one, *other]):
            old, new = one.get(name, NOTHING), other.get(name, NOTHING)
            if old != new:
                found.append(f"{subject} {name}: {new}, before it {old}")
    return found


def sentence(results: Results) -> str:
    """How many there are and in what they differ; empty where there is but one."""
    if len(results.sessions) < 2:
        return ""
    changed = [
        f"session {session.session + 1}{' (forced)' if session.forced else ''}: {'; '.join(found)}"
        for session, found in rows(results)
        if found
    ]
    words = f"Measured in {count(len(results.sessions), 'session')}"
    return f"{words}. Changed in {', in '.join(changed)}." if changed else f"{words} alike."
