# SPDX-License-Identifier: Apache-2.0
"""NVLink fabrics between hosts: what NVML says of them, and what follows for a machine."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pynvml
import pytest

from nearpeak.machine.gpus.fabric import CHANNELS, clique_of, fabric_fact, without_cluster
from nearpeak.machine.gpus.nvml import NvmlClient
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.recording import record
from nearpeak.machine.sysfs import from_sysfs

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]
CLUSTER = "9c6f5af3-53bf-49b5-a436-b66766c413c3"
CLIQUE = f"clique 4026 of {CLUSTER}"


Fact = Callable[..., str]


@pytest.fixture
def fact(monkeypatch: pytest.MonkeyPatch) -> Fact:
    """Fills in NVML's structure through the real binding, and returns the fact of the GPU."""
    info_type = pynvml.c_nvmlGpuFabricInfo_t
    # An address, as NVML takes one: ctypes would make it of the structure for POINTER(info_type).
    library_call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def fact_of(state: int, cluster: str = CLUSTER, status: int = 0, refused: bool = False) -> str:
        def answer(_: int, address: int) -> int:
            info = info_type.from_address(address)
            info.clusterUuid[:] = UUID(cluster).bytes
            info.status, info.cliqueId, info.state = status, 4026, state
            return int(pynvml.NVML_ERROR_NOT_SUPPORTED) if refused else 0

        calls = {"nvmlDeviceGetGpuFabricInfo": library_call(answer)}
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer", calls.__getitem__)
        return fabric_fact(pynvml, NvmlClient(pynvml), 7)

    return fact_of


def test_the_states_of_a_fabric(fact: Fact) -> None:
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
    assert "NVreg_CreateImexChannel0=1" in first
    assert second.startswith("NVIDIA GPU 3 is not in the NVLink fabric yet (in progress)")
