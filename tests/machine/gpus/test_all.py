# SPDX-License-Identifier: Apache-2.0
"""GPUs of several vendors in one machine."""

from collections.abc import Callable
from pathlib import Path

from nearpeak.machine.gpus.amd import KFD
from nearpeak.machine.sysfs import from_sysfs


def test_the_second_vendor_is_left_out_and_told(
    recorded: Callable[[str], Path], put: Callable[[Path, str, str], None]
) -> None:
    root = recorded("one-gpu")
    put(root, f"{KFD}/1/properties", "simd_count 8\nvendor_id 4098\ndevice_id 29711")
    machine = from_sysfs(root)
    assert [gpu.vendor for gpu in machine.gpus] == ["nvidia"]
    assert "1 GPUs (AMD Instinct MI210) are left out" in machine.gpu_notes[0]
    assert machine.mps


def test_a_machine_without_gpus_says_nothing(recorded: Callable[[str], Path]) -> None:
    machine = from_sysfs(recorded("epyc-nps4"))
    assert (machine.gpus, machine.gpu_links, machine.gpu_notes) == ([], [], [])
