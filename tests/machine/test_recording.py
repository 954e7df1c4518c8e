# SPDX-License-Identifier: Apache-2.0
"""Recording a machine, and reading it again."""

import re
from collections.abc import Callable
from pathlib import Path

from nearpeak.machine.doctor import examine
from nearpeak.machine.gpus.amd import KFD
from nearpeak.machine.recording import record
from nearpeak.machine.sysfs import from_sysfs

MACHINES = Path(__file__).parent.parent / "machines"


def again(text: str, folder: Path) -> Path:
    file = folder / "again.txt"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_recording_of_a_recording_is_the_same(any_machine: Path, tmp_path: Path) -> None:
    machine = from_sysfs(any_machine)
    copy = again(record(machine, any_machine), tmp_path)
    assert from_sysfs(copy) == machine
    assert examine(copy, settings_files=[]) == examine(any_machine, settings_files=[])


def test_every_file_says_where_it_is_from() -> None:
    for file in MACHINES.iterdir():
        first = file.read_text(encoding="utf-8").partition("\n")[0]
        assert re.search(
            r"ecorded (by|with)|[Ww]ritten by hand|^# Made from facts of (a )?real machine", first
        ), file


def test_recording_this_machine_tells_no_secrets(tmp_path: Path) -> None:
    machine = from_sysfs()
    text = record(machine)
    assert not re.search(r"\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b", text)
    for nic in machine.nics:
        for address in nic.addresses:
            assert address not in text
    assert "serial" not in text.lower()
    copy = from_sysfs(again(text, tmp_path))
    assert copy.hostname == "recorded"
    assert copy.cores == machine.cores
    assert copy.caches == machine.caches
    assert [nic.numa_node for nic in copy.nics] == [nic.numa_node for nic in machine.nics]


def test_names_made_of_mac_addresses_are_changed(
    recorded: Callable[[str], Path], put: Callable[[Path, str, str], None], tmp_path: Path
) -> None:
    root = recorded("one-socket")
    text = root.read_text(encoding="utf-8").replace("enp3s0", "enx0123456789ab")
    root.write_text(text, encoding="utf-8")
    device = "sys/class/infiniband/rocex1070fd0300b5eb54"
    put(root, f"{device}/fw_ver", "28.39.1002")
    put(root, f"{device}/device/numa_node", "0")
    put(root, f"{device}/ports/1/link_layer", "Ethernet")
    put(root, f"{device}/ports/1/gid_attrs/ndevs/0", "enx0123456789ab")
    text = record(from_sysfs(root), root)
    assert "0123456789ab" not in text
    assert "b5eb54" not in text
    (verbs,) = [nic.verbs for nic in from_sysfs(again(text, tmp_path)).nics]
    assert re.fullmatch(r"rocex\d:1", verbs or "")


def test_limits_are_recorded_without_the_names_of_groups(
    recorded: Callable[[str], Path], put: Callable[[Path, str, str], None], tmp_path: Path
) -> None:
    root = recorded("one-socket")
    put(root, "proc/self/cgroup", "0::/user-alice/job-7")
    put(root, "sys/fs/cgroup/user-alice/job-7/cpu.max", "150000 100000")
    put(root, "sys/fs/cgroup/user-alice/job-7/memory.max", "1000000")
    text = record(from_sysfs(root), root)
    assert "alice" not in text
    copy = again(text, tmp_path)
    assert "1.5 CPUs" in next(f for f in examine(copy, 2, []) if f.id == "cpu-quota").message
    assert examine(copy, settings_files=[]) == examine(root, settings_files=[])


def test_uuids_of_gpus_are_made_up(
    recorded: Callable[[str], Path], put: Callable[[Path, str, str], None], tmp_path: Path
) -> None:
    for name, path, uuid in (
        ("pcie-only", "nvidia/gpu1/uuid", "GPU-5ec2e700-1234-5678-9abc-def012345678"),
        ("mi250x-node", f"{KFD}/5/properties", f"simd_count 440\nunique_id {0x5EC2E700}"),
    ):
        root = recorded(name)
        put(root, path, uuid)
        machine = from_sysfs(root)
        assert "5ec2e700" in machine.gpus[1].uuid
        text = record(machine, root)
        assert "5ec2e700" not in text
        assert str(0x5EC2E700) not in text
        copy = from_sysfs(again(text, tmp_path))
        assert len({gpu.uuid for gpu in copy.gpus}) == len(machine.gpus)


def test_equal_gpus_share_their_lines(recorded: Callable[[str], Path]) -> None:
    root = recorded("dgx-a100")
    lines = record(from_sysfs(root), root).splitlines()
    assert len([line for line in lines if line.startswith("nvidia/")]) < 50


def test_links_of_gpus_and_nics_are_recorded(
    recorded: Callable[[str], Path], put: Callable[[Path, str, str], None], tmp_path: Path
) -> None:
    root = recorded("pcie-only")
    devices = "sys/bus/pci/devices"
    nic = "0000:5e:00.0"
    put(root, f"sys/class/net/{from_sysfs(root).nics[0].name}/device", f"../../../{nic}")
    for device in ("0000:3d:00.0", nic):
        put(root, f"{devices}/{device}/max_link_width", "16")
        put(root, f"{devices}/{device}/current_link_width", "4")
    copy = again(record(from_sysfs(root), root), tmp_path)
    messages = [one.message for one in examine(copy, 2, []) if one.id == "pcie-link"]
    assert len(messages) == 2
    assert all(message.endswith("4 of 16 lanes") for message in messages)
