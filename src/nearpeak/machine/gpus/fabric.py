# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's NVLink fabric between hosts (GB200 NVL72): the clique of a GPU, and IMEX channels."""

import ctypes
import re
import uuid
from collections.abc import Callable
from typing import Any

# nvmlGpuFabricState_t, without a GPU that has no fabric.
STATES = {1: "not started", 2: "in progress", 3: "completed"}
# Files of the driver, by which a process maps memory of other hosts' GPUs (IMEX).
CHANNELS = "dev/nvidia-caps-imex-channels"
CLIQUE = re.compile(r"clique \d+ of [0-9a-f-]{36}")


def fabric_fact(nvml: Any, ask: Callable[..., Any], device: Any) -> str:
    """The state of a GPU's fabric, by nvmlDeviceGetGpuFabricInfo: `clique 4026 of CLUSTER` if that
    is completed, `in progress`, `error 3`; empty without a fabric.

    A cluster of zeros is that of GPUs behind the NVSwitches of one host.
    """
    layout = getattr(nvml, "c_nvmlGpuFabricInfo_t", None)
    if layout is None:  # a binding older than the call
        return ""
    info = layout()
    # The binding hands it on as it is, and NVML takes its address (driver 580: a crash).
    if ask("nvmlDeviceGetGpuFabricInfo", device, ctypes.byref(info)) is None:
        return ""
    state = STATES.get(int(info.state), "")
    if state != "completed":
        return state
    if int(info.status) != 0:
        return f"error {int(info.status)}"
    cluster = uuid.UUID(bytes=bytes(info.clusterUuid))
    return f"clique {int(info.cliqueId)} of {cluster}" if cluster.int else ""


def clique_of(fact: str) -> str | None:
    """The clique of a fact; None where the GPU has joined none."""
    return fact if CLIQUE.fullmatch(fact) else None


def without_cluster(fact: str) -> str:
    """The fact with a cluster that identifies none."""
    return re.sub(r" of \S+", f" of {uuid.UUID(int=0)}", fact)
