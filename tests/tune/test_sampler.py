# SPDX-License-Identifier: Apache-2.0
"""What the sampler proposes of what it was told."""

import math
from collections import Counter

from nearpeak.tune.candidates import Candidate
from nearpeak.tune.sampler import Sampler

GOOD, BAD, FAILING = (Candidate((("X", value),)) for value in ("good", "bad", "failing"))
OTHER = Candidate((("Y", "1"),))


def proposed(sampler: Sampler, cost: dict[Candidate, float], asks: int) -> Counter[Candidate]:
    """How often each value; a trial costs as its value of X, 1 without."""
    found: Counter[Candidate] = Counter()
    for _ in range(asks):
        values = sampler.ask()
        assert len({each.variable for each in values}) == len(values)
        found.update(values)
        sampler.learn(values, next((cost[each] for each in values if each in cost), 1.0))
    return found


def test_what_is_cheap_is_proposed_more_often() -> None:
    sampler = Sampler([GOOD, BAD, FAILING, OTHER], seed=1)
    costs = {GOOD: 0.0, BAD: 2.0, FAILING: math.nan}
    found = proposed(sampler, costs, 60)
    assert found[GOOD] > 3 * max(found[BAD], found[FAILING])


def test_what_was_tried_before_counts() -> None:
    sampler = Sampler([GOOD, BAD], seed=1)
    for _ in range(20):
        sampler.learn([GOOD], 0.0)
        sampler.learn([BAD], 2.0)
        sampler.learn([], 1.0)
    found = proposed(sampler, {GOOD: 0.0, BAD: 2.0}, 20)
    assert found[GOOD] > 15


def test_the_seed_decides() -> None:
    def asked(seed: int) -> list[list[Candidate]]:
        sampler = Sampler([Candidate((("X", str(value)),)) for value in range(8)], seed)
        sampler.learn([], 0.0)
        found = []
        for _ in range(8):
            found.append(sampler.ask())
            sampler.learn(found[-1], 0.0)
        return found

    assert asked(1) == asked(1)
    assert asked(1) != asked(2)
