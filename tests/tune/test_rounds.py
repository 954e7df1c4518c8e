# SPDX-License-Identifier: Apache-2.0
"""Interleaved rounds: who is launched in them, who leaves, and who is the best."""

import math
import random
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.tune.bench import Failed
from nearpeak.tune.candidates import Candidate, Env
from nearpeak.tune.estimate import Noise
from nearpeak.tune.rounds import DEFAULT, Compared, Rounds

FAST, FASTER, BOTH = (
    Candidate((("A", "1"),)),
    Candidate((("B", "1"),)),
    Candidate((("A", "1"), ("B", "1"))),
)
NOISE = Noise(np.array([0.03, 0.03]), 0.02)


def rounds(cost: Callable[[Env, int], float | str | Floats]) -> tuple[Rounds, list[Env]]:
    """Launches of this cost, of both targets or of each, or why they fail, by their number; a
    first one is done."""
    launched: list[Env] = []

    class Costs:
        def measure(self, env: Env, _: str) -> Floats | Failed:
            launched.append(env)
            result = cost(env, len(launched) - 1)
            if isinstance(result, str):
                return Failed(result)
            return result if isinstance(result, np.ndarray) else np.full(2, result)

    made = Rounds(cast(Any, Costs()), random.Random(1))
    made.launch(DEFAULT, "test")
    launched.clear()
    return made, launched


def test_each_round_has_all_of_them() -> None:
    made, launched = rounds(lambda env, _: -0.5 * len(env))
    compared = made.compare(DEFAULT, [FAST, BOTH], "test", 4, lambda _: True)
    assert len(launched) == 12
    for start in range(0, 12, 3):
        assert sorted(map(len, launched[start : start + 3])) == [0, 1, 2]
    assert compared.gains[BOTH] == pytest.approx(np.ones((4, 2)))
    assert len({str(launched[start : start + 3]) for start in range(0, 12, 3)}) > 1


def test_rounds_end_as_they_are_told() -> None:
    made, launched = rounds(lambda *_: 0.0)
    made.compare(DEFAULT, [FAST], "test", 9, lambda compared: compared.rounds < 2)
    assert len(launched) == 4


def test_what_fails_leaves_the_rounds() -> None:
    made, _ = rounds(lambda env, _: "signal 11" if "B" in env else 0.0)
    compared = made.compare(DEFAULT, [FAST, BOTH], "test", 3, lambda _: True)
    assert (list(compared.gains), compared.failed) == ([FAST], {BOTH: "signal 11"})
    assert compared.rounds == 3


def test_a_round_whose_default_fails_is_repeated() -> None:
    made, _ = rounds(lambda env, number: "lost" if not env and 0 < number < 5 else 0.0)
    compared = made.compare(DEFAULT, [FAST], "test", 3, lambda _: True)
    assert (compared.rounds, compared.failed) == (3, {})
    assert set(compared.lost) == {"lost"}


def test_a_base_that_fails_ends_the_rounds() -> None:
    made, launched = rounds(lambda env, _: "lost" if env == {"A": "1"} else 0.0)
    compared = made.compare(FAST, [BOTH], "test", 3, lambda _: True)
    assert (compared.rounds, compared.failed, len(launched)) == (0, {FAST: "lost"}, 2)


def test_noise_is_that_of_equal_launches() -> None:
    made, _ = rounds(lambda env, number: 0.1 * (number % 3) if not env else 5.0 * number)
    for _ in range(7):
        made.launch(DEFAULT, "test")
    made.launch(FAST, "test")
    noise = made.noise()
    assert [*noise.targets, noise.mean] == pytest.approx([0.074] * 3, abs=0.001)


def test_of_equally_good_settings_the_best_has_fewest_variables() -> None:
    def best(fast: float, both: float) -> Candidate | None:
        gains = {FAST: np.full((3, 2), fast), BOTH: np.full((3, 2), both)}
        return Compared(gains, {}, NOISE).best

    assert best(0.50, 0.51) == FAST
    assert best(0.30, 0.51) == BOTH
    assert best(0.01, 0.00) is None
    assert best(0.01, -0.50) is None


def false_proofs(shared: float) -> int:
    """Returns how many of 500 settings without effect seem better in six rounds, by eight targets.
    `shared`: the part of the noise that the targets of a launch share."""

    def is_proved(seed: int) -> bool:
        chance = random.Random(seed)

        def noise(_: Env, __: int) -> Floats:
            slow = 0.5 * chance.random() if chance.random() < 0.05 else 0.0
            common = math.sqrt(shared) * chance.gauss(0, 0.1) + slow
            rest = [math.sqrt(1 - shared) * chance.gauss(0, 0.1) for _ in range(8)]
            return common + np.array(rest)

        made, _ = rounds(noise)
        for _ in range(9):
            made.launch(DEFAULT, "test")
        return made.compare(DEFAULT, [FAST], "test", 6, lambda _: True).estimates[FAST].better

    return sum(map(is_proved, range(500)))


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_what_has_no_effect_is_rarely_better(shared: float) -> None:
    assert false_proofs(shared) <= 8
