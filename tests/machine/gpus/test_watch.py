# SPDX-License-Identifier: Apache-2.0
"""The state of a GPU, and what becomes of each answer and refusal of NVML."""

from typing import Any

import pytest

from nearpeak.machine.gpus import watch as watch_module
from nearpeak.machine.gpus.watch import GpuState, GpuWatch

UUID = "GPU-00000002-5ec2-e700-0000-abcdefabcdef"
OTHER = "GPU-00000001-5ec2-e700-0000-abcdefabcdef"


def test_all_that_is_told(nvml: Any) -> None:
    nvml.fields |= {(38, 0): 3, (52, 0): 0, (59, 0): 1}
    nvml.answers["nvmlDeviceGetCurrentClocksEventReasons"] = 0x4 | 0x20 | 0x8000
    watch = GpuWatch(nvml)
    assert watch.read(UUID) == GpuState(
        gpu=UUID,
        sm_mhz=1980,
        memory_mhz=3201,
        temperature_c=34,
        power_w=75.25,
        slowed=["power cap", "too hot (software)"],
        errors={
            **{"ecc corrected": 0, "ecc uncorrected": 0},
            **{"nvlink crc": 3, "nvlink replay": 0, "nvlink recovery": 1},
        },
    )
    watch.close()
    assert not nvml.open


def test_errors_of_each_link_where_the_driver_has_no_totals(nvml: Any) -> None:
    nvml.fields |= {(161, 4): 2, (161, 17): 5, (163, 0): 1}
    watch = GpuWatch(nvml)
    counts = {"nvlink replay": 7, "nvlink recovery": 0, "nvlink crc": 1}
    assert watch.read(UUID).errors == {"ecc corrected": 0, "ecc uncorrected": 0} | counts
    nvml.fields[161, 4] = 3
    assert watch.read(UUID).errors["nvlink replay"] == 8


def test_a_launch_of_two_gpus_counts_errors_once_and_keeps_its_handles(nvml: Any) -> None:
    watch = GpuWatch(nvml)
    for _ in range(2):  # the first launch finds what the driver answers
        nvml.calls.clear()
        nvml.asked_fields = 0
        for recount in (False, True):
            for gpu in (OTHER, UUID):
                watch.read(gpu, recount=recount)
    assert (nvml.calls.total(), nvml.asked_fields) == (26, 2 * 3 * 18)
    assert nvml.calls["nvmlDeviceGetHandleByUUID"] == 0
    assert nvml.calls["nvmlDeviceGetFieldValues"] == 2  # one for each GPU


def test_a_mig_instance_has_the_state_of_its_gpu(nvml: Any) -> None:
    nvml.answers["nvmlDeviceGetHandleByUUID"] = lambda uuid: uuid
    nvml.answers["nvmlDeviceGetDeviceHandleFromMigDeviceHandle"] = lambda _: 1
    nvml.answers["nvmlDeviceGetTemperature"] = lambda gpu, _: 30 + gpu
    assert GpuWatch(nvml).read(f"MIG-{UUID[4:]}").temperature_c == 31


def test_errors_that_were_counted_just_now_are_kept(
    nvml: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(watch_module.time, "monotonic", lambda: now)
    watch = GpuWatch(nvml)
    watch.read(UUID)
    nvml.fields[161, 4] = 2
    assert watch.read(UUID, recount=False).errors["nvlink replay"] == 0
    assert watch.read(UUID).errors["nvlink replay"] == 2
    nvml.fields[161, 4] = 3
    now += 1.5
    assert watch.read(UUID, recount=False).errors["nvlink replay"] == 3


def test_a_gpu_of_another_host_is_named_by_its_index(nvml: Any) -> None:
    assert GpuWatch(nvml).read("0").sm_mhz == 1980


@pytest.mark.parametrize(
    ("call", "lost"),
    [
        ("nvmlDeviceGetClockInfo", {"sm_mhz": None, "memory_mhz": None}),
        ("nvmlDeviceGetTemperature", {"temperature_c": None}),
        ("nvmlDeviceGetPowerUsage", {"power_w": None}),
        (
            "nvmlDeviceGetTotalEccErrors",
            {"errors": {"nvlink crc": 0, "nvlink replay": 0, "nvlink recovery": 0}},
        ),
    ],
)
def test_a_refused_call_costs_its_figure_only(
    nvml: Any, call: str, lost: dict[str, object]
) -> None:
    watch = GpuWatch(nvml)
    whole = watch.read(UUID)
    nvml.refused[call] = "Not Supported"
    left = watch.read(UUID)
    changed = {
        name: getattr(left, name)
        for name in left.__struct_fields__
        if getattr(left, name) != getattr(whole, name)
    }
    assert changed == lost


def test_nothing_is_known_where_nobody_answers(nvml: Any) -> None:
    nothing = GpuState(gpu=UUID)
    nvml.refused["nvmlDeviceGetHandleByUUID"] = "Not Found"
    assert GpuWatch(nvml).read(UUID) == nothing
    nvml.refused["nvmlInit"] = "Driver Not Loaded"
    for watch in (GpuWatch(nvml), GpuWatch(None)):
        assert watch.read(UUID) == nothing
        watch.close()
