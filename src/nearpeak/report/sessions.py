# SPDX-License-Identifier: Apache-2.0
"""The sessions of a study, and the differences between them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nearpeak.document.model import Notice
from nearpeak.journal import resume_study
from nearpeak.numbers import agreeing, count, noun
from nearpeak.results.results import Cell, Results, SessionInfo
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.fingerprints import ByPart, changes, common
from nearpeak.terms.identity import Who


def rows(sessions: Sequence[SessionInfo]) -> list[tuple[SessionInfo, list[str]]]:
    """Each session, with its differences from the one before."""
    sessions = [session for session in sessions if not session.source]
    before = [*sessions[:1], *sessions]
    return [
        (session, differences(earlier.fingerprint, session.fingerprint))
        for earlier, session in zip(before, sessions, strict=False)
    ]


def differences(earlier: ByPart, later: ByPart) -> list[str]:
    """`driver nvidia: 550.1 -> 560.2` for everything that changed, except libraries that were
    added."""
    return [
        f"{change.part} {change.name}: {change.before} -> {change.now}"
        for change in changes(*common(earlier, later))
    ]


def blocks_lacking(results: Results) -> int:
    """The number of blocks still needed for verdicts on all pairs; 0 if nothing is compared."""
    return max(0, results.judging.blocks_needed - results.judging.blocks)


def apart(results: Results, folder: Path) -> Notice | None:
    """The notice about figures that differ between sessions; None if there are none.

    It names the scope of their intervals. If the study is complete, it has the command that adds a
    session.
    """
    measured = [cell for cell in results.timed if cell.ci95 and cell.sessions > 1]
    counts = [cell.sessions for cell in measured if "sessions apart" in cell.flags]
    if not counts:
        return None
    few, many = min(counts), max(counts)
    student = any(2 < number < FEWEST_FOR_INTERVAL for number in counts)
    text = (
        f"{len(counts)} of {count(len(measured), 'figure')}"
        f" {agreeing(len(counts), 'differs', 'differ')} between sessions by more than launches"
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
    """The command that adds a session to a complete study, with enough blocks for an interval."""
    blocks = 1 + max(block.number for cell in cells for block in cell.blocks)
    return resume_study(folder, "--launches", str(blocks + FEWEST_FOR_INTERVAL))


def sentence(results: Results) -> str:
    """The sessions that measured, their differences and the verdicts that rest on them; empty if
    there is only one."""
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
    """The same for the sessions that were not imported."""
    sessions = [session for session in results.sessions if not session.source]
    if len(sessions) < 2:
        return ""
    measuring = [session for session in results.measuring_sessions if not session.source]
    changed = [_changed(session, parts) for session, parts in rows(measuring) if parts]
    text = f"Measured in {count(len(measuring), 'session')}"
    if changed:
        text += f". Changed in {', in '.join(changed)}."
    else:
        text += ", on the same machine and software." if len(measuring) > 1 else "."
    if idle := len(sessions) - len(measuring):
        text += f" {count(idle, 'more session')} measured nothing that counts."
    judged = [session for session in measuring if session.verdicts]
    if judged and results.comparisons:
        blocks = results.judging.blocks
        numbers = " and ".join(str(session.session + 1) for session in judged)
        basis = (
            f"session {numbers} alone, which has"
            if len(judged) == 1
            else f"{len(judged)} sessions ({numbers}), which have"
        )
        text += f" Verdicts rest on {basis} {count(blocks, 'block')}"
        few = blocks < FEWEST_FOR_INTERVAL
        text += ": too few for verdicts and for saying who is first." if few else "."
    text += "".join(_only_in(results))
    for info in results.sessions:
        if info.added:
            text += f" Session {info.session + 1} added blocks to a study that had ended like this:"
            text += f" {info.added}."
    return text


def _changed(session: SessionInfo, parts: list[str]) -> str:
    forced = " (forced)" if session.forced else ""
    return f"session {session.session + 1}{forced}: {'; '.join(parts)}"


def _only_in(results: Results) -> Iterator[str]:
    """The alternatives that not all sessions measured: their figures are of another time than those
    of others."""
    sessions: dict[Who, set[int]] = defaultdict(set)
    imported = {info.name for info in results.libraries if info.imported}
    for cell in results.cells:
        if cell.who.library in imported:
            continue
        sessions[cell.who] |= {block.session for block in cell.blocks}
    everywhere = set[int]().union(*sessions.values())
    for who, present in sessions.items():
        if present and present < everywhere:
            numbers = " and ".join(str(session + 1) for session in sorted(present))
            yield (
                f" {who.label} was measured in {noun(len(present), 'session')} {numbers}"
                " alone: compare its fractions, which are of ceilings of the same blocks, not its"
                " figures."
            )
