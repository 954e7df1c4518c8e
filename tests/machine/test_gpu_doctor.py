# SPDX-License-Identifier: Apache-2.0
"""What spoils a measurement on GPUs, on recorded machines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine import kernel_log
from nearpeak.machine.discover import discover
from nearpeak.machine.doctor import examine
from nearpeak.machine.gpu_doctor import gpu_checks
from nearpeak.machine.gpus import pointer_queries
from nearpeak.machine.gpus.amd import KFD
from nearpeak.machine.patient import Patient
from nearpeak.machine.tree import RecordedTree, read_tree

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]
IDS = ("gpus", "gpu-memory", "gpu-clocks", "gpu-persistence", "mps", "gpu-peer", "gpu-links")


def found(root: Path) -> list[tuple[str, str, str]]:
    """Severity, id and message of every finding about GPUs."""
    return [
        (finding.severity, finding.id, finding.message)
        for finding in examine(root, 2, [])
        if finding.id in (*IDS, "iommu")
    ]


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("dgx-h100", "8 x NVIDIA H100 80GB HBM3"),
        ("power9-ac922", "6 x Tesla V100-SXM2-16GB"),
        ("mi250x-node", "8 x AMD Instinct MI250X"),
        ("pcie-only", "4 x Tesla V100-PCIE-32GB"),
    ],
)
def test_healthy_gpus_take_one_line(recorded: Recorded, name: str, gpus: str) -> None:
    assert found(recorded(name)) == [("ok", "gpus", f"{gpus}, healthy as far as their driver says")]


def test_nothing_is_said_without_gpus(recorded: Recorded) -> None:
    assert found(recorded("epyc-nps4")) == []


@pytest.mark.parametrize(
    ("path", "text", "severity", "name", "words"),
    [
        ("gpu3/repair", "pending", "warn", "gpu-memory", "GPU 3: memory errors"),
        ("gpu3/repair", "failed", "bad", "gpu-memory", "could not be repaired"),
        ("gpu4/ecc_uncorrected", "3", "warn", "gpu-memory", "GPU 4: 3 uncorrected memory errors"),
        ("gpu5/slowed", "power cap", "warn", "gpu-clocks", "GPU 5 runs slower than it can: power"),
        ("gpu0/persistence", "off", "warn", "gpu-persistence", "GPU 0: persistence mode is off"),
        ("mps/daemon", "other", "warn", "mps", "daemon of another user is already running"),
        ("mps/daemon", "root", "warn", "mps", "already running"),
        ("mps/daemon", "own", "warn", "mps", "already running"),
        ("gpu0/to1/peer", "not supported", "bad", "gpu-peer", "GPUs 0-1 are joined by nvlink"),
        ("gpu2/mig", "on", "warn", "gpus", "NVIDIA GPU 2 is in MIG mode"),
    ],
)
def test_each_ill(
    recorded: Recorded, put: Put, path: str, text: str, severity: str, name: str, words: str
) -> None:
    root = recorded("dgx-a100")
    put(root, f"nvidia/{path}", text)
    ill = [finding for finding in found(root) if finding[0] != "ok"]
    assert [finding[:2] for finding in ill] == [(severity, name)]
    assert words in ill[0][2]


def test_no_peer_access_below_a_switch(recorded: Recorded, put: Put) -> None:
    root = recorded("pcie-only")
    put(root, "nvidia/gpu2/to3/peer", "not supported")
    ((severity, name, message),) = found(root)
    assert (severity, name) == ("warn", "gpu-peer")
    assert message.startswith("GPUs 2-3 are joined by pcie-switch")


@pytest.mark.parametrize(
    ("kind", "ids"), [("identity", ["gpus"]), ("DMA", ["iommu"]), ("DMA-FQ", ["iommu"])]
)
def test_a_translating_iommu(recorded: Recorded, put: Put, kind: str, ids: list[str]) -> None:
    root = recorded("pcie-only")
    put(root, "sys/bus/pci/devices/0000:3d:00.0/iommu_group/type", kind)
    assert [name for _, name, _ in found(root)] == ids
    put(root, "sys/class/dmi/id/product_name", "KVM")  # a guest cannot do anything about it
    assert [name for _, name, _ in found(root)] == ["gpus"]


def test_a_driver_that_does_not_answer(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    put(root, "nvidia/error", "Driver Not Loaded")
    ((severity, name, message),) = found(root)
    assert (severity, name) == ("warn", "gpus")
    assert "Driver Not Loaded" in message


def test_a_hidden_gpu_of_amd(recorded: Recorded, put: Put) -> None:
    root = recorded("mi250x-node")
    put(root, f"{KFD}/4/properties", "")
    assert [finding[:2] for finding in found(root)] == [("warn", "gpus"), ("ok", "gpus")]


@pytest.mark.parametrize(
    ("excess_us", "words"),
    [
        (0.89, "takes 0.890 us longer to say that an address is in host memory"),
        (0.1, ""),
        (None, "did not say within 20 s whose memory an address is"),
    ],
)
def test_a_driver_with_a_dear_question_is_told(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, excess_us: float | None, words: str
) -> None:
    tree = read_tree(recorded("dgx-h100"))
    machine = discover(recorded("dgx-h100"))
    monkeypatch.setattr(RecordedTree, "live", True)
    monkeypatch.setattr(pointer_queries, "excess_us", lambda: excess_us)
    patient = Patient(
        tree=tree, nvidia=tree, machine=machine, ranks=2, settings_files=[], environment={}
    )
    told = [each.message for each in gpu_checks(patient) if each.id == "pointer-query"]
    assert [words in message for message in told] == ([True] if words else [])


@pytest.mark.parametrize(
    ("messages", "findings"),
    [
        ("NVRM: loading\n", []),
        (
            "NVRM: Xid (PCI:0000:61:00): 74, x\n" * 2 + "NVRM: Xid (PCI:0000:61:00): 79, x\n",
            ["GPU 3: since the machine started its driver wrote Xid 74 (2 times) and 79"],
        ),
        (
            "NVRM: Xid (PCI:0000:61:00): 154, x\nNVRM: Xid (PCI:0000:61:00): 63, x\n",
            ["GPU 3: since the machine started its driver wrote Xid 63 and 154, which may be over"],
        ),
        (
            "NVRM: Xid (PCI:0000:61:00): 94, x\nNVRM: Xid (PCI:0000:61:00): 79, x\n",
            [
                "GPU 3: since the machine started its driver wrote Xid 79",
                "GPU 3: since the machine started its driver wrote Xid 94, which may be over",
            ],
        ),
        (None, ["Xid errors are not known: this user may not read the kernel's messages"]),
    ],
)
def test_errors_in_the_messages_of_the_kernel(
    recorded: Recorded,
    monkeypatch: pytest.MonkeyPatch,
    messages: str | None,
    findings: list[str],
) -> None:
    tree = read_tree(recorded("dgx-h100"))
    machine = discover(recorded("dgx-h100"))
    monkeypatch.setattr(RecordedTree, "live", True)
    monkeypatch.setattr(pointer_queries, "excess_us", lambda: 0.0)
    monkeypatch.setattr(kernel_log, "kernel_messages", lambda: messages)
    patient = Patient(
        tree=tree, nvidia=tree, machine=machine, ranks=2, settings_files=[], environment={}
    )
    made = [*gpu_checks(patient)]
    assert [one.message for one in made if one.id == "gpu-xid"] == findings
    # What is not known is no fault, and does not hide that nothing else was found.
    faulty = any(one.severity != "ok" for one in made)
    assert faulty == (messages is not None and "Xid" in messages)
    assert ("gpus" in [one.id for one in made]) != faulty
