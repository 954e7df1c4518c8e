# SPDX-License-Identifier: Apache-2.0
"""Tests which of many questions fail more often on the new side than on the old one.

Fisher's exact test, given how often both sides failed together. With so few counts most p-values
cannot become small: with one failure of 6 + 6 tries none is below 1 / 2. A question that cannot
reach a level costs none of it (R. E. Tarone, Biometrics 46 (1990) 515). So the p-value of a set of
questions is not their number times the least p, but the sum over them of the largest p that each
could have at or below it (P. H. Westfall and R. D. Wolfinger, The American Statistician 51 (1997)
3). Sets are tested in S. Holm's order (Scandinavian Journal of Statistics 6 (1979) 65). This holds
for any dependence of the questions. All arithmetic is exact.

A study stops trying a case that failed three times in a row. Then the number of tries depends on
their outcome, which Fisher's test does not know. To the p-value of a question that ended in such a
run is therefore added the expected number of runs among the questions left. It follows from how
often each failed (the unbiased estimate of the third power of its share; for a question that ended
in a run, on the old side).

The more questions fail at once, the larger is each p-value. A question that is dead on the new side
(it failed in all of three tries or more, and in none of three or more before) would then be
significant only if tested alone. It counts as significant while hardly any run is expected of all
questions.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb
from typing import NamedTuple

from nearpeak.statistics.levels import EXACT_ERROR_RATE

RUN = 3  # failures in a row, after which a study gives up
MOST_NEEDED = 1000  # tries: a larger number is not reported


class Counts(NamedTuple):
    """One question: tries of each side, and those that failed."""

    old_failed: int
    old: int
    new_failed: int
    new: int
    run: bool = False  # the last three tries of the new side failed


class Judged(NamedTuple):
    """The answer to one question: does the new side fail more often?"""

    p_value: float  # one-sided, of this question alone
    p_adjusted: float  # for all questions
    more: bool  # significant


def judge(questions: Sequence[Counts]) -> list[Judged]:
    """Judges all questions, in their order, with a joint error rate of 5 %."""
    p = [_p(question) for question in questions]
    left = Counter(map(_tails, questions))
    runs = expected = sum(map(_runs, questions), Fraction(0))
    adjusted: dict[int, Fraction] = {}
    last = Fraction(0)
    for index in sorted(range(len(p)), key=p.__getitem__):
        question = questions[index]
        runs -= _runs(question)
        if last < 1:
            total = sum((n * _largest(tails, p[index]) for tails, n in left.items()), Fraction(0))
            last = min(max(last, total + runs * question.run), Fraction(1))
        adjusted[index] = last
        left[_tails(question)] -= 1
    return [
        Judged(
            float(value),
            float(adjusted[index]),
            adjusted[index] <= EXACT_ERROR_RATE
            or (dead(questions[index]) and expected <= EXACT_ERROR_RATE),
        )
        for index, value in enumerate(p)
    ]


def needed(counts: Counts, questions: int = 1) -> int | None:
    """Roughly the tries of each side that would be significant among `questions`, at these shares.

    None: the new side does not fail more often, or it takes more than `MOST_NEEDED`.
    """
    new, old = Fraction(counts.new_failed, counts.new), Fraction(counts.old_failed, counts.old)
    if new <= old:
        return None

    def enough(tries: int) -> bool:
        expected = Counts(ceil(old * tries), tries, int(new * tries), tries)
        return questions * _p(expected) <= EXACT_ERROR_RATE

    fewest = bisect_left(range(1, MOST_NEEDED + 1), True, key=enough) + 1
    return fewest if fewest <= MOST_NEEDED else None


def dead(counts: Counts) -> bool:
    """True if all of three tries or more failed, and none of three or more before."""
    return counts.new_failed == counts.new >= RUN and not counts.old_failed and counts.old >= RUN


def _p(counts: Counts) -> Fraction:
    """Fisher's one-sided p-value: that the new side has this many failures, or more, of all."""
    failed, tried = counts.old_failed + counts.new_failed, counts.old + counts.new
    k, above = counts.new_failed, 0
    ways = comb(counts.new, k) * comb(counts.old, failed - k)
    while ways:
        above += ways
        ways = ways * (counts.new - k) * (failed - k)
        k += 1
        ways //= k * (counts.old - failed + k)
    return Fraction(above, comb(tried, failed))


def _runs(counts: Counts) -> Fraction:
    """The expected number of runs of failures on the new side, at most 1."""
    failed, tried = counts.old_failed, counts.old
    if not counts.run:
        failed, tried = failed + counts.new_failed, tried + counts.new
    if failed < RUN:
        return Fraction(0)
    return min(Fraction(counts.new * comb(failed, RUN), comb(tried, RUN)), Fraction(1))


@lru_cache(maxsize=4096)
def _tails(counts: Counts) -> tuple[Fraction, ...]:
    """The possible p-values, from 1 down: one for each number of failures of the new side."""
    failed, old, new = counts.old_failed + counts.new_failed, counts.old, counts.new
    total, above, tails = comb(old + new, failed), 0, []
    for k in range(min(failed, new), max(0, failed - old) - 1, -1):
        above += comb(new, k) * comb(old, failed - k)
        tails.append(Fraction(above, total))
    return tuple(reversed(tails))


def _largest(tails: tuple[Fraction, ...], p: Fraction) -> Fraction:
    """The largest p-value at or below p; 0 if there is none."""
    return next((tail for tail in tails if tail <= p), Fraction(0))
