# SPDX-License-Identifier: Apache-2.0
"""Finds since when a library, or a ceiling, fails.

A try is a block, as in `nearpeak compare`. Each case, and each library on a path, has a number of
tries and failures in each session. Failures are frequent from one session on, where Fisher's exact
test of the tries before and after it says so. It is made at each session with a failure, and the
smallest p-value counts as many times as there are sessions to choose from. Like `compare`, a case
also fails if all its tries did, three or more, and none of three or more before. Wrong data never
occurs by chance: once is enough.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nearpeak.compare.failures import WRONG_DATA, Launched
from nearpeak.compare.load import Study
from nearpeak.grouping import grouped
from nearpeak.history.courses import Fact, Failing
from nearpeak.history.facts import concerns
from nearpeak.statistics.change_points import LEVEL
from nearpeak.statistics.counts import RUN, Counts, dead, judge
from nearpeak.terms.benchmarks import x_unit
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.outcomes import Lost

Owner = tuple[Who, Place]
Attempt = tuple[int, int]  # session, block
_FIXED = 0.05  # failures have ended if the last successes are less probable than this


@dataclass
class _Tries:
    """All tries of a case, or of a library on a path."""

    tried: set[Attempt] = field(default_factory=set)
    failed: set[Attempt] = field(default_factory=set)
    ended: dict[Attempt, Lost] = field(default_factory=dict)  # how a try failed


class _Since(NamedTuple):
    """Failures from a session on."""

    session: int
    counts: Counts
    splits: int  # sessions from which they may have begun


def find(
    studies: Sequence[Study],
    numbers: Mapping[tuple[int, int], int],
    facts: Iterable[Fact],
    first_that_counts: int,
) -> list[Failing]:
    """Returns what fails in the newest sessions, and did so less often before.

    `numbers`: of each study (its index) and session of it; `first_that_counts`: failures since an
    earlier session are no regression.
    """
    units = {
        benchmark.name: x_unit(study.results.benchmarks, benchmark.name)
        for study in studies
        for benchmark in study.results.benchmarks
    }
    changes = list(facts)
    by_owner = _by_owner(studies, numbers)
    level = LEVEL / max(len(by_owner), 1)
    failures = [
        failing
        for owner, tries in by_owner.items()
        for failing in _of_owner(owner, tries, level, units, changes, first_that_counts)
    ]
    return sorted(failures, key=lambda failing: (not failing.regressed, -failing.session))


def _by_owner(
    studies: Sequence[Study], numbers: Mapping[tuple[int, int], int]
) -> dict[Owner, dict[Case | None, _Tries]]:
    by_owner: dict[Owner, dict[Case | None, _Tries]] = defaultdict(lambda: defaultdict(_Tries))
    for index, study in enumerate(studies):
        for launch in study.launches:
            number = numbers.get((index, launch.session))
            if number is not None:
                tries = by_owner[launch.who, launch.place]
                _count(launch, (number, launch.block), tries)
    return by_owner


def _count(launch: Launched, attempt: Attempt, tries: dict[Case | None, _Tries]) -> None:
    """Counts a launch for its path, and for each case that it came to."""
    ends = {case: status for status, case in launch.failed}
    anywhere = next((status for status, _ in launch.failed), None)
    _add(tries[None], attempt, anywhere)
    for case in launch.asked:
        end = ends.get(case, None if launch.reached else anywhere)
        if end or case in launch.reached:
            _add(tries[case], attempt, end)


def _add(tries: _Tries, attempt: Attempt, end: Lost | None) -> None:
    tries.tried.add(attempt)
    if end:
        tries.failed.add(attempt)
        if tries.ended.get(attempt) != WRONG_DATA:
            tries.ended[attempt] = end


def _of_owner(
    owner: Owner,
    tries: Mapping[Case | None, _Tries],
    level: float,
    units: Mapping[str, str],
    facts: Sequence[Fact],
    first_that_counts: int,
) -> Iterator[Failing]:
    """Yields the failures of a library on a path, as widely as they are alike. `level`: the
    probability that it gives an alarm by chance."""
    since = {case: since_then for case, of_case in tries.items() if (since_then := _since(of_case))}
    # Cases that failed in the same tries are one question.
    answers = {case: (*map(frozenset, (tries[case].tried, tries[case].failed)),) for case in since}
    questions = {answer: since[case].counts for case, answer in answers.items()}
    judged = dict(zip(questions, judge([*questions.values()]), strict=True))
    certain = {
        case: failing_since
        for case, failing_since in since.items()
        if _wrong(tries[case], failing_since.session)
        or judged[answers[case]].p_adjusted * failing_since.splits <= level
        or (dead(failing_since.counts) and judged[answers[case]].more)
    }
    cases = sorted(case for case in certain if case is not None)
    planned = {case for case in tries if case is not None}
    for curve, failing in _parts(cases, planned, anywhere=None in certain):
        alike: Sequence[Case | None] = failing or [None]
        first = min(certain[case].session for case in alike)
        # Of several cases, the one that fails most often stands for them.
        shown = max(alike, key=lambda case: certain[case].counts.new_failed)
        counts = certain[shown].counts
        ended = Counter(
            end for attempt, end in tries[shown].ended.items() if attempt[0] >= first
        ).most_common()
        who, place = owner
        yield Failing(
            who=who,
            place=place,
            curve=curve,
            sizes=[case.x for case in failing] if curve else [],
            x_unit=units.get(curve.benchmark, "B") if curve else "B",
            session=first,
            ended=[end for end, _ in ended],
            tried=counts.new,
            failed=counts.new_failed,
            tried_before=counts.old,
            failed_before=counts.old_failed,
            candidates=_candidates(facts, who, _last_good(tries[shown], first), first),
            regressed=first >= first_that_counts,
        )


def _parts(
    failing: Sequence[Case], planned: set[Case], *, anywhere: bool
) -> Iterator[tuple[Curve | None, Sequence[Case]]]:
    """Yields the path if everything on it fails, or nothing by itself; else each curve with the
    cases that fail."""
    if set(failing) == planned or not failing:
        if failing or anywhere:
            yield None, [] if anywhere else failing
        return
    yield from grouped(failing, lambda case: case.curve).items()


def _since(tries: _Tries) -> _Since | None:
    """The session from which on tries fail most clearly more often; None: they do not, or no
    longer."""
    sessions = sorted({session for session, _ in tries.tried})
    tried = Counter(session for session, _ in tries.tried)
    failed = Counter(session for session, _ in tries.failed)
    splits = [session for session in sessions[1:] if failed[session] and not _ended(tries, session)]
    if not splits:
        return None
    last = sorted(tries.tried)[-RUN:]
    run = len(last) == RUN and tries.failed.issuperset(last)
    old = {split: [session for session in sessions if session < split] for split in splits}
    candidates = []
    for split in splits:
        before = sum(failed[session] for session in old[split])
        tried_before = sum(tried[session] for session in old[split])
        counts = Counts(
            before,
            tried_before,
            failed.total() - before,
            tried.total() - tried_before,
            run=run,
        )
        candidates.append(_Since(split, counts, len(sessions) - 1))
    wrong = [since for since in candidates if _wrong(tries, since.session)]
    alone = [judge([since.counts])[0].p_value for since in candidates]
    return wrong[0] if wrong else candidates[alone.index(min(alone))]


def _ended(tries: _Tries, split: int) -> bool:
    """True if tries since a session failed, but the last ones succeeded too often for that."""
    after = sorted(attempt for attempt in tries.tried if attempt[0] >= split)
    good = next(
        (index for index, attempt in enumerate(reversed(after)) if attempt in tries.failed), 0
    )
    if _wrong(tries, split):
        return False
    failing = len(tries.failed.intersection(after)) / max(len(after) - good, 1)
    return good > 0 and (1 - failing) ** good < _FIXED


def _wrong(tries: _Tries, session: int) -> bool:
    """True if data was wrong from a session on, and never before."""
    wrong = [attempt[0] for attempt, end in tries.ended.items() if end == WRONG_DATA]
    return bool(wrong) and min(wrong) == session


def _last_good(tries: _Tries, first: int) -> int:
    return max((session for session, _ in tries.tried if session < first), default=first - 1)


def _candidates(facts: Iterable[Fact], who: Who, good: int, first: int) -> list[Fact]:
    """The facts that changed between the last session before failures and the first with them."""
    return [fact for fact in facts if good < fact.session <= first and concerns(fact, who)]
