# SPDX-License-Identifier: Apache-2.0
"""What CPUs and GPUs do at one moment; null where nobody tells."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.machine.gpus.watch import GpuState
from nearpeak.machine.states import MOST_CPUS, CpuState, State, StateReader, slowdown_reasons

CPUS = "sys/devices/system/cpu"


def test_clocks_throttling_and_stolen_time(
    recorded: Callable[[str], Path], put: Callable[[Path, str, str], None]
) -> None:
    machine = recorded("one-socket")
    put(machine, f"{CPUS}/cpu1/cpufreq/scaling_cur_freq", "3400123")
    put(machine, f"{CPUS}/cpu1/cpufreq/scaling_governor", "powersave")
    put(machine, f"{CPUS}/cpu1/thermal_throttle/core_throttle_count", "7")
    put(machine, f"{CPUS}/cpu1/thermal_throttle/package_throttle_count", "9")
    put(machine, "proc/stat", "cpu 1 1 1 1 1 1 1 999 0 0\ncpu1 1 1 1 1 1 1 1 250 0 0\nintr 5\n")
    put(machine, "proc/loadavg", "1.25 0.70 0.50 2/345 6789")
    assert StateReader(machine).read([1], []) == State(
        cpus=[
            CpuState(
                cpu=1,
                khz=3400123,
                governor="powersave",
                core_throttles=7,
                package_throttles=9,
                stolen_seconds=250 / os.sysconf("SC_CLK_TCK"),
            )
        ],
        load=1.25,
    )


def test_what_nobody_tells_is_null(tmp_path: Path) -> None:
    bare = tmp_path / "bare.txt"
    bare.write_text("")
    reader = StateReader(bare, lambda: None)
    assert reader.read([0], ["GPU-1"]) == State(
        cpus=[CpuState(cpu=0)], load=None, gpus=[GpuState(gpu="GPU-1")]
    )
    reader.close()


def test_of_many_cpus_the_first_are_read(any_machine: Path) -> None:
    state = StateReader(any_machine).read(range(1000), [])
    assert [cpu.cpu for cpu in state.cpus] == list(range(MOST_CPUS))


def test_the_driver_is_opened_once_and_let_go(tmp_path: Path, nvml: Any) -> None:
    bare = tmp_path / "bare.txt"
    bare.write_text("")
    opened = []

    def find() -> Any:
        opened.append(True)
        return nvml

    reader = StateReader(bare, find)
    reader.read([], [])
    assert not opened
    for _ in range(2):
        (gpu,) = reader.read([], ["1"]).gpus
        assert gpu.sm_mhz == 1980
    assert len(opened) == 1
    reader.close()
    assert not nvml.open


def _of(cpus: list[CpuState] | None = None, gpu: GpuState | None = None) -> State:
    return State(cpus=cpus or [], gpus=[gpu] if gpu else [])


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (_of(), _of(), []),
        (_of([CpuState(cpu=1)]), _of([CpuState(cpu=1, core_throttles=7)]), []),
        (
            _of([CpuState(cpu=1, core_throttles=7, package_throttles=3)]),
            _of([CpuState(cpu=1, core_throttles=7, package_throttles=4)]),
            ["package too hot"],
        ),
        (
            _of([CpuState(cpu=1, core_throttles=7)]),
            _of([CpuState(cpu=1, core_throttles=8)]),
            ["core too hot"],
        ),
        # Of two CPUs in 2 s, 5 % is 0.2 s.
        (
            _of([CpuState(cpu=c, stolen_seconds=10.0) for c in (0, 1)]),
            _of([CpuState(cpu=0, stolen_seconds=10.0), CpuState(cpu=1, stolen_seconds=10.19)]),
            [],
        ),
        (
            _of([CpuState(cpu=c, stolen_seconds=10.0) for c in (0, 1)]),
            _of([CpuState(cpu=0, stolen_seconds=10.0), CpuState(cpu=1, stolen_seconds=10.21)]),
            ["CPU time stolen"],
        ),
        (
            _of(gpu=GpuState(gpu="a", slowed=["idle"])),
            _of(gpu=GpuState(gpu="a", slowed=["application clocks", "power cap"])),
            ["GPU power cap"],
        ),
        (
            _of(gpu=GpuState(gpu="a", errors={"nvlink crc": 1})),
            _of(gpu=GpuState(gpu="a", errors={"nvlink crc": 2, "ecc corrected": 9})),
            ["GPU nvlink crc"],
        ),
    ],
)
def test_what_held_a_launch_down(before: State, after: State, words: list[str]) -> None:
    assert slowdown_reasons(before, after, 2.0) == words


def test_an_nvlink_that_repeats_itself_during_a_launch(nvml: Any, tmp_path: Path) -> None:
    gpu = "GPU-00000002-5ec2-e700-0000-abcdefabcdef"
    nvml.fields[161, 7] = 1_000_000  # of its past
    reader = StateReader(tmp_path, lambda: nvml)
    before = reader.read([], [gpu])
    assert slowdown_reasons(before, reader.read([], [gpu]), 1.0) == []
    nvml.fields[161, 7] += 1
    assert slowdown_reasons(before, reader.read([], [gpu]), 1.0) == ["GPU nvlink replay"]
    reader.close()
