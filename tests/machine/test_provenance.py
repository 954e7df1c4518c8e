# SPDX-License-Identifier: Apache-2.0
"""Firmware, drivers and settings of a machine."""

from collections.abc import Callable
from pathlib import Path

from nearpeak.machine.discover import discover
from nearpeak.machine.machine import SCHEMA, Provenance
from nearpeak.machine.provenance import labelled_facts
from nearpeak.machine.recording import record
from nearpeak.machine.sysfs import from_sysfs

MORE = {
    "sys/class/dmi/id/sys_vendor": "Acme",
    "sys/class/dmi/id/product_name": "Node 5",
    "sys/class/dmi/id/bios_vendor": "Acme",
    "sys/class/dmi/id/bios_version": "2.4",
    "sys/class/dmi/id/bios_date": "01/02/2026",
    "sys/devices/system/cpu/cpu0/microcode/version": "0x2b",
    "sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "performance",
    "sys/class/infiniband/mlx5_0/fw_ver": "28.39.1002",
    "sys/module/amdgpu/version": "6.12",
    "nvidia/driver": "580.1",
    "nvidia/cuda": "13.0",
}


def test_what_the_kernel_and_drivers_tell(
    recorded: Callable[[str], Path], put: Callable[[Path, str, str], None], tmp_path: Path
) -> None:
    root = recorded("one-socket")
    for path, text in MORE.items():
        put(root, path, text)
    machine = discover(root)
    assert machine.schema == SCHEMA
    assert machine.provenance == Provenance(
        product="Acme Node 5",
        bios="Acme 2.4 01/02/2026",
        microcode="0x2b",
        governor="performance, powersave",
        nvidia_driver="580.1",
        cuda_driver_api="13.0",
        amdgpu_driver="6.12",
        adapter_firmware={"mlx5_0": "28.39.1002"},
    )
    assert list(labelled_facts(machine.provenance))[-1] == ("Firmware of mlx5_0", "28.39.1002")
    copy = tmp_path / "copy.txt"
    copy.write_text(record(from_sysfs(root), root), encoding="utf-8")
    assert discover(copy).provenance == machine.provenance


def test_what_nobody_tells_is_left_out(tmp_path: Path, recorded: Callable[[str], Path]) -> None:
    text = recorded("one-gpu").read_text(encoding="utf-8")
    bare = tmp_path / "bare.txt"
    bare.write_text(
        "\n".join(
            line
            for line in text.splitlines()
            if not any(word in line for word in ("dmi", "cpufreq", "nvidia/", "microcode"))
        ),
        encoding="utf-8",
    )
    provenance = discover(bare).provenance
    assert provenance == Provenance()
    assert list(labelled_facts(provenance)) == []
