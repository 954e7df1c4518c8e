# SPDX-License-Identifier: Apache-2.0
"""Locked memory, and the modules by which adapters and the CPU reach the memory of GPUs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine.doctor import examine
from nearpeak.machine.machine import Diagnosis

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]


def found(root: Path) -> dict[str, Diagnosis]:
    return {finding.id: finding for finding in examine(root, settings_files=[])}


def limit(soft: str, hard: str) -> str:
    return f"Max processes  100  100  processes\nMax locked memory  {soft}  {hard}  bytes"


@pytest.mark.parametrize(
    ("soft", "hard", "severity", "words"),
    [
        ("65536", "65536", "bad", "may lock 64 KiB"),
        ("8388608", "unlimited", "bad", "may lock 8 MiB"),
        ("67108864", "67108864", "bad", "may lock 64 MiB"),
        ("1073741824", "1073741824", "warn", "may lock 1024 MiB"),
        ("unlimited", "unlimited", "ok", "not limited"),
    ],
)
def test_locked_memory(
    recorded: Recorded, put: Put, soft: str, hard: str, severity: str, words: str
) -> None:
    root = recorded("two-sockets-smt")
    put(root, "proc/self/limits", limit(soft, hard))
    finding = found(root)["locked-memory"]
    assert finding.severity == severity
    assert words in finding.message
    if severity != "ok":
        assert "mlx5_0:1" in finding.message
        assert finding.hint.startswith("`ulimit -l") == (hard == "unlimited")
        assert "slurmd" in finding.hint or hard == "unlimited"


def test_where_locked_memory_does_not_matter(recorded: Recorded, put: Put) -> None:
    root = recorded("two-sockets-smt")
    assert "locked-memory" not in found(root)  # nobody knows the limit
    put(root, "proc/self/limits", limit("65536", "65536"))
    put(root, "proc/self/status", f"CapEff: {1 << 14:016x}")
    assert found(root)["locked-memory"].severity == "ok"
    other = recorded("one-socket")  # without an adapter
    put(other, "proc/self/limits", limit("65536", "65536"))
    assert "locked-memory" not in found(other)


@pytest.mark.parametrize(
    ("files", "severity", "words"),
    [
        ({"nvidia_peermem": "live"}, "ok", "nvidia_peermem is loaded"),
        ({"nv_peer_mem": "live"}, "ok", "nv_peer_mem is loaded"),
        ({"ib_core": "live"}, "warn", "through host memory"),
    ],
)
def test_gpudirect(
    recorded: Recorded, put: Put, files: dict[str, str], severity: str, words: str
) -> None:
    root = recorded("dgx-h100")
    for name in ("nvidia", *files):
        put(root, f"sys/module/{name}/initstate", "live")
    finding = found(root)["gpudirect-rdma"]
    assert finding.severity == severity
    assert words in finding.message
    assert ("modprobe nvidia-peermem" in finding.hint) == (severity == "warn")


def test_the_open_driver_has_dma_buf(recorded: Recorded, put: Put) -> None:
    root = recorded("dgx-h100")
    put(root, "sys/module/nvidia/initstate", "live")
    put(root, "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module 580.1")
    assert "only libraries that use dma-buf" in found(root)["gpudirect-rdma"].message


@pytest.mark.parametrize(("module", "severity"), [("gdrdrv", "ok"), ("other", "warn")])
def test_gdrcopy(recorded: Recorded, put: Put, module: str, severity: str) -> None:
    root = recorded("h200x2")
    for name in ("nvidia", module):
        put(root, f"sys/module/{name}/initstate", "live")
    assert found(root)["gdrcopy"].severity == severity


@pytest.mark.parametrize("name", ["dgx-h100", "mi250x-node", "two-sockets-smt", "one-socket"])
def test_nothing_is_said_of_modules_where_nobody_knows_them(recorded: Recorded, name: str) -> None:
    assert not {"gpudirect-rdma", "gdrcopy"} & found(recorded(name)).keys()
