# SPDX-License-Identifier: Apache-2.0
"""What of settings costs nothing elsewhere, on places with planted prices."""

import math
import random
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from nearpeak.tune.bench import Failed
from nearpeak.tune.candidates import Candidate, Env
from nearpeak.tune.elsewhere import Elsewhere
from nearpeak.tune.estimate import Noise

Speeds = "tuple[float, float] | str"
NOISE = Noise(np.array([0.03]), 0.03)
BOTH = {"FAST": "y", "BETTER": "y"}


class Places:
    """Places where settings have an effect: times as fast, of two cases, or why it fails."""

    def __init__(self, launches: float = math.inf, **effects: Callable[[Env], Speeds]) -> None:
        self.effects = effects
        self.launches = launches
        self.done = 0
        self._chance = random.Random(1)

    def places(self) -> list[str]:
        return list(self.effects)

    def holds(self, launches: int, *_: object) -> bool:
        return self.done + launches <= self.launches

    def elsewhere(self, env: Env, place: str) -> dict[str, float] | Failed:
        self.done += 1
        speeds = self.effects[place](env)
        if isinstance(speeds, str):
            return Failed(speeds)
        return {
            f"case {number}": -math.log(speed) + self._chance.gauss(0, 0.03)
            for number, speed in enumerate(speeds)
        }


def free(places: Places) -> tuple[Env, str, list[str]]:
    lines: list[str] = []
    env, lacks = Elsewhere(cast(Any, places), NOISE, lines.append).free(BOTH)
    return env, lacks, lines


def no_price(_: Env) -> tuple[float, float]:
    return 1.0, 1.0


def price_of_fast(env: Env) -> tuple[float, float]:
    return (1.0, 0.7) if "FAST" in env else (1.0, 1.0)


def test_what_costs_nothing_is_free() -> None:
    places = Places(elsewhere=no_price, host=lambda env: (1.0, 1.5 if env else 1.0))
    assert free(places) == (BOTH, "", [])
    assert places.done <= 12


def test_what_costs_elsewhere_is_left_out() -> None:
    env, lacks, lines = free(Places(elsewhere=price_of_fast, host=no_price))
    assert (env, lacks) == ({"BETTER": "y"}, "")
    assert lines[0] == "elsewhere: slower with FAST=y BETTER=y: case 1"


def test_what_costs_alone_or_together_leaves_nothing() -> None:
    assert free(Places(elsewhere=lambda env: (0.5,) * 2 if env else (1.0, 1.0)))[0] == {}


def test_what_cannot_be_launched_elsewhere_costs_nothing() -> None:
    assert free(Places(elsewhere=lambda _: "no such path"))[0] == BOTH


def test_what_does_not_work_elsewhere_is_left_out() -> None:
    places = Places(elsewhere=lambda env: "it hangs" if "FAST" in env else (1.0, 1.0))
    assert free(places)[0] == {"BETTER": "y"}


def test_what_failed_on_the_path_of_the_targets_is_not_free() -> None:
    better = Candidate((("BETTER", "y"),))
    places = Places(elsewhere=price_of_fast)
    elsewhere = Elsewhere(cast(Any, places), NOISE, lambda _: None, better.__eq__)
    assert elsewhere.free(BOTH) == ({}, "")


def test_without_time_the_study_alone_tells() -> None:
    unknown = "what it costs elsewhere, which the study alone tells"
    assert free(Places(5, elsewhere=price_of_fast)) == (BOTH, unknown, [])
    env, lacks, _ = free(Places(8, elsewhere=price_of_fast))
    assert (env, lacks) == ({}, "what of it costs nothing elsewhere")
