# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's GPUs on recorded machines, and on this one with a fake of NVIDIA's library."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.machine.gpus import nvidia
from nearpeak.machine.gpus.nvidia import nvidia_facts
from nearpeak.machine.gpus.nvml import ask
from nearpeak.machine.machine import Gpu, GpuLink, Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.recording import record
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.machine.tree import Tree

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]
HERE = Tree(Path("/"))


def link(machine: Machine, one: int, other: int) -> tuple[str, float | None, str | None]:
    found = next(link for link in machine.gpu_links if (link.one, link.other) == (one, other))
    return found.kind, found.gbs, found.peer


@pytest.fixture
def driver(nvml: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Makes this machine one with the fake library, and with no MPS."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(nvidia.nvml, "library_present", lambda: True)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return nvml


def test_two_h200(recorded: Recorded, put: Put, nvml: Any) -> None:
    root = recorded("one-socket")
    for path, text in ask(nvml, {}).items():
        put(root, path, text)
    machine = from_sysfs(root)
    assert machine.gpus[0] == Gpu(
        index=0,
        vendor="nvidia",
        name="NVIDIA H200",
        uuid="GPU-00000001-5ec2-e700-0000-abcdefabcdef",
        pci="0000:00:06.0",
        numa_node=0,  # there is but one
        memory_bytes=150754820096,
        memory_gbs=pytest.approx(4814.304),
        host_link="pcie",
        host_gbs=pytest.approx(57.614, abs=0.001),
        links_gbs=[pytest.approx(57.614, abs=0.001)],
    )
    assert machine.gpu_links == [
        GpuLink(one=0, other=1, kind="nvlink", gbs=18 * 25.0, switched=True)
    ]
    assert machine.gpu_notes == []
    assert not machine.mps


def test_dgx_a100(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("dgx-a100"))
    assert [gpu.numa_node for gpu in machine.gpus] == [3, 3, 1, 1, 7, 7, 5, 5]
    assert [gpu.memory_gbs for gpu in machine.gpus] == [pytest.approx(1555.2)] * 8
    assert len(machine.gpu_links) == 28
    assert {(each.kind, each.gbs, each.peer) for each in machine.gpu_links} == {
        ("nvlink", 300.0, None)
    }


def test_dgx_h100(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("dgx-h100"))
    for gpu in machine.gpus:
        assert gpu.memory_gbs == pytest.approx(3352.32)
        assert gpu.host_gbs == pytest.approx(57.614, abs=0.001)
    for each in machine.gpu_links:
        assert (each.kind, each.gbs, each.switched) == ("nvlink", 450.0, True)


def test_summit_has_nvlink_to_the_cpu_and_within_a_socket(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("power9-ac922"))
    assert {(gpu.host_link, gpu.host_gbs) for gpu in machine.gpus} == {("nvlink", 50.0)}
    assert [gpu.numa_node for gpu in machine.gpus] == [0, 0, 0, 8, 8, 8]
    assert link(machine, 0, 2) == ("nvlink", 50.0, None)
    assert link(machine, 3, 4) == ("nvlink", 50.0, None)
    assert link(machine, 0, 3) == ("cross-socket", None, "the chipset does not support it")


def test_grace_hopper(recorded: Recorded) -> None:
    (gpu,) = from_sysfs(recorded("grace-hopper")).gpus
    assert (gpu.host_link, gpu.host_gbs, gpu.numa_node) == ("nvlink-c2c", 447.12, 0)


def test_pcie_only(recorded: Recorded) -> None:
    machine = from_sysfs(recorded("pcie-only"))
    switch = pytest.approx(14.404, abs=0.001)
    assert link(machine, 0, 1) == ("pcie-switch", switch, None)
    assert link(machine, 2, 3) == ("pcie-switch", switch, None)
    assert link(machine, 1, 2) == ("cross-socket", None, "the chipset does not support it")


def test_the_board_limits_one_gpu(recorded: Recorded) -> None:
    (gpu,) = from_sysfs(recorded("one-gpu")).gpus
    assert gpu.host_gbs == pytest.approx(14.404, abs=0.001)  # PCIe 3, though the GPU has 4


@pytest.mark.parametrize(
    ("ancestor", "kind"),
    [
        ("internal", "pcie-switch"),
        ("single-switch", "pcie-switch"),
        ("multiple-switches", "pcie-switch"),
        ("host-bridge", "host-bridge"),
        ("node", "host-bridge"),
        ("system", "cross-socket"),
        ("", "pcie-switch"),  # not said, but both are below one bridge
    ],
)
def test_the_common_ancestor_makes_the_kind(
    recorded: Recorded, put: Put, ancestor: str, kind: str
) -> None:
    root = recorded("pcie-only")
    put(root, "nvidia/gpu0/to1/ancestor", ancestor)
    assert link(from_sysfs(root), 0, 1)[0] == kind


def test_nvlink_of_unknown_ends(recorded: Recorded, put: Put) -> None:
    root = recorded("pcie-only")
    for gpu in (0, 1):
        put(root, f"nvidia/gpu{gpu}/nvlink0", "25781 MB/s to unknown")
    assert link(from_sysfs(root), 0, 1)[0] == "pcie-switch"
    put(root, "nvidia/gpu0/to1/nvlink", "ok")
    assert link(from_sysfs(root), 0, 1) == ("nvlink", None, None)


def test_a_lane_of_unknown_rate(recorded: Recorded, put: Put) -> None:
    root = recorded("dgx-a100")
    put(root, "nvidia/gpu1/nvlink3", "unknown MB/s to switch")
    machine = from_sysfs(root)
    assert link(machine, 0, 1)[:2] == ("nvlink", None)
    assert link(machine, 0, 2)[:2] == ("nvlink", 300.0)


def test_the_gpu_with_fewer_lanes_counts(recorded: Recorded, put: Put) -> None:
    root = recorded("dgx-a100")
    put(root, "nvidia/gpu1/nvlink3", "")
    assert link(from_sysfs(root), 0, 1)[:2] == ("nvlink", 275.0)


def test_what_cannot_be_used_is_said(recorded: Recorded, put: Put) -> None:
    root = recorded("dgx-a100")
    put(root, "nvidia/gpu1/mig", "on")
    put(root, "nvidia/gpu2/error", "GPU is lost")
    put(root, "nvidia/visible", "0-2,5")
    machine = from_sysfs(root)
    assert [gpu.index for gpu in machine.gpus] == [0, 5]
    assert [gpu.ordinal for gpu in machine.gpus] == [0, 3]
    assert [(each.one, each.other) for each in machine.gpu_links] == [(0, 5)]
    hidden, mig, lost = machine.gpu_notes
    assert hidden == "NVIDIA GPUs 3-4,6-7 are hidden by CUDA_VISIBLE_DEVICES: change it"
    assert "nvidia-smi -i 1 -mig 0" in mig
    assert lost.startswith("NVIDIA GPU 2 cannot be used (GPU is lost)")


@pytest.fixture
def parted(recorded: Recorded, put: Put) -> Path:
    """Eight A100, of which two are in MIG mode, with three and one instances."""
    root = recorded("dgx-a100")
    for gpu, number, profile in (
        (2, 0, "3g.20gb"),
        (2, 1, "1g.5gb"),
        (2, 4, "1g.5gb"),
        (5, 0, "7g.40gb"),
    ):
        put(root, f"nvidia/gpu{gpu}/mig", "on")
        folder = f"nvidia/gpu{gpu}/mig{number}"
        put(root, f"{folder}/uuid", f"MIG-{gpu}-{number}")
        put(root, f"{folder}/name", f"NVIDIA A100-SXM4-40GB MIG {profile}")
        put(root, f"{folder}/memory_bytes", "5100273664")
    return root


def test_cuda_shows_one_mig_instance_alone(parted: Path) -> None:
    machine = from_sysfs(parted)
    (gpu,) = machine.gpus
    assert (gpu.index, gpu.ordinal, gpu.uuid) == (2, 0, "MIG-2-0")
    assert gpu.name == "NVIDIA A100-SXM4-40GB MIG 3g.20gb"
    assert (gpu.memory_bytes, gpu.memory_gbs, machine.gpu_links) == (5100273664, None, [])
    more, beside = machine.gpu_notes
    assert more.startswith("NVIDIA GPU 2 has 2 more MIG instances (1g.5gb, 1g.5gb): CUDA shows")
    assert "messages between instances are not measured" in more
    assert beside.startswith("NVIDIA GPUs 0-1,3-7 are not shown by CUDA together with a MIG")
    path = next(path for path in discover_paths(machine)[0] if path.id == "host-gpu near")
    assert "MIG 3g.20gb" in path.summary


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        ("2/mig4", ["MIG-2-4"]),
        ("5,2", ["MIG-5-0"]),  # the first in the order of the variable
        (
            "0-1",
            [
                "GPU-00000000-0000-0000-0000-000000000000",
                "GPU-00000000-0000-0000-0000-000000000001",
            ],
        ),
        ("", []),
    ],
)
def test_the_instance_that_the_variable_names(
    parted: Path, put: Put, visible: str, uuids: list[str]
) -> None:
    put(parted, "nvidia/visible", visible)
    assert [gpu.uuid for gpu in from_sysfs(parted).gpus] == uuids


def test_a_recording_has_the_instances(parted: Path, tmp_path: Path) -> None:
    machine = from_sysfs(parted)
    again = tmp_path / "again.txt"
    again.write_text(record(machine, parted), encoding="utf-8")
    (gpu,) = from_sysfs(again).gpus
    assert gpu == msgspec.structs.replace(
        machine.gpus[0], uuid="MIG-00000000-0000-0000-0000-000000000002"
    )


def test_a_rank_numbers_gpus_in_the_order_in_which_they_are_named(
    recorded: Recorded, put: Put
) -> None:
    root = recorded("dgx-a100")
    assert {gpu.ordinal for gpu in from_sysfs(root).gpus} == {None}
    put(root, "nvidia/visible", "6,2")
    assert [(gpu.index, gpu.ordinal) for gpu in from_sysfs(root).gpus] == [(2, 1), (6, 0)]


def test_gpus_that_only_the_driver_lists(recorded: Recorded, put: Put) -> None:
    root = recorded("one-gpu")
    put(root, "proc/driver/nvidia/gpus/0000:01:00.0/numa_status", "")
    assert from_sysfs(root).gpu_notes == []
    put(root, "proc/driver/nvidia/gpus/0000:02:00.0/numa_status", "")
    assert from_sysfs(root).gpu_notes == [
        "1 more of NVIDIA's GPUs are in this machine, but hidden by a control group or container"
    ]


def test_a_driver_that_does_not_answer(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    put(root, "nvidia/error", "Driver/library version mismatch")
    machine = from_sysfs(root)
    assert machine.gpus == []
    (note,) = machine.gpu_notes
    assert "does not answer (Driver/library version mismatch)" in note


def test_without_a_driver_nothing_is_asked_or_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "DRIVER", "proc/driver/none")
    monkeypatch.setattr(nvidia.nvml, "library_present", lambda: False)
    monkeypatch.setitem(sys.modules, "pynvml", None)  # importing it fails
    assert nvidia_facts(HERE) == {}


def test_this_machine_with_a_driver(driver: Any, tmp_path: Path) -> None:
    facts = nvidia_facts(HERE)
    assert facts == ask(driver, {})
    control = tmp_path / "nvidia-cuda-mps-control"
    control.write_text("#!/bin/sh\n")
    control.chmod(0o755)
    assert nvidia_facts(HERE).keys() - facts.keys() == {"nvidia/mps/control"}
    machine = from_sysfs()
    assert [gpu.name for gpu in machine.gpus] == ["NVIDIA H200"] * 2
    assert machine.mps


@pytest.mark.usefixtures("driver")
def test_this_machine_hides_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-00000002")
    machine = from_sysfs()
    assert [gpu.index for gpu in machine.gpus] == [1]
    assert "NVIDIA GPU 0 is hidden by CUDA_VISIBLE_DEVICES: change it" in machine.gpu_notes


@pytest.mark.usefixtures("driver")
def test_a_recording_of_this_machine_has_its_gpus_and_no_uuids(tmp_path: Path) -> None:
    machine = from_sysfs()
    assert "5ec2" in machine.gpus[0].uuid
    text = record(machine)
    assert "5ec2" not in text
    copy = tmp_path / "copy.txt"
    copy.write_text(text, encoding="utf-8")
    again = from_sysfs(copy)
    assert [gpu.name for gpu in again.gpus] == ["NVIDIA H200"] * 2
    assert again.gpu_links == machine.gpu_links


@pytest.mark.usefixtures("driver")
def test_whose_mps_daemon_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nvidia/mps/daemon" not in nvidia_facts(HERE)
    (tmp_path / "control").write_text("")
    owner = (tmp_path / "control").stat().st_uid
    assert nvidia_facts(HERE)["nvidia/mps/daemon"] == "own"
    monkeypatch.setattr(nvidia.os, "getuid", lambda: owner + 1)
    assert nvidia_facts(HERE)["nvidia/mps/daemon"] == ("root" if owner == 0 else "other")
