# SPDX-License-Identifier: Apache-2.0
"""Files of rules, from planted operations whose best algorithm differs by size."""

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.rules import Range, Table
from nearpeak.libraries.tunables import Offered, Ruled, Tunable
from nearpeak.numbers import count
from nearpeak.tune.candidates import Env
from nearpeak.tune.estimate import Estimate
from nearpeak.tune.rules import (
    Operation,
    Way,
    borders,
    forced,
    measure,
    ranges,
    sizes_of,
    ways,
    winners,
)

SIZES = (8, 4096, 65536, 1 << 20)
ON = {"ON": "true"}
Times = Mapping[str, Sequence[float]]  # as fast as the library's own choice at each size, by value


def way(value: str, number: int = 1, name: str = "BCAST", segment: int = 0) -> Way:
    return Way((*ON.items(), (name, value)), number, segment, value)


def operation(times: Times, name: str = "bcast", **more: bool) -> Operation:
    """For two targets, with an algorithm for each of these values."""
    ruled = Ruled(operation=7, **more)
    tried = tuple(way(each, n, name.upper()) for n, each in enumerate(times, 1))
    return Operation(name, ruled, tried, SIZES, (8, 65536), ranks=2)


class Planted:
    """Launches scatter by 2 %, and one in twenty is slow; `crash` and `hang` fail. A launch takes a
    second."""

    def __init__(
        self, planted: Mapping[str, Times], seconds: float = 1000.0, moved: bool = False
    ) -> None:
        """`moved`: from every seventh launch on CPUs are far apart for three, which take four times
        as long."""
        self.planted = planted
        self.moved = moved
        self.launched: list[Env] = []
        self._seconds = seconds
        self._chance = random.Random(1)

    def left(self) -> float:
        return self._seconds - len(self.launched)

    def curves(
        self, env: Env, sizes: Mapping[str, Sequence[int]], limit_seconds: float, /
    ) -> tuple[dict[str, dict[int, float]], float | None]:
        assert limit_seconds == 4.0
        assert not env or env["ON"] == "true"
        self.launched.append(env)
        if "crash" in env.values():
            raise LaunchFailed("signal 11")
        slow = 0.4 if self._chance.random() < 0.05 else 0.0
        far = self.moved and len(self.launched) % 7 < 3
        slow += math.log(4) * far
        found = {}
        for name, own in sizes.items():
            times = self.planted[name].get(env.get(name.upper(), ""), (1.0,) * len(own))
            found[name] = {
                size: -math.log(fast) + slow + self._chance.gauss(0, 0.02)
                for size, fast in zip(own, times, strict=True)
            }
        return found, 300.0 if far else 80.0


@pytest.mark.parametrize("moved", [False, True])
def test_what_differs_by_size_becomes_a_table(moved: bool) -> None:
    planted = {"tree": (1.5, 1.0, 0.5, 0.5), "ring": (0.5, 1.0, 1.4, 1.5), "odd": (0.9,) * 4}
    told: list[str] = []
    launches = Planted({"bcast": planted}, moved=moved)
    found = measure(launches, [operation(planted)], told.append, 4.0, launches.left)
    (table,) = found
    assert (table.name, table.operation, table.ranks) == ("bcast", 7, 2)
    assert table.ranges == [
        Range(first=0, algorithm=1, words="tree"),
        Range(first=181),
        Range(first=16384, algorithm=2, words="ring"),
        Range(first=(1 << 20) + 1),  # what is not measured
    ]
    assert told == [
        f"bcast: tree at 8 B, ring at 64 KiB, ring at 1 MiB, by {len(launches.launched)} launches"
    ]
    assert launches.launched[0] == {}


def test_what_is_best_at_all_sizes_is_a_table_too() -> None:
    """A variable would hold for any number of ranks."""
    planted = {"tree": (1.5, 1.5, 1.5, 1.5), "ring": (0.5, 0.5, 1.5, 1.5)}
    launches = Planted({"bcast": planted})
    (table,) = measure(launches, [operation(planted)], lambda _: None, 4.0, launches.left)
    assert [(each.first, each.words) for each in table.ranges[:1]] == [(0, "tree")]
    assert table.ranges[-1] == Range(first=(1 << 20) + 1)


def test_several_operations_share_launches_and_the_file() -> None:
    planted = {
        "bcast": {"tree": (1.5, 1.0, 0.5, 0.5), "ring": (0.5, 1.0, 1.4, 1.5)},
        "reduce": {"linear": (2.0,) * 4},
        "alltoall": {"bruck": (1.0,) * 4},
    }
    told: list[str] = []
    launches = Planted(planted)
    many = [operation(times, name) for name, times in planted.items()]
    found = measure(launches, many, told.append, 4.0, launches.left)
    assert [table.name for table in found] == ["bcast", "reduce"]
    assert {"ON": "true", "BCAST": "tree", "REDUCE": "linear", "ALLTOALL": "bruck"} in (
        launches.launched
    )
    assert told[-1].startswith("alltoall: no algorithm is faster beyond chance, by ")


@pytest.mark.parametrize("other", ["tree", "crash"])
def test_what_fails_is_left_out_and_takes_nothing_with_it(other: str) -> None:
    planted = {
        "bcast": {"crash": (1.0,) * 4, "tree": (2.0,) * 4},
        "reduce": {other: (2.0,) * 4, "ring": (1.0,) * 4},
    }
    told: list[str] = []
    launches = Planted(planted)
    many = [operation(times, name) for name, times in planted.items()]
    found = measure(launches, many, told.append, 4.0, launches.left)
    names = ["bcast", "reduce"] if other == "tree" else ["bcast"]
    assert [table.name for table in found] == names
    assert {table.ranges[0].words for table in found} == {"tree"}
    assert told.count("BCAST=crash: signal 11") == 1


@pytest.mark.parametrize("failing", [1, 3])
def test_one_launch_of_the_library_as_it_is_may_fail(failing: int) -> None:
    """On a machine that others use, one may take too long."""

    class Disturbed(Planted):
        def curves(
            self, env: Env, sizes: Mapping[str, Sequence[int]], limit_seconds: float, /
        ) -> tuple[dict[str, dict[int, float]], float | None]:
            found = super().curves(env, sizes, limit_seconds)
            if not env and sum(not each for each in self.launched) == failing:
                raise LaunchFailed("the launch did not end within 4 s")
            return found

    planted = {"tree": (2.0,) * 4, "ring": (1.0,) * 4}
    launches = Disturbed({"bcast": planted})
    (table,) = measure(launches, [operation(planted)], lambda _: None, 4.0, launches.left)
    assert table.ranges[0].words == "tree"


@pytest.mark.parametrize("seconds", [3.0, 12.0, 40.0, 60.0])
def test_as_much_is_measured_as_there_is_time_for(seconds: float) -> None:
    """Of many ways the best has its rounds all the same."""
    planted = {f"odd{n}": (0.9,) * 4 for n in range(14)} | {"tree": (2.0,) * 4}
    launches = Planted({"bcast": planted}, seconds)
    told: list[str] = []
    found = measure(launches, [operation(planted)], told.append, 4.0, launches.left)
    assert len(launches.launched) <= seconds
    if seconds < 40:  # and the others have what is left
        assert told == [f"bcast: no time to decide, by {count(int(seconds > 4), 'launch')}"]
    assert [table.ranges[0].words for table in found] == (["tree"] if seconds >= 40 else [])


def test_of_equal_algorithms_nothing_is_found() -> None:
    planted = {f"same{n}": (1.0,) * 4 for n in range(13)}
    launches = Planted({"bcast": planted})
    found = measure(launches, [operation(planted)], lambda _: None, 4.0, launches.left)
    assert found == []


def known(**gains: Sequence[float]) -> dict[Way, Estimate]:
    """Ways with these gains, and errors of 1 %."""
    return {
        way(name): Estimate(np.array(own), np.full(len(own), 0.01), 0.0, 0.01)
        for name, own in gains.items()
    }


def test_few_ways_win_where_several_are_as_good() -> None:
    a, c = way("a"), way("c")
    found = known(a=(0.5, 0.2, 0.0), b=(0.505, 0.0, 0.2), c=(0.0, 0.205, 0.302))
    assert winners(found, 3) == [a, a, c]
    assert winners(known(a=(0.02, 0.0, -0.3)), 3) == [None] * 3  # less than a harm elsewhere
    assert winners({}, 2) == [None, None]


@pytest.mark.parametrize(
    ("ways_at", "whole", "expected"),
    [
        ((1, 1, 0, 0), False, [8192, 16384]),  # of 4 KiB and 64 KiB
        ((1, 0, 0, 2), False, [128, 256, 1 << 17, 1 << 18]),
        ((1, 0, 0, 2), True, [128, 256, 1 << 17, 1 << 18]),  # of a block
        ((0, 0, 0, 1), False, [1 << 17, 1 << 18]),
        ((1, 1, 1, 1), False, []),  # beyond it the library chooses as before
    ],
)
def test_what_lies_beside_a_border_is_known(
    ways_at: tuple[int, ...], whole: bool, expected: list[int]
) -> None:
    one = operation({}, whole=whole)
    chosen = [way(str(each)) if each else None for each in ways_at]
    table = Table(name="bcast", operation=7, ranks=2, ranges=ranges(one, chosen))
    other = operation({}, "reduce")
    assert borders([other, one], [table]) == expected


@pytest.mark.parametrize("whole", [False, True])
def test_each_size_has_its_own_rule_however_close_they_are(whole: bool) -> None:
    pairs = [(low, high) for high in range(1, 40) for low in range(high)]
    for low, high in [*pairs, (4096, 4097), (1 << 40, (1 << 40) + 1)]:
        one = operation({}, whole=whole)._replace(sizes=(low, high))
        found = ranges(one, [way("small"), way("large")])
        times = one.ranks if whole else 1
        assert low * times < found[1].first <= high * times, (low, high)
        table = Table(name="bcast", operation=7, ranks=2, ranges=found)
        assert min(borders([one], [table]), default=1) >= 1, (low, high)


def test_the_border_below_one_byte_of_an_older_search_is_known() -> None:
    """It was written so between 1 and 2 B."""
    table = Table(name="bcast", operation=7, ranks=2, ranges=[Range(first=0), Range(first=1)])
    assert borders([operation({})], [table]) == [1, 2]


def test_what_would_overrule_a_table_is_known() -> None:
    parts = Way((*ON.items(), ("BCAST", "tree"), ("PARTS", "4096")), 1, 4096, "")
    bcast = operation({"tree": ()})._replace(ways=(way("tree"), parts))
    reduce = operation({"tree": ()}, "reduce")
    table = Table(name="bcast", operation=7, ranks=2, ranges=[])
    assert forced([bcast, reduce], [table]) == {"BCAST", "PARTS"}


def test_sizes_of_all_blocks_are_those_of_all_ranks() -> None:
    a = way("a", 3)
    whole = operation({"a": ()}, whole=True)
    assert ranges(whole, [a, None, None, a]) == [
        Range(first=0, algorithm=3, words="a"),
        Range(first=362),
        Range(first=524288, algorithm=3, words="a"),
        Range(first=(1 << 21) + 1),
    ]


def test_sizes_reach_beyond_the_targets() -> None:
    assert sizes_of([8, 4096, 65536, 1 << 20, 1 << 24], [8, 65536]) == [8, 4096, 65536, 1 << 20]
    assert sizes_of([8, 4096], [512, 4096]) == [8, 512, 4096]


def test_ways_are_what_a_file_can_say() -> None:
    def tunable(name: str, values: list[str], ruled: Ruled | None, **more: str) -> Tunable:
        return Tunable(
            name=name,
            component="x",
            summary="",
            source="x",
            values=values,
            benchmarks=["bcast"],
            ruled=ruled,
            with_={**ON, **more},
        )

    chosen = tunable("BCAST", ["tree", "pipeline", "unknown"], Ruled(operation=7))
    parts = tunable("PARTS", ["4096"], Ruled(operation=7, segment=True), BCAST="pipeline")
    radix = tunable("RADIX", ["2"], None, BCAST="tree")
    numbers = {"tree": 5, "pipeline": 3}
    offered = [
        Offered(chosen, True, "ignore", numbers),
        Offered(parts, True, "0"),
        Offered(radix, True, "4"),
    ]
    assert ways(offered, "bcast") == [
        Way((*ON.items(), ("BCAST", "tree")), 5, 0, "tree"),
        Way((*ON.items(), ("BCAST", "pipeline")), 3, 0, "pipeline"),
        Way(
            (*ON.items(), ("BCAST", "pipeline"), ("PARTS", "4096")),
            3,
            4096,
            "pipeline in parts of 4 KiB",
        ),
    ]
    assert ways(offered, "reduce") == []
