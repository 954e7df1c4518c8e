# SPDX-License-Identifier: Apache-2.0
"""What is made of launches with and without the microscope."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nearpeak.explain import cupti
from nearpeak.explain.launches import (
    INJECTED,
    device_not_seen,
    environment,
    explain,
    message_us,
    of_messages,
    operations,
)
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.library import CommandLine
from nearpeak.observations.explained import Explanation


def case(unit: str, size: int = 0, window: int = 1) -> Any:
    return SimpleNamespace(unit=unit, size_bytes=size, window=window)


def benchmark(by_hand: Any, name: str) -> Any:
    return next(known for known in by_hand.BENCHMARKS if known.name == name)


def test_messages_of_an_iteration_are_a_count(by_hand: Any) -> None:
    latency, bibw = (benchmark(by_hand, name) for name in ("latency", "bibw"))
    assert operations(latency, case("us"), 25.3, 45.4) == 2  # the launch's own figure has the marks
    assert operations(latency, case("us"), 25.3, None) == 1
    assert operations(benchmark(by_hand, "allreduce"), case("us"), 64.8, 64.4) == 1
    assert operations(bibw, case("GB/s", window=64), 10.0, 400.0) == 128
    assert operations(benchmark(by_hand, "get_bw"), case("GB/s", window=64), 10.0, 400.0) == 1


def test_a_figure_of_all_samples_is_made_one_of_the_messages_looked_at() -> None:
    def better(which: str, unit: str) -> Any:
        return SimpleNamespace(unit=unit, better=which)

    assert of_messages(better("lower", "us"), 2.784, 0.8) == pytest.approx(2.2272)
    assert of_messages(better("higher", "GB/s"), 8.0, 0.8) == pytest.approx(10)
    assert of_messages(better("lower", "ratio"), 0.5, 0.8) == 0.5


def test_a_message_without_mpi_takes_what_was_measured() -> None:
    def measured(unit: str, value: float) -> Any:
        return SimpleNamespace(case=case(unit, size=1000), value=value)

    assert message_us(measured("us", 12.5), pairs=1) == 12.5
    assert message_us(measured("GB/s", 10.0), pairs=1) == pytest.approx(0.1)
    assert message_us(measured("GB/s", 10.0), pairs=2) == pytest.approx(0.2)
    assert message_us(measured("M/s", 4.0), pairs=1) == 0.25


def chosen(buffers: str, *vendors: str, driver: str | None = None) -> Any:
    return SimpleNamespace(
        buffers=buffers,
        ends=[0, 1],
        settings=SimpleNamespace(env={}),
        machine=SimpleNamespace(
            gpus=[SimpleNamespace(vendor=vendor) for vendor in vendors],
            provenance=SimpleNamespace(nvidia_driver=driver),
        ),
    )


@pytest.mark.parametrize(
    ("where", "looks"),
    [
        (chosen("H,H"), False),
        (chosen("H,H", "nvidia", driver="580"), True),  # a library that knows CUDA asks it
        (chosen("H,D", "nvidia", driver="580"), True),
    ],
)
def test_the_driver_is_looked_at_where_there_is_one(tmp_path: Any, where: Any, looks: bool) -> None:
    env = environment(where, tmp_path / "x.so", tmp_path, tmp_path / "libcupti.so.13")
    assert (INJECTED in env, cupti.VARIABLE in env) == (looks, looks)
    assert 0 < int(env["NEARPEAK_EXPLAIN_BYTES"]) <= 128 << 20


def test_files_of_many_ranks_take_no_more_space_than_those_of_eight(tmp_path: Any) -> None:
    where = chosen("H,H")
    where.ends = list(range(64))
    env = environment(where, tmp_path / "x.so", tmp_path, None)
    assert 0 < int(env["NEARPEAK_EXPLAIN_BYTES"]) * 64 <= 1 << 30


def test_what_was_not_looked_at_is_said() -> None:
    seen: Any = [SimpleNamespace(device=""), SimpleNamespace(device="CUPTI was not found")]
    assert device_not_seen(chosen("D,D", "nvidia"), seen) == "CUPTI was not found"
    assert device_not_seen(chosen("D,D", "nvidia"), seen[:1]) == ""
    assert device_not_seen(chosen("H,H", "amd"), seen[:1]) == ""
    words = device_not_seen(chosen("D,D", "amd"), seen[:1])
    assert words == "only calls of libc are seen with GPUs that are not NVIDIA's"


class Launches:
    """Of a library whose launches take what is written here, and fail at some sizes."""

    def __init__(self, plain: list[float], seen: list[float], fail: tuple[str, ...] = ()) -> None:
        self.plain, self.seen, self.fail = plain, seen, fail
        self.began: list[str] = []

    def measure(self, _: Any, words: Any, env: Any = None, *__: Any, **___: Any) -> Any:
        what = "seen" if env else "plain"
        self.began.append(what)
        if words[1] in self.fail or what in self.fail:
            raise LaunchFailed(f"{what} at {words[1]}")
        values = self.seen if env else self.plain
        value = values[(self.began.count(what) - 1) % len(values)]
        sampled = SimpleNamespace(
            unit="us",
            better="lower",
            metric="latency",
            axes={},
            window=1,
            size_bytes=8,
            apart_ns=300.0 if env else 60.0,
        )
        return [SimpleNamespace(case=sampled, value=value)]


def explained(by_hand: Any, monkeypatch: Any, launches: Launches, sizes: list[int]) -> Explanation:
    monkeypatch.setattr("nearpeak.explain.launches.measure", launches.measure)
    monkeypatch.setattr("nearpeak.explain.launches.build_explain", lambda: Path("x.so"))
    monkeypatch.setattr("nearpeak.explain.launches._ceiling", lambda *_: None)
    one = SimpleNamespace(
        **chosen("H,H").__dict__,
        benchmark=benchmark(by_hand, "latency"),
        library=SimpleNamespace(name="one", version="1"),
        path=SimpleNamespace(id="", summary=""),
        mps=contextlib.nullcontext,
        line=lambda words: CommandLine(argv=["x", *words], env={}),
    )
    one.settings.name = "default"
    one.machine.hostname = "h"
    one.machine.provenance.cuda_driver_api = None
    return explain(one, sizes, [], lambda _: None, ask=False)


def test_launches_with_and_without_the_microscope_take_turns(
    by_hand: Any, monkeypatch: Any
) -> None:
    launches = Launches(plain=[2.0, 1.0, 4.0], seen=[6.0, 3.0, 4.0])
    [case] = explained(by_hand, monkeypatch, launches, [8]).cases
    assert launches.began == ["plain", "seen"] * 3
    assert (case.plain_values, case.seen_values) == ([2, 1, 4], [3, 4, 6])
    assert (case.value, case.seen_value, case.slower) == (2, 4, 2)
    assert (case.slower_least, case.slower_most) == (0.75, 6)
    assert case.cache_line_ns == [60, 60, 60, 300, 300, 300]


def test_a_size_at_which_the_library_fails_leaves_the_others(
    by_hand: Any, monkeypatch: Any
) -> None:
    found = explained(by_hand, monkeypatch, Launches([1.0], [1.0], ("64",)), [8, 64, 16])
    assert [case.size_bytes for case in found.cases] == [8, 16]
    assert [(size.size_bytes, size.why) for size in found.failed] == [(64, "plain at 64")]
    with pytest.raises(LaunchFailed, match="plain at 8"):
        explained(by_hand, monkeypatch, Launches([1.0], [1.0], ("8", "64")), [8, 64])


def test_a_launch_that_fails_under_the_microscope_is_told(by_hand: Any, monkeypatch: Any) -> None:
    launches = Launches([1.0], [1.0], ("seen",))
    [case] = explained(by_hand, monkeypatch, launches, [8]).cases
    assert launches.began == ["plain", "seen", "plain", "plain"]
    assert (case.failed, case.value, case.budgets) == ("seen at 8", 1, [])
    assert (case.seen_values, case.slower_most) == ([], None)
