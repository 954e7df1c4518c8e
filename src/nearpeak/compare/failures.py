# SPDX-License-Identifier: Apache-2.0
"""Failures that are more frequent on the new side, from the counts of tries and failures of both.

A try is a block. In it, each library is launched once at a place, or a few times if its benchmarks
are not safe together. Two questions are tested for a library at each place: whether its launches
fail more often, and whether they do so in each curve that they reached. Only cases that both sides
were to measure count.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from nearpeak.compare.compared import End, Failing, Tries
from nearpeak.grouping import collected, firsts, grouped, present
from nearpeak.observations.observed import Observations
from nearpeak.statistics.counts import RUN, Counts, Judged, judge, needed
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.outcomes import Lost, failure

WRONG_DATA = "wrong data"  # once is enough, as it never occurs by chance
Owner = tuple[Who, Place]
Try = tuple[int, int, int]  # index of the study, session, block


@dataclass
class Launched:
    """The planned cases of one launch, and where it failed. Cases have no metric."""

    who: Who
    place: Place
    session: int
    block: int
    asked: set[Case] = field(default_factory=set)
    reached: set[Case] = field(default_factory=set)  # measured, or failed in
    failed: set[tuple[Lost, Case | None]] = field(default_factory=set)  # None: in no case


def launched(observations: Observations) -> list[Launched]:
    """Returns all launches except those that were interrupted from outside."""
    launches = {
        launch.number: Launched(launch.who, launch.place, launch.block.session, launch.block.number)
        for launch in observations.launches
        if launch.status != "interrupted"
    }
    for observation in observations.observed:
        if launch := launches.get(observation.launch.number):
            launch.asked.add(_bare(observation.case))
            launch.reached.add(_bare(observation.case))
    for gap in observations.gaps:
        if launch := launches.get(gap.launch.number):
            launch.asked.add(_bare(gap.case))
            if gap.said:
                launch.reached.add(_bare(gap.case))
            if gap.said and gap.status != "skipped":
                launch.failed.add((gap.status, _bare(gap.case)))
    for observed in observations.launches:
        end = failure(observed.status)
        if end is not None:
            _add_end(launches[observed.number], end, observed.at)
    return list(launches.values())


def _add_end(launch: Launched, end: Lost, case: Case | None) -> None:
    """Adds how a launch ended, unless it failed so in a case."""
    if end not in {status for status, _ in launch.failed}:
        launch.failed.add((end, case))
        launch.reached.update(present([case]))


def find(
    old: Iterable[Sequence[Launched]],
    new: Iterable[Sequence[Launched]],
    units: Mapping[str, str],
) -> list[Failing]:
    """Returns the failures of the new side with their verdicts; regressions come first.

    `old`, `new`: the launches of each study; `units`: of each benchmark, the unit of its x.
    """
    before, after = _by_owner(old), _by_owner(new)
    questions = [
        question
        for owner in after
        if owner in before
        for question in _questions(owner, before[owner], after[owner])
    ]
    judged = judge([question.counts for question in questions])
    failing = sum(question.counts.new_failed > 0 for question in questions)
    failures = [
        _failing(question, verdict, failing, units)
        for question, verdict in zip(questions, judged, strict=True)
        if question.counts.new_failed
    ]
    return sorted(failures, key=lambda failure: not failure.regressed)


class _Side(NamedTuple):
    """One question, on one side."""

    tried: frozenset[Try]
    failed: frozenset[Try]
    wrong: frozenset[Try]  # failed tries with wrong data
    ended: Counter[tuple[Lost, Case | None]]  # number of tries, by status and case


class _Question(NamedTuple):
    owner: Owner
    curve: Curve | None  # of no metric; None: any
    old: _Side
    new: _Side

    @property
    def counts(self) -> Counts:
        last = sorted(self.new.tried)[-RUN:]
        return Counts(
            len(self.old.failed),
            len(self.old.tried),
            len(self.new.failed),
            len(self.new.tried),
            run=len(last) == RUN and self.new.failed.issuperset(last),
        )


_Launches = list[tuple[Try, Launched]]


def _by_owner(studies: Iterable[Iterable[Launched]]) -> dict[Owner, _Launches]:
    return collected(
        ((launch.who, launch.place), ((index, launch.session, launch.block), launch))
        for index, launches in enumerate(studies)
        for launch in launches
    )


def _questions(owner: Owner, old: _Launches, new: _Launches) -> list[_Question]:
    """Returns the question about a library at a place, and one about each of its curves; questions
    with the same counts are merged."""
    before, after = _planned(old), _planned(new)
    # Launches of ceilings that never reached a case do not record which cases were planned.
    common = (before or after) & (after or before)
    curves = grouped(common, lambda case: case.curve)
    parts: list[tuple[Curve | None, set[Case]]] = [
        (None, common),
        *((curve, {*curves[curve]}) for curve in sorted(curves)),
    ]
    questions = [
        _Question(
            owner,
            curve,
            _side(old, cases, caseless=curve is None),
            _side(new, cases, caseless=curve is None),
        )
        for curve, cases in parts
    ]
    return list(firsts(questions, _answers).values())


def _planned(launches: _Launches) -> set[Case]:
    return {case for _, launch in launches for case in launch.asked}


def _answers(question: _Question) -> tuple[frozenset[Try], ...]:
    return (*question.old[:3], *question.new[:3])


def _side(launches: _Launches, cases: set[Case], *, caseless: bool) -> _Side:
    """Counts the tries and failures of one side in `cases`. `caseless`: a failure outside of cases
    counts too. For a curve it counts only if it came before all cases."""
    tried = [attempt for attempt, launch in launches if not launch.reached.isdisjoint(cases)]
    ended: dict[tuple[Lost, Case | None], set[Try]] = defaultdict(set)
    for attempt, launch in launches:
        concerned = not launch.asked.isdisjoint(cases) or (caseless and not launch.asked)
        anywhere = concerned and (caseless or not launch.reached)
        counting: set[Case | None] = {*cases, None} if anywhere else {*cases}
        for end in launch.failed:
            if end[1] in counting:
                ended[end].add(attempt)
    wrong = [attempts for (status, _), attempts in ended.items() if status == WRONG_DATA]
    return _Side(
        frozenset(tried).union(*ended.values()),
        frozenset().union(*ended.values()),
        frozenset().union(*wrong),
        Counter({end: len(attempts) for end, attempts in ended.items()}),
    )


def _failing(
    question: _Question, judged: Judged, questions: int, units: Mapping[str, str]
) -> Failing:
    counts = question.counts
    wrong = bool(question.new.wrong) and bool(question.old.tried) and not question.old.wrong
    regressed = judged.more or wrong
    who, place = question.owner
    return Failing(
        who=who,
        place=place,
        curve=question.curve,
        old=_tries(question.old, units),
        new=_tries(question.new, units),
        p_value=judged.p_value,
        p_adjusted=judged.p_adjusted,
        wrong_data=wrong,
        needed=None if regressed or not counts.old else needed(counts, questions),
        regressed=regressed,
    )


def _tries(side: _Side, units: Mapping[str, str]) -> Tries:
    return Tries(
        tried=len(side.tried),
        failed=len(side.failed),
        ended=[
            End(
                status=status,
                case=case,
                x_unit=units.get(case.benchmark, "B") if case else "B",
                tries=tries,
            )
            for (status, case), tries in sorted(side.ended.items(), key=_often)
        ],
    )


def _often(end: tuple[tuple[Lost, Case | None], int]) -> tuple[object, ...]:
    """Sorts the most frequent first."""
    (status, case), tries = end
    return -tries, status, [case] if case else []


def _bare(case: Case) -> Case:
    return msgspec.structs.replace(case, metric="")
