# SPDX-License-Identifier: Apache-2.0
"""What must go on working: one launch for all of a place, and one for each where that fails."""

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.tune import launches
from nearpeak.tune.launches import Launches


def single(name: str, path: str) -> Any:
    return SimpleNamespace(
        benchmark=SimpleNamespace(name=name, sized=name != "barrier"),
        buffers="H,H",
        path=SimpleNamespace(id=path),
        native=False,
    )


GUARDS = [single(name, "near") for name in ("latency", "bw", "barrier")] + [single("bw", "far")]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What `guard` finds, and what it launched; `fails`: how a launch of a benchmark ends."""

    def guard(fails: dict[str, str], seconds: float = 100.0) -> Any:
        done: list[list[str]] = []
        clock = SimpleNamespace(now=0.0)

        def run(parts: Sequence[Any], _: object, limit: float) -> list[Any]:
            names = [each.benchmark.name for each, _ in parts]
            done.append(names)
            clock.now += 1.0
            assert 0 < limit <= 30
            if failed := [fails[name] for name in names if fails.get(name)]:
                raise LaunchFailed(failed[0])
            return [
                SimpleNamespace(case=SimpleNamespace(benchmark=name))
                for name in names
                if name not in fails
            ]

        monkeypatch.setattr(launches, "_run", run)
        monkeypatch.setattr(launches, "time", SimpleNamespace(monotonic=lambda: clock.now))
        return Launches({}, GUARDS, [], {}).guard({}, 30.0, seconds), done

    return guard


@pytest.mark.parametrize("measured", [[8, 64], [8]])
def test_a_curve_is_one_launch_of_the_benchmark_of_one_message(
    measured: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(parts: Sequence[Any], env: dict[str, str], _: float) -> list[Any]:
        ((chosen, words),) = parts
        assert (chosen.benchmark.name, env) == ("latency", {"X": "1"})
        assert words[:2] == ["--sizes", "8,64"]
        cases = [
            SimpleNamespace(
                benchmark="latency",
                metric=metric,
                size_bytes=size,
                better="lower",
                cache_line_ns=[],
            )
            for size in measured
            for metric in ("latency", "other")
        ]
        return [SimpleNamespace(case=case, value=math.e) for case in cases]

    monkeypatch.setattr(launches, "_run", run)
    subjects = {
        name: SimpleNamespace(
            benchmark=SimpleNamespace(
                name=name, one_message=name == "latency", main=SimpleNamespace(name=name)
            ),
            native=False,
        )
        for name in ("bw", "latency", "jacobi2d")
    }
    found = Launches({"jacobi2d": subjects["jacobi2d"]}, [], [], {"near": [*subjects.values()]})
    if measured == [8]:
        with pytest.raises(LaunchFailed, match="not all sizes had a figure"):
            found.curve({"X": "1"}, [8, 64], 9.0)
    else:
        assert found.curve({"X": "1"}, [8, 64], 9.0) == {8: 1.0, 64: 1.0}


def test_curves_of_several_targets_are_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"bcast": [8, 64], "reduce": [8]}

    def run(parts: Sequence[Any], env: dict[str, str], _: float) -> list[Any]:
        assert env == {"X": "1"}
        assert [words[1] for _, words in parts] == ["8,64", "8"]
        return [
            SimpleNamespace(
                case=SimpleNamespace(
                    benchmark=name,
                    metric="t",
                    size_bytes=at,
                    better="lower",
                    cache_line_ns=[80.0 + at],
                ),
                value=math.exp(at),
            )
            for name, sizes in wanted.items()
            for at in sizes
        ]

    monkeypatch.setattr(launches, "_run", run)
    subjects: Any = {
        name: SimpleNamespace(
            benchmark=SimpleNamespace(name=name, main=SimpleNamespace(name="t")), native=False
        )
        for name in wanted
    }
    found = Launches(subjects, [], [], {}).curves({"X": "1"}, wanted, 9.0)
    assert found == ({"bcast": {8: 8.0, 64: 64.0}, "reduce": {8: 8.0}}, 88.0)


NEAR = ["latency H,H on near", "bw H,H on near", "barrier H,H on near"]


def test_what_works_takes_a_launch_for_each_place(launched: Callable[..., Any]) -> None:
    found, done = launched({})
    assert found == dict.fromkeys([*NEAR, "bw H,H on far"], "")
    assert done == [["latency", "bw", "barrier"], ["bw"]]


@pytest.mark.parametrize(
    ("end", "told"), [("wrong data", "wrong data"), ("", "latency: no figure")]
)
def test_what_fails_is_found_by_a_launch_for_each(
    launched: Callable[..., Any], end: str, told: str
) -> None:
    found, done = launched({"latency": end})
    assert found == {NEAR[0]: told, NEAR[1]: "", NEAR[2]: "", "bw H,H on far": ""}
    assert done == [["latency", "bw", "barrier"], ["latency"], ["bw"], ["barrier"], ["bw"]]


def test_where_the_time_is_over_nothing_is_known(launched: Callable[..., Any]) -> None:
    found, done = launched({"barrier": "it hung"}, seconds=2.5)
    assert found is None
    assert len(done) == 3
