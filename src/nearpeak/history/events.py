# SPDX-License-Identifier: Apache-2.0
"""Groups changes into events, with what else changed then."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from statistics import median

from nearpeak.grouping import collected, present
from nearpeak.history import facts
from nearpeak.history.courses import Course, Event, Fact, History, Key, Part, Step
from nearpeak.statistics.verdicts import FASTER, SLOWER

_BESIDE = 1  # sessions beside a step: a disturbed one there looks as if it were of the other level
_ALIKE = 0.5  # of the change of a mean: a part that changed by less was not part of it
Changed = Mapping[Key, tuple[Course, Step]]


def events(history: History) -> list[Event]:
    """All changes by their session: regressions first, then the newest first."""
    by_session = collected(
        (step.session, (key, (course, step)))
        for key, course in history.parts()
        for step in course.steps
    )
    rarity = Counter((fact.part, fact.name) for fact in history.facts)
    grouped_steps = [
        _event(session, dict(changed), history, rarity) for session, changed in by_session.items()
    ]
    return sorted(grouped_steps, key=lambda event: (not event.regressed, -event.session))


def shift(course: Course, before: slice, now: slice) -> float | None:
    """The logarithm of the ratio of two levels of a course; None: one is not measured."""
    old, new = present(course.values[before]), present(course.values[now])
    return math.log(median(new) / median(old)) if old and new else None


def _event(
    session: int, changed: Changed, history: History, rarity: Mapping[tuple[str, str], int]
) -> Event:
    clearest = min((step for _, step in changed.values()), key=lambda step: step.last - step.first)
    verdicts = Counter(step.verdict for key, (_, step) in changed.items() if key[3] is not None)
    parts = list(_widest(changed, history, session))
    candidates = [
        fact
        for fact in history.facts
        if clearest.first - _BESIDE <= fact.session <= clearest.last + _BESIDE
        and any(facts.concerns(fact, part.who) for part in parts)
    ]
    nearest = partial(_nearness, session=session, rarity=rarity)
    return Event(
        session=session,
        first=clearest.first,
        last=clearest.last,
        slower=verdicts[SLOWER],
        faster=verdicts[FASTER],
        parts=sorted(parts, key=lambda part: (not part.regressed, part.ratio_now)),
        candidates=sorted(candidates, key=nearest),
    )


def _nearness(fact: Fact, session: int, rarity: Mapping[tuple[str, str], int]) -> tuple[int, int]:
    """Sorts first a fact that rarely changes, then one that changed near the session."""
    return rarity[fact.part, fact.name], abs(fact.session - session)


def _widest(changed: Changed, history: History, session: int) -> Iterator[Part]:
    """Yields what changed, without the parts of what already changed as a whole."""
    named: set[Key] = set()
    for key, (_, step) in changed.items():
        who, place, curve, case = key
        wider = {(who, place, None, None), (who, place, curve, None)} - {key}
        if wider & named or (case is None and _differs(key, step, changed, history, session)):
            continue
        named.add(key)
        yield Part(
            who=who,
            place=place,
            curve=curve,
            case=case,
            ratio=step.ratio,
            ratio_now=step.ratio_now,
            regressed=step.regressed,
        )


def _differs(key: Key, step: Step, changed: Changed, history: History, session: int) -> bool:
    """True if parts of a mean changed otherwise than it, so that they are named instead of it."""
    narrower = {other: course for other, course in history.parts() if _within(other, key)}
    steps = [changed[other][1] for other in narrower if other in changed]
    if not steps:
        return False
    if any(other.verdict != step.verdict for other in steps):
        return True
    shifts = present([shift(course, *course.around(session)) for course in narrower.values()])
    least = _ALIKE * math.log(step.ratio_now if step.regressed else step.ratio)
    apart = sum(part_shift / least < 1 for part_shift in shifts)
    return 2 * apart >= len(shifts)


def _within(key: Key, mean: Key) -> bool:
    """True if a mean is the one over this part, or over its curve's siblings."""
    who, place, curve, case = mean
    if curve is None:
        return key[:2] == (who, place) and key[2] is not None and key[3] is None
    return key[:3] == (who, place, curve) and key[3] is not None and case is None
