# SPDX-License-Identifier: Apache-2.0
"""NVLink fabrics between hosts: what NVML says of them, and what follows for a machine."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from nearpeak.machine.gpus.fabric import CHANNELS, clique_of, fabric_fact, without_cluster
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.recording import record
from nearpeak.machine.sysfs import from_sysfs

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]
CLUSTER = "9c6f5af3-53bf-49b5-a436-b66766c413c3"
CLIQUE = f"clique 4026 of {CLUSTER}"


def fact(state: int, cluster: str = CLUSTER, status: int = 0, refused: bool = False) -> str:
    """The fact of a GPU whose NVML fills in the structure so."""

    class Info(SimpleNamespace):
        """Stands for c_nvmlGpuFabricInfo_t."""

    def ask(call: str, device: Any, info: Info) -> int | None:
        assert (call, device) == ("nvmlDeviceGetGpuFabricInfo", 7)
        info.state, info.status, info.cliqueId = state, status, 4026
        info.clusterUuid = UUID(cluster).bytes
        return None if refused else 0

    return fabric_fact(SimpleNamespace(c_nvmlGpuFabricInfo_t=Info), ask, 7)


def test_the_states_of_a_fabric() -> None:
    assert fact(3) == CLIQUE
    assert fact(0) == ""
    assert fact(1) == "not started"
    assert fact(2) == "in progress"
    assert fact(3, status=17) == "error 17"
    assert fact(3, refused=True) == ""
    # An H100 behind the switches of its host says so, too.
    assert fact(3, str(UUID(int=0))) == ""
    assert fabric_fact(SimpleNamespace(), lambda: None, 7) == ""  # an older binding


def test_only_a_completed_fabric_has_a_clique() -> None:
    assert clique_of(CLIQUE) == CLIQUE
    assert [clique_of(text) for text in ("", "in progress", "error 17")] == [None] * 3
    assert without_cluster(CLIQUE) == f"clique 4026 of {UUID(int=0)}"


@pytest.fixture
def root(recorded: Recorded, put: Put) -> Path:
    """Eight H100 of a clique, which such machines never are: the rest is of use."""
    file = recorded("dgx-h100")
    for number in range(8):
        put(file, f"nvidia/gpu{number}/fabric", CLIQUE)
    return file


def test_a_clique_is_a_fact_of_a_gpu(root: Path, put: Put) -> None:
    put(root, f"{CHANNELS}/channel0", "")
    machine = from_sysfs(root)
    assert {gpu.fabric for gpu in machine.gpus} == {CLIQUE}
    assert machine.gpu_notes == []
    text = record(machine, root)
    assert CLUSTER not in text
    assert f"{CHANNELS}/channel0:" in text


def test_a_rate_of_adapters_bounds_no_path_that_nvlink_may_carry(root: Path) -> None:
    paths, _ = discover_paths(from_sysfs(root), ["recorded", "b"])
    by_id = {path.id: path for path in paths}
    path = by_id["gpu-gpu two-nodes"]
    assert path.theoretical_gbs is None
    assert f"over NVLink if both are in its {CLIQUE}" in path.summary
    assert path.adapter == "mlx5_0:1"
    assert by_id["host-host two-nodes"].theoretical_gbs == 50.0


def test_why_a_fabric_cannot_be_used(root: Path, put: Put) -> None:
    put(root, "nvidia/gpu3/fabric", "in progress")
    first, second = from_sysfs(root).gpu_notes
    assert first.startswith("NVIDIA GPUs 0-2,4-7 are in an NVLink fabric with other hosts, but")
    assert "without an IMEX channel" in first
    assert second.startswith("NVIDIA GPU 3 is not in the NVLink fabric yet (in progress)")
