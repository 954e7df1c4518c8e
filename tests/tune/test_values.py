# SPDX-License-Identifier: Apache-2.0
"""The values of a search: which ones a trial has, and which one is to blame if it fails."""

import numpy as np

from nearpeak.tune.candidates import Candidate
from nearpeak.tune.values import NEW, Values

MANY = [Candidate(((f"V{number}", "1"),)) for number in range(20)]
ZERO = np.zeros(2)


def keep(_: list[Candidate]) -> None:
    """Leaves the order as it is."""


def made() -> Values:
    return Values(MANY, lambda _: None)


def test_a_trial_has_few_values_that_have_not_worked() -> None:
    values = made()
    first = values.of_trial(MANY, keep)
    assert first == MANY[:NEW]
    values.learn(first, ZERO, ZERO)
    assert len(values.of_trial(MANY, keep)) == 2 * NEW + 2


def test_the_value_to_blame_is_soon_the_only_one() -> None:
    """Each trial that fails halves the values that may be to blame."""
    values, trials = made(), 0
    refused: Candidate | None = None
    while refused is None:
        trial = values.of_trial(MANY, keep)
        trials += 1
        if MANY[3] in trial:
            refused = values.suspect(trial)
        else:
            values.learn(trial, ZERO, ZERO)
    assert refused == MANY[3]
    assert trials < 12


def test_what_was_refused_is_in_no_trial() -> None:
    values = made()
    values.learn(MANY[:2], ZERO, ZERO)
    values.learn(MANY[:1], ZERO + 1.0, ZERO)
    values.refuse(MANY[1], "signal 11")
    assert MANY[1] not in values.of_trial(MANY, keep)
    assert MANY[1] not in values.untried()
    assert values.best(3) == [MANY[:1]]


def test_values_that_failed_together_are_in_no_further_trial() -> None:
    """Each of them works without the others."""
    values = made()
    for candidate in MANY[:3]:
        values.learn([candidate], ZERO, ZERO)
    assert values.suspect(MANY[:3]) is None
    assert values.of_trial(MANY[:3], keep) == MANY[:2]
    assert values.suspect(MANY[:2]) is None
    assert values.of_trial(MANY[2::-1], keep) == [MANY[2], MANY[1]]


def test_a_trial_that_failed_later_is_not_among_the_best() -> None:
    values = made()
    values.learn(MANY[:2], ZERO - 1.0, ZERO)
    values.learn(MANY[:1], ZERO, ZERO)
    values.refuse(Candidate((*MANY[1].env, *MANY[0].env)), "signal 11")  # in another order
    assert values.best(3) == [MANY[:1]]


def test_a_slower_target_costs_more_than_another_gains() -> None:
    values = made()
    mixed = values.learn(MANY[:1], np.array([-0.5, 0.4]), ZERO)
    assert mixed > values.learn(MANY[1:2], ZERO, ZERO)


def test_of_equal_trials_the_one_with_fewer_values_is_better() -> None:
    values = made()
    for number in (3, 1, 2):
        values.learn(MANY[:number], ZERO, ZERO)
    assert values.best(2) == [MANY[:1], MANY[:2]]


def test_variables_that_matter_least_come_first() -> None:
    values = made()
    for number in range(6):
        chosen = [MANY[place] for place in range(3) if number >> place & 1]
        gain = 0.5 * (MANY[0] in chosen) + 0.2 * (MANY[2] in chosen)
        values.learn(chosen, ZERO - gain, ZERO)
    together = Candidate(tuple(pair for candidate in MANY[:3] for pair in candidate.env))
    assert values.by_effect(together) == ["V1", "V2", "V0"]
