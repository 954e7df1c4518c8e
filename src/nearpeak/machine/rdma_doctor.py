# SPDX-License-Identifier: Apache-2.0
"""Checks of what RDMA adapters, and copies between them and GPUs, need of this machine."""

import re
from collections.abc import Callable, Iterator

from nearpeak.machine.gpus.nvidia import DRIVER
from nearpeak.machine.limits import CAP_IPC_LOCK, has_capability
from nearpeak.machine.machine import Diagnosis
from nearpeak.machine.patient import Patient, bad, ok, warn

MIB = 1 << 20
LIMITS = "proc/self/limits"
LOCKED = "Max locked memory"
# With less, UCX before 1.14 left RDMA out, later ones fail to register memory: openucx/ucx#8090.
LEAST_LOCKED = 512 * MIB

MODULES = "sys/module"
NVIDIA = f"{MODULES}/nvidia"
# The driver's own since CUDA 11.4, and the package before it: openucx/ucx#7072.
PEER_MEMORY = ("nvidia_peermem", "nv_peer_mem")
GDRCOPY = "gdrdrv"
GDRCOPY_DEVICE = "dev/gdrdrv"


def rdma_checks(patient: Patient) -> Iterator[Diagnosis]:
    """Every finding about registering memory with adapters; none where it does not matter."""
    for check in CHECKS:
        yield from check(patient)


def _adapters(patient: Patient) -> list[str]:
    """The RDMA adapters, as verbs name them."""
    return [nic.verbs for nic in patient.machine.nics if nic.verbs]


def _locked_memory(patient: Patient) -> Iterator[Diagnosis]:
    """Check `ulimit -l`: memory that an adapter reads or writes is locked."""
    limits = re.search(
        rf"^{LOCKED} +(\d+|unlimited) +(\d+|unlimited)",
        patient.tree.text(LIMITS),
        re.MULTILINE,
    )
    adapters = ", ".join(_adapters(patient))
    if not adapters or not limits:
        return
    soft, hard = limits.groups()
    if soft == "unlimited":
        yield ok("locked-memory", "locked memory is not limited (ulimit -l)")
    elif has_capability(patient.tree, CAP_IPC_LOCK):
        yield ok("locked-memory", "the limit of locked memory does not bind (CAP_IPC_LOCK)")
    else:
        little = int(soft) < LEAST_LOCKED
        size = f"{int(soft) // MIB} MiB" if int(soft) >= MIB else f"{int(soft) // 1024} KiB"
        raise_it = (
            "`* - memlock unlimited` in /etc/security/limits.conf; in jobs LimitMEMLOCK=infinity "
            "in the unit of slurmd, as systemd does not read that file; in a container "
            "--ulimit memlock=-1"
        )
        yield (bad if little else warn)(
            "locked-memory",
            f"a process may lock {size} (ulimit -l): memory beyond it cannot be registered with "
            f"{adapters}, and messages fail (`Cannot allocate memory`) or take TCP",
            "`ulimit -l unlimited` before you start" if hard == "unlimited" else raise_it,
        )


def _gpudirect(patient: Patient) -> Iterator[Diagnosis]:
    """Check the module by which adapters reach a GPU's memory, without a copy in the host's."""
    tree = patient.tree
    if not _adapters(patient) or not _has_nvidia(patient):
        return
    loaded = [name for name in PEER_MEMORY if tree.exists(f"{MODULES}/{name}")]
    if loaded:
        yield ok("gpudirect-rdma", f"{loaded[0]} is loaded: adapters reach the memory of GPUs")
        return
    # NVIDIA's open kernel modules export memory as dma-buf, which newer libraries use.
    is_open = "Open Kernel Module" in tree.text(f"{DRIVER}/version")
    but = "; only libraries that use dma-buf do without it" if is_open else ""
    yield warn(
        "gpudirect-rdma",
        "nvidia_peermem is not loaded: messages between hosts go from a GPU through host memory"
        + but,
        "modprobe nvidia-peermem (where it is not found or fails, install NVIDIA's driver again, "
        "after the adapter's); in a container, on its host",
    )


def _gdrcopy(patient: Patient) -> Iterator[Diagnosis]:
    """Check the module by which the CPU copies small messages (GDRCopy, for UCX)."""
    if not _has_nvidia(patient):
        return
    cost = "UCX copies small messages to and from GPUs by calls of CUDA, which take microseconds"
    if not patient.tree.exists(f"{MODULES}/{GDRCOPY}"):
        yield warn(
            "gdrcopy",
            f"{GDRCOPY} is not loaded: {cost}",
            "install GDRCopy's kernel module (gdrdrv-dkms) and modprobe gdrdrv; in a container, on "
            "its host",
        )
    elif patient.tree.live and not patient.tree.exists(GDRCOPY_DEVICE):
        yield warn(
            "gdrcopy",
            f"{GDRCOPY} is loaded, but there is no /{GDRCOPY_DEVICE}: {cost}",
            f"in a container: --device /{GDRCOPY_DEVICE}; else `mknod /{GDRCOPY_DEVICE}`, as "
            "GDRCopy's insmod.sh does",
        )
    else:
        yield ok("gdrcopy", f"{GDRCOPY} is loaded")


def _has_nvidia(patient: Patient) -> bool:
    """Tell whether there are GPUs of NVIDIA, and the loaded modules are known."""
    return patient.tree.exists(NVIDIA) and any(
        gpu.vendor == "nvidia" for gpu in patient.machine.gpus
    )


CHECKS: list[Callable[[Patient], Iterator[Diagnosis]]] = [_locked_memory, _gpudirect, _gdrcopy]
