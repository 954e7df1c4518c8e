# SPDX-License-Identifier: Apache-2.0
"""Finds problems of this machine's GPUs that spoil measurements, and their remedies."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from nearpeak.machine import kernel_log
from nearpeak.machine.gpus import pointer_queries
from nearpeak.machine.gpus.nvidia import FACTS
from nearpeak.machine.gpus.pci import DEVICES
from nearpeak.machine.gpus.xids import MAYBE_OVER, find_xids
from nearpeak.machine.link_doctor import gpu_link_checks
from nearpeak.machine.machine import Diagnosis
from nearpeak.machine.patient import Patient, bad, ok, warn
from nearpeak.numbers import listed, noun, number

# Types of IOMMU groups that translate addresses, as the kernel writes them.
TRANSLATING = ("DMA", "DMA-FQ")


def gpu_checks(patient: Patient) -> Iterator[Diagnosis]:
    """Every finding about GPUs; none on a machine without a known GPU."""
    for note in patient.machine.gpu_notes:
        yield warn("gpus", note, "repair it, or measure without these GPUs")
    if not patient.machine.gpus:
        return
    findings = [finding for check in CHECKS for finding in check(patient)]
    if all(finding.severity == "ok" for finding in findings):
        names = Counter(gpu.name for gpu in patient.machine.gpus)
        here = ", ".join(f"{count} x {name}" for name, count in names.items())
        yield ok("gpus", f"{here}, healthy as far as their driver says")
    yield from findings


def _facts(patient: Patient, fact: str) -> dict[int, str]:
    """The values of a fact of NVIDIA's GPUs, by index, where it is known."""
    gpus = (gpu.index for gpu in patient.machine.gpus if gpu.vendor == "nvidia")
    values = ((index, patient.nvidia.text(f"{FACTS}/gpu{index}/{fact}")) for index in gpus)
    return {index: value for index, value in values if value}


def _having(patient: Patient, fact: str, value: str) -> list[int]:
    return [index for index, text in _facts(patient, fact).items() if text == value]


def _names(gpus: list[int]) -> str:
    return f"{noun(len(gpus), 'GPU')} {', '.join(map(str, gpus))}"


def _memory(patient: Patient) -> Iterator[Diagnosis]:
    if failed := _having(patient, "repair", "failed"):
        yield bad(
            "gpu-memory",
            f"{_names(failed)}: broken memory that could not be repaired",
            "use another GPU, and have this one replaced (nvidia-smi -q -d ROW_REMAPPER)",
        )
    if pending := _having(patient, "repair", "pending"):
        yield warn(
            "gpu-memory",
            f"{_names(pending)}: memory errors, whose repair waits for a reset",
            "reset the GPU while nobody uses it (nvidia-smi --gpu-reset), or restart",
        )


def _errors(patient: Patient) -> Iterator[Diagnosis]:
    for index, lost in _facts(patient, "ecc_uncorrected").items():
        yield warn(
            "gpu-memory",
            f"GPU {index}: {lost} uncorrected memory errors since its driver was loaded",
            "reset the GPU while nobody uses it, and see nvidia-smi -q -d ECC,ROW_REMAPPER",
        )


def _xids(patient: Patient) -> Iterator[Diagnosis]:
    """Looks for errors in the kernel's messages, on this machine only: no file records them."""
    gpus = [gpu for gpu in patient.machine.gpus if gpu.vendor == "nvidia"]
    if not patient.tree.live or not gpus:
        return
    messages = kernel_log.kernel_messages()
    if messages is None:
        yield ok(
            "gpu-xid", "Xid errors are not known: this user may not read the kernel's messages"
        )
    xids = find_xids(messages or "")
    for gpu in gpus:
        if counted := xids.get(gpu.pci.partition(".")[0]):
            wrote = f"GPU {gpu.index}: since the machine started its driver wrote Xid"
            if faults := {xid: counted[xid] for xid in counted if xid not in MAYBE_OVER}:
                yield warn(
                    "gpu-xid",
                    f"{wrote} {_with_counts(faults)}",
                    "see what they mean (https://docs.nvidia.com/deploy/xid-errors), and `dmesg |"
                    " grep Xid`; restart the machine once the fault is mended",
                )
            if others := {xid: counted[xid] for xid in counted if xid in MAYBE_OVER}:
                yield warn(
                    "gpu-xid",
                    f"{wrote} {_with_counts(others)}, which may be over",
                    "see whether nvidia-smi -q still shows a recovery action or a pending row"
                    " remapping; if not, nothing is left to do",
                )


def _with_counts(xids: Mapping[int, int]) -> str:
    """`74 (2 times) and 79`."""
    often = {xid: f" ({times} times)" for xid, times in xids.items() if times > 1}
    return listed([f"{xid}{often.get(xid, '')}" for xid in sorted(xids)])


def _clocks(patient: Patient) -> Iterator[Diagnosis]:
    for index, reasons in _facts(patient, "slowed").items():
        yield warn(
            "gpu-clocks",
            f"GPU {index} runs slower than it can: {reasons}",
            "let it cool, end other programs on it, and check its power limit "
            "(nvidia-smi -q -d PERFORMANCE,POWER)",
        )


def _persistence(patient: Patient) -> Iterator[Diagnosis]:
    if off := _having(patient, "persistence", "off"):
        yield warn(
            "gpu-persistence",
            f"{_names(off)}: persistence mode is off, so that each launch may have to "
            "start the GPU first",
            "nvidia-smi -pm 1, or run nvidia-persistenced",
        )


def _mps(patient: Patient) -> Iterator[Diagnosis]:
    owner = patient.nvidia.text(f"{FACTS}/mps/daemon")
    if owner in ("other", "own", "root"):
        whose = " of another user" if owner == "other" else ""
        yield warn(
            "mps",
            f"an MPS daemon{whose} is already running: launches of Nearpeak do not use "
            "it, but its programs use the GPUs too",
            "end it (echo quit | nvidia-cuda-mps-control)",
        )


def _peers(patient: Patient) -> Iterator[Diagnosis]:
    for kind, severity in (("nvlink", bad), ("xgmi", bad), ("pcie-switch", warn)):
        refused = [link for link in patient.machine.gpu_links if link.kind == kind and link.peer]
        if refused:
            pairs = ", ".join(f"{link.one}-{link.other}" for link in refused)
            yield severity(
                "gpu-peer",
                f"GPUs {pairs} are joined by {kind}, but may not reach each other's "
                f"memory ({refused[0].peer})",
                "NVSwitch needs a running nvidia-fabricmanager; PCIe needs ACS turned off in "
                "the firmware",
            )


def _iommu(patient: Patient) -> Iterator[Diagnosis]:
    if patient.machine.virtual:
        return  # a guest does not see the host's IOMMU
    behind = [
        gpu.index
        for gpu in patient.machine.gpus
        if patient.tree.text(f"{DEVICES}/{gpu.pci}/iommu_group/type") in TRANSLATING
    ]
    if behind:
        yield warn(
            "iommu",
            f"{_names(behind)}: the IOMMU translates addresses, so copies between "
            "devices go through the CPU, or their data is lost",
            "boot with iommu=pt, or turn the IOMMU off in the firmware",
        )


def _pointer_queries(patient: Patient) -> Iterator[Diagnosis]:
    """Checks the time of a pointer query, on this machine only: no file records it."""
    if not patient.tree.live or all(gpu.vendor != "nvidia" for gpu in patient.machine.gpus):
        return
    version = patient.machine.provenance.nvidia_driver or "of unknown version"
    excess = pointer_queries.excess_us()
    if excess is None:
        yield warn(
            "pointer-query",
            f"NVIDIA's driver {version} did not say within {pointer_queries.LIMIT_SECONDS} s whose"
            " memory an address is: no context could be had on the first GPU",
            "see whether nvidia-smi works, and whether another program holds the GPU exclusively",
        )
    elif excess > pointer_queries.DEAR_US:
        yield warn(
            "pointer-query",
            f"NVIDIA's driver {version} takes {number(excess)} us longer to say that an address is"
            " in host memory by cuPointerGetAttribute than by cuPointerGetAttributes: some MPI"
            " libraries with GPU support ask by the first, of every buffer of every message",
            "measure what it costs (`nearpeak study --paths 'host-host same-numa,host-host"
            " same-numa gpu-support'`); docs/how-to/pointer-queries.md has three cures",
        )


CHECKS: list[Callable[[Patient], Iterator[Diagnosis]]] = [
    _memory,
    _errors,
    _xids,
    _clocks,
    _persistence,
    _mps,
    _peers,
    gpu_link_checks,
    _iommu,
    _pointer_queries,
]
