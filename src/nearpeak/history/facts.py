# SPDX-License-Identifier: Apache-2.0
"""Facts of machines and software that changed from session to session."""

from collections.abc import Mapping, Sequence

from nearpeak.compare import differences
from nearpeak.compare.load import Study
from nearpeak.history.courses import Fact
from nearpeak.terms.fingerprints import ByPart, common, owner
from nearpeak.terms.fingerprints import changes as differing
from nearpeak.terms.identity import CEILING, Who

VARIABLE = "variable"


def changes(studies: Sequence[Study], numbers: Mapping[tuple[int, int], int]) -> list[Fact]:
    """Returns the changes of facts, in the order of sessions; none for a library that was added.

    `numbers`: of each study (its index) and session of it, in the order of time.
    """
    facts: list[Fact] = []
    recorded: ByPart = {}  # the last value of each fact
    for (index, session), number in numbers.items():
        now = _facts(studies[index], session)
        facts += [
            Fact(session=number, part=fact.part, name=fact.name, before=fact.before, now=fact.now)
            for fact in differing(*_comparable(recorded, now))
        ]
        recorded = _updated(recorded, now)
    return facts


def _facts(study: Study, session: int) -> ByPart:
    """Returns the facts of a session; its inherited variables where launches recorded them."""
    by_part: dict[str, dict[str, str]] = {}
    for part, name, value in differences.known_facts(
        study.results, next(info for info in study.results.sessions if info.session == session)
    ):
        by_part.setdefault(part, {})[name] = value
    if session in study.inherited:
        by_part[VARIABLE] = dict(study.inherited[session])
    return by_part


def _comparable(before: ByPart, now: ByPart) -> tuple[ByPart, ByPart]:
    """Returns the facts of both that both could know: parts, and owners, that both recorded."""
    both = before.keys() & now.keys()
    return common(*({part: side[part] for part in side if part in both} for side in (before, now)))


def _updated(recorded: ByPart, now: ByPart) -> ByPart:
    """Returns the facts of a session, with the last ones of parts and owners that it lacks."""
    updated = {part: dict(values) for part, values in recorded.items()}
    for part, values in now.items():
        owners = {owner(part, name) for name in values}
        kept = {
            name: text
            for name, text in updated.get(part, {}).items()
            if owner(part, name) not in owners
        }
        updated[part] = kept | dict(values)
    return updated


def concerns(fact: Fact, who: Who) -> bool:
    """True if a fact may change the figures of a library or a ceiling."""
    library = owner(fact.part, fact.name)
    if library is None:
        return True
    return who != CEILING and library.partition("@")[0] == who.library
