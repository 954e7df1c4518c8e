# SPDX-License-Identifier: Apache-2.0
"""Thresholds between two protocols, found by measuring both."""

import math
import random
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.tunables import Threshold, Tunable
from nearpeak.tune.bench import Bench, Failed
from nearpeak.tune.budget import Work
from nearpeak.tune.candidates import Candidate, Env
from nearpeak.tune.search import Search
from nearpeak.tune.thresholds import SIZES, crossing, measure, moved, value_of

FORCED = Threshold(short="inf", long="1", written="at:{}")


def tunable(name: str, threshold: Threshold | None = FORCED) -> Tunable:
    return Tunable(
        name=name, component="x", summary="", values=["4K"], source="x", threshold=threshold
    )


class Planted:
    """Short messages by copies, 1 ns for each byte; long ones 60 us at any size. Every second
    launch is slow."""

    def __init__(self) -> None:
        self.launched: list[Env] = []

    def curve(self, env: Env, sizes: Sequence[int], limit_seconds: float, /) -> dict[int, float]:
        assert limit_seconds == 4.0
        self.launched.append(env)
        if "FAILS" in env:
            raise LaunchFailed("signal 11")
        slow = 3.0 if len(self.launched) % 2 else 1.0
        (value,) = env.values()
        return {each: math.log(slow * (1e-9 * each if value == "inf" else 60e-6)) for each in sizes}


def test_the_value_is_where_two_protocols_cross() -> None:
    told: list[str] = []
    launches = Planted()
    many = [tunable("ANY", None), tunable("LIMIT")]
    ((name, value),) = measure(launches, many, told.append, 4.0, lambda: 100.0)
    assert name == "LIMIT"
    assert 32768 < int(value.removeprefix("at:")) < 65536
    assert launches.launched == [{"LIMIT": "inf"}, {"LIMIT": "inf"}, {"LIMIT": "1"}, {"LIMIT": "1"}]
    assert told == [f"LIMIT={value}: its two protocols are as fast near 46341 B, by 4 launches"]


@pytest.mark.parametrize(
    ("value", "default", "sizes"),
    [
        ("32768", "4096", [1024, 2048, 4096, 8192, 16384, 32768, 65536]),
        ("8K", "4096", [1024, 2048, 4096, 8192, 16384]),
        ("at:11585", "auto", [4096, 8192, 16384]),
        ("inf", "4K", [1024, 2048, 4096, 8192]),
        ("1073741824", "16384", [4096, 16384, 65536, 262144, 1048576, 4194304, 16777216]),
        ("inf", "auto", []),
        ("1", "", []),
    ],
)
def test_where_a_setting_changes_the_protocol_sizes_are_guarded(
    value: str, default: str, sizes: list[int]
) -> None:
    limit = msgspec.structs.replace(tunable("LIMIT"), default=default)
    assert moved([tunable("OTHER"), limit], {"LIMIT": value}) == sizes


def test_one_protocol_may_be_faster_at_all_sizes() -> None:
    slow, fast = dict.fromkeys(SIZES, 2.0), dict.fromkeys(SIZES, 1.0)
    assert value_of(FORCED, crossing(slow, fast)) == "1"
    assert value_of(FORCED, crossing(fast, slow)) == "inf"


@pytest.mark.parametrize(("at", "value"), [(3000.4, "3000"), (92681.0, "32768"), (0.0, "256")])
def test_short_messages_go_so_up_to_a_size(at: float, value: str) -> None:
    assert value_of(Threshold(short="32768", long="256", most=32768), at) == value


def test_a_size_that_is_off_by_chance_moves_nothing() -> None:
    short = {each: math.log(each) for each in SIZES}
    long = dict.fromkeys(SIZES, math.log(50000))
    expected = crossing(short, long)
    short[1024] = math.log(1e6)
    assert crossing(short, long) == expected


def test_a_threshold_of_what_is_not_there_makes_no_difference() -> None:
    class Idle(Planted):
        def curve(
            self, env: Env, sizes: Sequence[int], limit_seconds: float, /
        ) -> dict[int, float]:
            assert (len(env), limit_seconds) == (1, 4.0)
            return {each: math.log(each) + 0.03 * ("inf" in env.values()) for each in sizes}

    told: list[str] = []
    assert measure(Idle(), [tunable("LIMIT")], told.append, 4.0, lambda: 100.0) == []
    assert told == [
        "LIMIT: its two protocols are as fast at most sizes, by 4 launches of single messages"
    ]


def test_what_cannot_be_launched_keeps_its_values() -> None:
    told: list[str] = []
    found = measure(
        Planted(), [tunable("FAILS"), tunable("LIMIT")], told.append, 4.0, lambda: 100.0
    )
    assert [name for name, _ in found] == ["LIMIT"]
    assert told[0] == "FAILS: its protocols cannot be measured: signal 11"


@pytest.mark.parametrize(("seconds", "measured"), [(3.0, 0), (30.0, 1), (300.0, 3)])
def test_as_many_are_measured_as_there_is_time_for(seconds: float, measured: int) -> None:
    launches = Planted()
    told: list[str] = []

    def left() -> float:
        return seconds - 5.0 * len(launches.launched)

    many = [tunable(name) for name in ("A", "B", "C")]
    assert len(measure(launches, many, told.append, 4.0, left)) == measured
    assert sum("no time to measure" in line for line in told) == 3 - measured


class Library(Bench):
    """Its protocols cross near 60 KB, and its threshold is 8 KiB. Targets of 32 KiB and of 4 MiB;
    there are twenty settings more, which change nothing."""

    def __init__(self, seed: int) -> None:
        self.done = 0
        self._chance = random.Random(seed)

    def _cost(self, size: int, env: Env) -> float:
        short = size < int(env.get("LIMIT", "8192"))
        return math.log(1e-9 * size if short else 60e-6) + self._chance.gauss(0, 0.03)

    def curve(self, env: Env, sizes: Sequence[int], limit_seconds: float, /) -> dict[int, float]:
        assert limit_seconds > 0
        self.done += 1
        return {each: self._cost(each, env) for each in sizes}

    def measure(self, env: Env, why: str) -> Floats | Failed:
        assert why
        self.done += 1
        return np.array([self._cost(32 << 10, env), self._cost(4 << 20, env)])

    def check(self, env: Env) -> str | None:
        assert env is not None
        return ""

    def places(self) -> list[str]:
        return []

    def elsewhere(self, env: Env, place: str) -> dict[str, float] | Failed:
        raise AssertionError((env, place))

    def left(self) -> float:
        return 1 - self.done / 15

    def holds(self, launches: int, checks: int, work: Work) -> bool:
        return launches >= 0 and checks <= 1 and bool(work)

    def foreseen(self, launches: int) -> float | None:
        return None if launches < 15 else 1.0

    def time_added(self) -> bool:
        return False


def taken(seed: int, crossed: bool) -> bool:
    """True if few launches take a value of the threshold with which both targets are best."""
    library = Library(seed)
    values = ["1024", "4096", "16384", "65536", "262144"]
    if crossed:
        limit = tunable("LIMIT", Threshold(short=str(1 << 30), long="1"))
        found = measure(library, [limit], lambda _: None, 4.0, lambda: 100.0)
        values = [*(value for _, value in found), *values]
    known = [Candidate((("LIMIT", value),)) for value in values]
    known += [Candidate(((f"FILL{number}", "1"),)) for number in range(20)]
    library.done = 0
    outcome = Search(library, known, seed, first=int(crossed)).run()
    return 32 << 10 < int(outcome.taken.get("LIMIT", "0")) <= 4 << 20


def test_a_crossing_far_from_the_default_is_taken_in_few_launches_and_not_by_a_sweep() -> None:
    assert all(taken(seed, True) for seed in range(3))
    assert not all(taken(seed, False) for seed in range(3))
