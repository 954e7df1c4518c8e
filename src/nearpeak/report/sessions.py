# SPDX-License-Identifier: Apache-2.0
"""The sessions of a study, and in what they differ."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nearpeak.journal import resume_study
from nearpeak.numbers import count
from nearpeak.report.sections import Notice
from nearpeak.results.results import Cell, Results, SessionInfo
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.fingerprints import ByPart, changes, common
from nearpeak.terms.identity import Who


def rows(sessions: Sequence[SessionInfo]) -> list[tuple[SessionInfo, list[str]]]:
    """Each session, and how it differs from the one before."""
    sessions = [session for session in sessions if not session.source]
    before = [*sessions[:1], *sessions]
    return [
        (session, differences(earlier.fingerprint, session.fingerprint))
        for earlier, session in zip(before, sessions, strict=False)
    ]


def differences(earlier: ByPart, later: ByPart) -> list[str]:
    """`driver nvidia: 550.1 -> 560.2` of everything that is not the same, but for libraries that
    were added."""
    return [
        f"{change.part} {change.name}: {change.before} -> {change.now}"
        for change in changes(*common(earlier, later))
    ]


def blocks_lacking(results: Results) -> int:
    """How many blocks more verdicts on all pairs would need; 0 where nothing is compared."""
    return max(0, results.judging.blocks_needed - results.judging.blocks)


def apart(results: Results, folder: Path) -> Notice | None:
    """How many figures differ between sessions, for what their intervals hold, and the command
    that adds a session, if the study is complete: else a session completes it. None where none
    does."""
    measured = [cell for cell in results.timed if cell.ci95 and cell.sessions > 1]
    found = [cell.sessions for cell in measured if "sessions apart" in cell.flags]
    if not found:
        return None
    few, many = min(found), max(found)
    student = any(2 < number < FEWEST_FOR_INTERVAL for number in found)
    text = (
        f"{len(found)} of {count(len(measured), 'figure')}"
        f" {'differs' if len(found) == 1 else 'differ'} between sessions by more than launches"
        " explain (by chance alone, a quarter would); intervals take that in."
    )
    if few == 2:
        text += " With two sessions, they hold for these two only."
    if many > 2:
        text += f" With {'more' if few == 2 else 'several'} sessions, they hold for any like these"
        text += ", and may reach beyond all that was measured." if student else "."
    if not results.complete:
        return Notice(text, tone="note", details="sessions")
    text += (
        " A third session shows how far sessions scatter:"
        if many == 2
        else " More sessions tell more of their scatter:"
    )
    return Notice(text, tone="note", details="sessions", command=more_blocks(measured, folder))


def more_blocks(cells: Iterable[Cell], folder: Path) -> str:
    """The line that adds a session of so many blocks as an interval needs, to a complete study."""
    blocks = 1 + max(block.number for cell in cells for block in cell.blocks)
    return resume_study(folder, "--launches", str(blocks + FEWEST_FOR_INTERVAL))


def sentence(results: Results) -> str:
    """How many measured anything, in what they differ and what is judged; empty where there is but
    one."""
    imported = [session for session in results.sessions if session.source]
    if imported:
        files = count(len(imported), "file")
        nobody = "whether all are of one machine and software, nobody knows."
        if len(imported) == len(results.sessions):
            return f"Taken from {files}: {nobody}" if len(imported) > 1 else ""
        names = ", ".join(session.source for session in imported)
        beside = f"Imported beside it: {names}; when, and on which software, nobody knows."
        return f"{_measured(results)} {beside}".strip()
    return _measured(results)


def _measured(results: Results) -> str:
    """The same of those that were measured here."""
    sessions = [session for session in results.sessions if not session.source]
    if len(sessions) < 2:
        return ""
    measuring = [session for session in results.measuring_sessions if not session.source]
    changed = [
        f"session {session.session + 1}{' (forced)' if session.forced else ''}: {'; '.join(found)}"
        for session, found in rows(measuring)
        if found
    ]
    words = f"Measured in {count(len(measuring), 'session')}"
    if changed:
        words += f". Changed in {', in '.join(changed)}."
    else:
        words += ", on the same machine and software." if len(measuring) > 1 else "."
    if idle := len(sessions) - len(measuring):
        words += f" {count(idle, 'more session')} measured nothing that counts."
    judged = [session for session in measuring if session.verdicts]
    if judged and results.comparisons:
        blocks = results.judging.blocks
        numbers = " and ".join(str(session.session + 1) for session in judged)
        alone = (
            f"session {numbers} alone, which has"
            if len(judged) == 1
            else f"{len(judged)} sessions ({numbers}), which have"
        )
        words += f" Verdicts rest on {alone} {count(blocks, 'block')}"
        few = blocks < FEWEST_FOR_INTERVAL
        words += ": too few for verdicts and for saying who is first." if few else "."
    words += "".join(_only_in(results))
    for info in results.sessions:
        if info.added:
            words += (
                f" Session {info.session + 1} added blocks to a study that had ended like this:"
            )
            words += f" {info.added}."
    return words


def _only_in(results: Results) -> Iterator[str]:
    """Who was not measured in all sessions: figures beside others' are then of another time."""
    sessions: dict[Who, set[int]] = defaultdict(set)
    imported = {info.name for info in results.libraries if info.imported}
    for cell in results.cells:
        if cell.who.library in imported:
            continue
        sessions[cell.who] |= {block.session for block in cell.blocks}
    everywhere = set[int]().union(*sessions.values())
    for who, own in sessions.items():
        if own and own < everywhere:
            numbers = " and ".join(str(session + 1) for session in sorted(own))
            yield (
                f" {who.label} was measured in session{'' if len(own) == 1 else 's'} {numbers}"
                " alone: compare its fractions, which are of ceilings of the same blocks, not its"
                " figures."
            )
