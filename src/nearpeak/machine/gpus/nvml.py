# SPDX-License-Identifier: Apache-2.0
"""Asks NVIDIA's library (NVML) what it knows of the GPUs, as the files of a recorded machine.

docs/reference/machine-files.md describes the files. They lack the facts that NVML does not
report: drivers, GPUs and virtual machines differ in their answers.
"""

import ctypes
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from nearpeak.machine.gpus.fabric import fabric_fact

FACTS = "nvidia"  # the folder of the facts in a recording
LIBRARY = "libnvidia-ml.so.1"
MAX_LINKS = 18  # NVML_NVLINK_MAX_LINKS, where the GPU does not say how many it has
MIG = "MIG-"  # begins the UUIDs of MIG instances
UNCORRECTED = 1  # of nvmlMemoryErrorType_t
SINCE_DRIVER_LOADED = 0  # NVML_VOLATILE_ECC
# Written out where pynvml lacks them, or has them wrong (a tuple for READ).
P2P_READ, P2P_WRITE, P2P_NVLINK = 0, 1, 2
P2P_STATUSES = (
    "ok",
    "the chipset does not support it",
    "the GPU does not support it",
    "the I/O hubs between them do not support it",
    "disabled in the driver's registry",
    "not supported",
)
P2P_STATUS = {-1: "", **dict(enumerate(P2P_STATUSES))}  # -1: the driver does not say
SWITCH = {0: "off", 1: "on"}
ANCESTORS = {
    0: "internal",
    10: "single-switch",
    20: "multiple-switches",
    30: "host-bridge",
    40: "node",
    50: "system",
}
REMOTE = {0: "gpu", 1: "cpu", 2: "switch"}
# Bits of nvmlClocksEventReasons: those that slow a GPU, then idling and clocks that were set.
SLOWDOWNS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "too hot (software)",
    0x40: "too hot (hardware)",
    0x80: "power brake",
}
REASONS = {
    **SLOWDOWNS,
    0x1: "idle",
    0x2: "application clocks",
    0x10: "sync boost",
    0x100: "display clocks",
}


def library_present() -> bool:
    """True if NVIDIA's library can be loaded, which is quicker than to import its binding."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


def ask(nvml: ModuleType, environment: Mapping[str, str]) -> dict[str, str]:
    """Path -> text of every fact of this machine's GPUs, from `nvml`, the module pynvml.

    Only `nvidia/error` where the driver does not answer. `environment` may hide GPUs.
    """
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return {f"{FACTS}/error": str(error)}
    try:
        return {f"{FACTS}/{name}": text for name, text in _machine(nvml, environment)}
    except nvml.NVMLError as error:
        return {f"{FACTS}/error": str(error)}
    finally:
        NvmlClient(nvml)("nvmlShutdown")


class NvmlClient:
    """Calls NVML; returns `default` for what it refuses."""

    def __init__(self, nvml: ModuleType) -> None:
        self.nvml = nvml

    def __call__(self, call: str, *arguments: Any, default: Any = None) -> Any:
        function: Callable[..., Any] | None = getattr(self.nvml, call, None)
        if function is None:  # a binding older than the call
            return default
        try:
            return function(*arguments)
        except self.nvml.NVMLError:
            return default

    def field(self, device: Any, field: int, scope: int = 0, default: Any = None) -> Any:
        """The value of an NVML_FI_... field, an integer."""
        return self.fields(device, [(field, scope)]).get((field, scope), default)

    def fields(self, device: Any, wanted: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """The values of several, by field and scope; without those that it does not report."""
        values = self("nvmlDeviceGetFieldValues", device, wanted, default=[]) if wanted else []
        # All of those asked for are unsigned; of some, drivers name a wrong type (seen with 580).
        return {
            name: int(value.value.uiVal)
            for name, value in zip(wanted, values, strict=False)
            if value.nvmlReturn == 0
        }

    def text(self, call: str, *arguments: Any) -> str:
        """The text that a call returns, in one line; empty for what NVML refuses."""
        return _text(self(call, *arguments, default=""))

    def reasons(self, device: Any) -> int | None:
        """The bits of the reasons that throttle the clocks of a GPU."""
        bits = self("nvmlDeviceGetCurrentClocksEventReasons", device)
        if bits is None:  # its name before driver 535
            bits = self("nvmlDeviceGetCurrentClocksThrottleReasons", device)
        return None if bits is None else int(bits)


def _machine(nvml: ModuleType, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    asker = NvmlClient(nvml)
    if driver := asker("nvmlSystemGetDriverVersion"):
        yield "driver", _text(driver)
    if cuda := asker("nvmlSystemGetCudaDriverVersion_v2"):
        yield "cuda", f"{cuda // 1000}.{cuda % 1000 // 10}"
    devices: dict[int, Any] = {}
    uuids: list[str] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        uuids.append("")
        try:
            device = nvml.nvmlDeviceGetHandleByIndex(index)
            uuids[index] = _text(nvml.nvmlDeviceGetUUID(device))
            pci = pci_address(_text(nvml.nvmlDeviceGetPciInfo(device).busId))
        except nvml.NVMLError as error:
            yield f"gpu{index}/error", str(error)
            continue
        devices[index] = device
        yield f"gpu{index}/uuid", uuids[index]
        yield f"gpu{index}/pci", pci
        facts = _gpu(asker, device)
        yield from ((f"gpu{index}/{name}", text) for name, text in facts if text)
    for (index, device), (other, peer) in itertools.combinations(devices.items(), 2):
        facts = _pair(asker, device, peer)
        yield from ((f"gpu{index}/to{other}/{name}", text) for name, text in facts if text)
    if (wanted := environment.get("CUDA_VISIBLE_DEVICES")) is None:
        return
    if wanted.startswith(MIG):
        yield "visible", _visible_instance(asker, devices, wanted)
    else:
        yield "visible", ",".join(str(index) for index in visible(wanted, uuids))


def visible(wanted: str, uuids: list[str]) -> list[int]:
    """The GPUs that CUDA_VISIBLE_DEVICES names, by index or by the beginning of their UUID.

    As CUDA reads it: the first name that is no GPU ends the list, and a GPU named twice empties it.
    """
    indices: list[int] = []
    for word in (part.strip() for part in wanted.split(",")):
        matches = _matching(word, uuids)
        if len(matches) != 1:
            break
        if matches[0] in indices:
            return []
        indices += matches
    return indices


def _visible_instance(asker: NvmlClient, devices: Mapping[int, Any], wanted: str) -> str:
    """The first of the MIG instances that CUDA_VISIBLE_DEVICES names, as `0/mig1`; empty where
    there is none of that UUID. CUDA shows a process one instance."""
    first = wanted.partition(",")[0].strip()
    for index, device in devices.items():
        for number, instance in _instances(asker, device).items():
            if asker.text("nvmlDeviceGetUUID", instance).startswith(first):
                return f"{index}/mig{number}"
    return ""


def _matching(word: str, uuids: list[str]) -> list[int]:
    if word.isdecimal():
        return [index for index in range(len(uuids)) if index == int(word)]
    by_uuid = word.startswith("GPU-")
    return [index for index, uuid in enumerate(uuids) if by_uuid and uuid.startswith(word)]


def pci_address(bus_id: str) -> str:
    """NVML's `00000000:17:00.0` as Linux writes it: `0000:17:00.0`."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _gpu(asker: NvmlClient, device: Any) -> Iterator[tuple[str, str]]:
    """The facts of a GPU; those that the driver does not report are empty."""
    yield "name", _text(asker("nvmlDeviceGetName", device, default=""))
    numbers = {
        "memory_bytes": getattr(asker("nvmlDeviceGetMemoryInfo", device), "total", 0),
        "memory_clock_mhz": asker("nvmlDeviceGetMaxClockInfo", device, 2),  # NVML_CLOCK_MEM
        "memory_bus_bits": asker("nvmlDeviceGetMemoryBusWidth", device),
        # The most that this GPU and this system do together: the generation now is lower at rest.
        "pcie_generation": asker("nvmlDeviceGetMaxPcieLinkGeneration", device),
        "pcie_width": asker("nvmlDeviceGetCurrPcieLinkWidth", device),
        "pcie_generation_now": asker("nvmlDeviceGetCurrPcieLinkGeneration", device),
        "pcie_width_most": asker("nvmlDeviceGetMaxPcieLinkWidth", device),
    }
    yield from ((name, str(number)) for name, number in numbers.items() if number)
    state = asker("nvmlDeviceGetPerformanceState", device)
    yield "performance_state", "" if state is None else f"P{state}"
    yield "mig", SWITCH.get(asker("nvmlDeviceGetMigMode", device, default=[None])[0], "")
    for number, instance in _instances(asker, device).items():
        yield f"mig{number}/uuid", asker.text("nvmlDeviceGetUUID", instance)
        yield f"mig{number}/name", asker.text("nvmlDeviceGetName", instance)
        memory = getattr(asker("nvmlDeviceGetMemoryInfo", instance), "total", "")
        yield f"mig{number}/memory_bytes", str(memory)
    yield from _nvlinks(asker, device)
    yield "fabric", fabric_fact(asker.nvml, asker, device)
    if c2c := _c2c(asker, device):
        yield "c2c", f"{c2c} MB/s"
    yield from _health(asker, device)


def _instances(asker: NvmlClient, device: Any) -> dict[int, Any]:
    """The MIG instances of a GPU by their number; none where it is not in that mode."""
    numbers = range(asker("nvmlDeviceGetMaxMigDeviceCount", device, default=0))
    handles = {
        number: asker("nvmlDeviceGetMigDeviceHandleByIndex", device, number) for number in numbers
    }
    return {number: handle for number, handle in handles.items() if handle is not None}


def _nvlinks(asker: NvmlClient, device: Any) -> Iterator[tuple[str, str]]:
    """The active NVLinks: `26562 MB/s to switch`, `... to cpu`,
    `... to gpu 0000:17:00.0`."""
    nvml = asker.nvml
    common = asker.field(device, nvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON)
    for link in range(asker.field(device, nvml.NVML_FI_DEV_NVLINK_LINK_COUNT, default=MAX_LINKS)):
        older = asker("nvmlDeviceGetNvLinkState", device, link)  # all that drivers before 530 have
        if asker.field(device, nvml.NVML_FI_DEV_NVLINK_GET_STATE, link, older) != 1:
            continue
        speed = asker.field(device, nvml.NVML_FI_DEV_NVLINK_GET_SPEED, link) or common or "unknown"
        kind = REMOTE.get(asker("nvmlDeviceGetNvLinkRemoteDeviceType", device, link), "unknown")
        pci = asker("nvmlDeviceGetNvLinkRemotePciInfo", device, link)
        remote = f" {pci_address(_text(pci.busId))}" if kind == "gpu" and pci else ""
        yield f"nvlink{link}", f"{speed} MB/s to {kind}{remote}"


def _c2c(asker: NvmlClient, device: Any) -> int:
    """MB/s of all active links between a Grace CPU and its GPU together; 0 without any."""
    nvml = asker.nvml
    links = range(asker.field(device, nvml.NVML_FI_DEV_C2C_LINK_COUNT, default=0))
    return sum(
        asker.field(device, nvml.NVML_FI_DEV_C2C_LINK_GET_MAX_BW, link, 0)
        for link in links
        if asker.field(device, nvml.NVML_FI_DEV_C2C_LINK_GET_STATUS, link) == 1
    )


def _health(asker: NvmlClient, device: Any) -> Iterator[tuple[str, str]]:
    yield "persistence", SWITCH.get(asker("nvmlDeviceGetPersistenceMode", device), "")
    yield "ecc", SWITCH.get(asker("nvmlDeviceGetEccMode", device, default=[None])[0], "")
    pages = asker("nvmlDeviceGetRetiredPagesPendingStatus", device)  # rows since Ampere
    *_, pending, failed = asker("nvmlDeviceGetRemappedRows", device, default=(pages, False))
    repair = "pending" if pending else ""
    yield "repair", "failed" if failed else repair
    lost = asker("nvmlDeviceGetTotalEccErrors", device, UNCORRECTED, SINCE_DRIVER_LOADED)
    yield "ecc_uncorrected", str(lost or "")
    reasons = asker.reasons(device) or 0
    yield "slowed", ", ".join(word for bit, word in SLOWDOWNS.items() if reasons & bit)


def _pair(asker: NvmlClient, device: Any, peer: Any) -> Iterator[tuple[str, str]]:
    ancestor = asker("nvmlDeviceGetTopologyCommonAncestor", device, peer)
    yield "ancestor", ANCESTORS.get(ancestor, "")
    reads, writes, nvlink = (
        asker("nvmlDeviceGetP2PStatus", device, peer, way, default=-1)
        for way in (P2P_READ, P2P_WRITE, P2P_NVLINK)
    )
    yield "peer", P2P_STATUS.get(max(reads, writes), "unknown")
    yield "nvlink", "ok" if nvlink == 0 else ""


def _text(value: str | bytes) -> str:
    """The text in one line; bindings return bytes or str."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return re.sub(r"\s+", " ", text).strip()
