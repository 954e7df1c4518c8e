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
    before: ByPart | None = None
    for (index, session), number in numbers.items():
        now = _facts(studies[index], session)
        if before is not None:
            facts += [
                Fact(
                    session=number, part=fact.part, name=fact.name, before=fact.before, now=fact.now
                )
                for fact in differing(*_comparable(before, now))
            ]
        before = now
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
    """Returns what both sessions could know: variables where both recorded them."""
    if (VARIABLE in before) == (VARIABLE in now):
        return common(before, now)
    return common(_without_variables(before), _without_variables(now))


def _without_variables(by_part: ByPart) -> ByPart:
    return {part: values for part, values in by_part.items() if part != VARIABLE}


def concerns(fact: Fact, who: Who) -> bool:
    """True if a fact may change the figures of a library or a ceiling."""
    library = owner(fact.part, fact.name)
    if library is None:
        return True
    return who != CEILING and library.partition("@")[0] == who.library
