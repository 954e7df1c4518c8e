# SPDX-License-Identifier: Apache-2.0
"""The sessions of a study, and in what they differ."""

from nearpeak.numbers import count
from nearpeak.results.model import Results, SessionInfo
from nearpeak.study.fingerprints import Fingerprint, changes


def rows(results: Results) -> list[tuple[SessionInfo, list[str]]]:
    """Each session, and how it differs from the one before."""
    before = [*results.sessions[:1], *results.sessions]
    return [
        (session, differences(earlier.fingerprint, session.fingerprint))
        for earlier, session in zip(before, results.sessions, strict=False)
    ]


def differences(earlier: Fingerprint, later: Fingerprint) -> list[str]:
    """`driver nvidia: 560.2, before it 550.1` of everything that is not the same."""
    return [
        f"{change.part} {change.name}: {change.now}, before it {change.before}"
        for change in changes(earlier, later)
    ]


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
