# SPDX-License-Identifier: Apache-2.0
"""Two-stage sampling: the optimum against a search, the components found again."""

import numpy as np
import pytest

from nearpeak.statistics.sampling import Components, best_slot, components


def test_the_best_slot_is_the_one_of_a_search() -> None:
    parts = Components(between=0.1**2, within=2e-3, start_seconds=0.8, slot_seconds=0.02)
    slots = np.linspace(1, 200, 20_000)
    # The variance of the mean of as many launches as a second holds.
    variances = (0.1**2 + 2e-3 / slots) * (0.8 + 0.02 * slots)
    assert best_slot(parts, 1, 200) == pytest.approx(slots[int(np.argmin(variances))], abs=0.02)
    assert best_slot(parts, 5, 200) == 5
    assert best_slot(parts, 1, 2) == 2


@pytest.mark.parametrize(
    ("between", "within", "start", "slope", "slot"),
    [
        (0.01, 0.0, 1.0, 0.02, 5),  # nothing is gained by a longer slot
        (0.0, 0.01, 1.0, 0.02, 100),  # launches are all alike: as few as one can
        (0.0, 0.0, 1.0, 0.02, 5),
        (0.01, 0.01, 0.0, 0.02, 5),  # a start costs nothing
    ],
)
def test_the_limits(between: float, within: float, start: float, slope: float, slot: float) -> None:
    assert best_slot(Components(between, within, start, slope), 5, 100) == slot


def test_components_are_found_again() -> None:
    generator = np.random.default_rng(1)
    between, sample, count, slot = 0.05, 0.3, 400, 20.0
    found = []
    for _ in range(40):
        cases = [
            [
                np.exp(shift + sample * generator.normal(0, 1, count))
                for shift in between * generator.normal(0, 1, 4)
            ]
            for _ in range(18)
        ]
        found.append(components(cases, slot, 1.0, 0.02))
    of_median = np.pi / 2 * sample**2 / count
    assert np.mean([c.between for c in found]) == pytest.approx(between**2, rel=0.15)
    assert np.mean([c.within for c in found]) == pytest.approx(of_median * slot, rel=0.15)


def test_samples_that_depend_on_one_another_count_for_fewer() -> None:
    generator = np.random.default_rng(2)
    independent, dependent = [], []
    for _ in range(30):
        steps = generator.normal(0, 0.1, 900)
        independent.append([np.exp(steps)])
        dependent.append([np.exp(np.convolve(steps, np.ones(10) / 10**0.5, mode="same"))])
    few, many = (components(c, 10, 1, 0.02).within for c in (independent, dependent))
    assert many > 4 * few


def test_a_variance_is_never_negative() -> None:
    generator = np.random.default_rng(3)
    cases = [[np.exp(generator.normal(0, 0.3, 25)) for _ in range(3)] for _ in range(40)]
    assert components(cases, 10, 1, 0.02).between < 0.002  # launches are alike
    alike = [[[1.0, 1.5, 0.7, 1.2, 0.9] * 5] * 3]
    assert components(alike, 10, 1, 0.02).between == 0


def test_an_odd_case_among_many_does_not_count() -> None:
    generator = np.random.default_rng(4)
    cases = [
        [np.exp(s + generator.normal(0, 0.1, 100)) for s in generator.normal(0, 0.05, 4)]
        for _ in range(17)
    ]
    wild = [np.exp(s + generator.normal(0, 0.1, 100)) for s in (0.0, 3.0, -3.0, 1.0)]
    without, with_it = (components(c, 10, 1, 0.02).between for c in (cases, [*cases, wild]))
    assert with_it == pytest.approx(without, rel=0.3)


def test_too_little_to_tell() -> None:
    assert components([], 10, 1, 0.02) == (0, 0, 1, 0.02)
    assert components([[[1.0, 1.1]]], 10, 1, 0.02) == (0, 0, 1, 0.02)  # one launch, two samples
