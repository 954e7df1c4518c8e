# SPDX-License-Identifier: Apache-2.0
"""Two paces of a method: found where they are, over all launches, and how sure that is."""

import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.statistics.bimodal import borders, in_better_mode

SHAPES = {
    "normal": lambda generator, size: generator.normal(0, 1, size),
    "heavy": lambda generator, size: generator.standard_t(3, size),
    "uniform": lambda generator, size: generator.uniform(-1, 1, size),
    "skewed": lambda generator, size: generator.exponential(1, size),
}


def mixed(shares: list[float], slower: float = 1.5, count: int = 40) -> list[Floats]:
    """Launches with so large a share of samples near to 1, and the others near to `slower`."""
    generator = np.random.default_rng(2)
    found = []
    for share in shares:
        fast = round(share * count)
        paces = np.repeat([1.0, slower], [fast, count - fast])
        found.append(paces * np.exp(generator.normal(0, 0.01, count)))
    return found


@pytest.mark.parametrize(
    ("samples", "faster"),
    [
        ([1.0] * 6 + [2.0] * 4, 6),
        ([1.0, 1.01, 1.02, 0.99] * 5 + [1.2, 1.21, 1.19, 1.2] * 2, 20),
        ([1.0] * 6 + [1.04] * 6, None),  # nearer than 5 %
        ([1.0] * 18 + [2.0] * 2, None),  # a few outliers are no pace
        ([1.0] * 4 + [2.0] * 4, None),  # too few samples
        (list(np.linspace(1.0, 2.0, 40)), None),  # no valley
        ([0.0] * 6 + [2.0] * 6, None),
    ],
)
def test_one_launch(samples: list[float], faster: int | None) -> None:
    values = np.array(samples)
    (border,) = borders([values], "lower")
    assert (border is None) == (faster is None)
    assert int(in_better_mode(values, border, "lower").sum()) == (faster or len(samples))


def test_the_better_pace_of_a_rate_is_the_higher_one() -> None:
    values = np.array([5.0] * 6 + [10.0] * 4)
    (border,) = borders([values], "higher")
    assert values[in_better_mode(values, border, "higher")].tolist() == [10.0] * 4


def test_a_launch_with_less_of_a_pace_goes_by_the_border_of_all() -> None:
    """The figure of a launch does not jump with its own share."""
    launches = mixed([0.5, 0.6, 0.4, 0.5, 0.45, 0.2])
    (border,) = borders(launches, "lower")
    medians = [
        float(np.median(launch[in_better_mode(launch, border, "lower")])) for launch in launches
    ]
    assert medians == pytest.approx([1.0] * 6, rel=0.02)
    assert borders([launches[-1]], "lower") == [None]  # alone it would have one pace


def test_launches_may_differ() -> None:
    launches = [
        row * effect
        for row, effect in zip(mixed([0.5] * 6), [1.0, 1.4, 0.7, 2.0, 1.1, 0.5], strict=True)
    ]
    (border,) = borders(launches, "lower")
    assert [int(in_better_mode(launch, border, "lower").sum()) for launch in launches] == [20] * 6


def test_launches_that_have_one_pace_each_have_one() -> None:
    """Two modes of launches: there is nothing in a launch to choose between."""
    assert borders(mixed([1, 0, 1, 0, 1, 0]), "lower") == [None]


def test_a_pace_that_few_launches_have_is_none() -> None:
    assert borders(mixed([0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), "lower") == [None]


def test_short_launches_have_no_say_and_no_paces() -> None:
    short = np.array([1.0, 1.5])
    (border,) = borders([*mixed([0.5] * 6), short], "lower")
    assert border is not None
    assert in_better_mode(short, border, "lower").all()
    assert borders([short] * 6, "lower") == [None]


@pytest.mark.parametrize(
    ("shares", "two"), [([0.5, 0.5, 0.5, 0, 0, 0.5], False), ([0.5, 0.5, 0.5, 0.5, 0, 0.5], True)]
)
def test_what_is_not_sure_has_two_answers(shares: list[float], two: bool) -> None:
    first, other = borders(mixed(shares), "lower")
    assert (first is not None, other is not None) == (two, not two)
    assert 1.1 < (first or other or 0.0) < 1.4


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("count", "most"), [(11, 0.04), (20, 0.002)])
def test_one_pace_seldom_looks_like_two(shape: str, count: int, most: float) -> None:
    """One launch: where it has a pace, its figure is the median, and has no bias."""
    generator = np.random.default_rng(5)
    drawn = np.exp(SHAPES[shape](generator, (1000, count)))
    assert sum(borders([figures], "lower") != [None] for figures in drawn) <= most * 1000


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("deviation", [0.02, 0.2])
def test_one_pace_in_launches_that_differ_never_does(shape: str, deviation: float) -> None:
    generator = np.random.default_rng(6)
    for _ in range(60):
        effects = generator.normal(0, deviation, (6, 1))
        launches = np.exp(effects + 0.05 * SHAPES[shape](generator, (6, 12)))
        assert borders(list(launches), "higher") == [None]


@pytest.mark.parametrize("count", [20, 200])
def test_the_faster_of_two_paces_is_found(count: int) -> None:
    """By the first answer mostly, and else by the other one."""
    generator = np.random.default_rng(7)
    errors = []
    for _ in range(40):
        shares, effects = generator.beta(10, 10, 8), generator.normal(0, 0.1, 8)
        launches = [
            np.exp(effect + 0.3 * (generator.random(count) > share))
            * np.exp(generator.normal(0, 0.02, count))
            for share, effect in zip(shares, effects, strict=True)
        ]
        errors.append(
            [
                np.median(
                    [
                        np.log(np.median(launch[in_better_mode(launch, border, "lower")])) - effect
                        for launch, effect in zip(launches, effects, strict=True)
                    ]
                )
                for border in borders(launches, "lower")
            ]
        )
    assert sum(abs(first) < 0.02 for first, *_ in errors) >= 0.9 * len(errors)
    assert max(min(map(abs, each)) for each in errors) < 0.02
