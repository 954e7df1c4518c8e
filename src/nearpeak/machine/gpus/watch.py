# SPDX-License-Identifier: Apache-2.0
"""The clocks of NVIDIA's GPUs now, what throttles them, and their error counts."""

import math
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import msgspec

from nearpeak.machine.gpus.link_errors import LinkErrors
from nearpeak.machine.gpus.nvml import MIG, REASONS, SINCE_DRIVER_LOADED, NvmlClient
from nearpeak.terms.private import GpuUuid, Public

SM, MEMORY = 1, 2  # NVML_CLOCK_SM, NVML_CLOCK_MEM
ECC = {0: "ecc corrected", 1: "ecc uncorrected"}  # nvmlMemoryErrorType_t
KEPT_SECONDS = 1.0  # error counts, from the end of a launch to the next one's begin


class GpuState(msgspec.Struct, kw_only=True, frozen=True):
    """One GPU. Values that its driver does not report are null; counts are since the driver
    started."""

    gpu: GpuUuid  # its UUID
    sm_mhz: int | None = None  # clock of its processors
    memory_mhz: int | None = None  # clock of its memory
    temperature_c: int | None = None  # in degrees Celsius
    power_w: float | None = None  # in watts
    # what keeps its clocks below the highest: `idle`, `power cap`, ...; empty: nothing
    slowed: list[Public] | None = None
    # counts by kind: `ecc corrected`, `ecc uncorrected`, `nvlink crc`, `nvlink replay`, `nvlink
    # recovery`
    errors: dict[Public, int] = {}


class GpuWatch:
    """NVML held open with its GPUs, since opening it takes longer than all queries."""

    def __init__(self, nvml: ModuleType | None) -> None:
        """`nvml`: the module pynvml; None: there is no driver, and nothing is known."""
        self._nvml = nvml
        self._link_errors = LinkErrors()
        self._devices: dict[str, Any] = {}
        self._counted: dict[str, tuple[float, dict[str, int]]] = {}  # when, and the error counts
        if nvml is None:
            return
        try:
            nvml.nvmlInit()
        except nvml.NVMLError:
            self._nvml = None

    def close(self) -> None:
        """Lets NVML go."""
        if self._nvml is not None:
            NvmlClient(self._nvml)("nvmlShutdown")
            self._nvml = None

    def read(self, gpu: str, *, recount: bool = True) -> GpuState:
        """The state of the GPU with this uuid, or with this index as NVML counts. That of a MIG
        instance is that of its GPU.

        Without `recount`, errors that were counted within the last second are not counted again:
        with 18 NVLinks that takes longer than all else.
        """
        if self._nvml is None:
            return GpuState(gpu=gpu)
        asker = NvmlClient(self._nvml)
        device = self._device(asker, gpu)
        if device is None:
            return GpuState(gpu=gpu)
        milliwatts = asker("nvmlDeviceGetPowerUsage", device)
        reasons = asker.reasons(device)
        return GpuState(
            gpu=gpu,
            sm_mhz=asker("nvmlDeviceGetClockInfo", device, SM),
            memory_mhz=asker("nvmlDeviceGetClockInfo", device, MEMORY),
            temperature_c=asker("nvmlDeviceGetTemperature", device, 0),  # NVML_TEMPERATURE_GPU
            power_w=None if milliwatts is None else milliwatts / 1000,
            slowed=None if reasons is None else [w for bit, w in REASONS.items() if reasons & bit],
            errors=self._errors(asker, device, gpu, recount),
        )

    def _device(self, asker: NvmlClient, gpu: str) -> Any:
        if self._devices.get(gpu) is None:
            call = "nvmlDeviceGetHandleByIndex" if gpu.isdecimal() else "nvmlDeviceGetHandleByUUID"
            device = asker(call, int(gpu) if gpu.isdecimal() else gpu)
            if gpu.startswith(MIG) and device is not None:
                device = asker("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device)
            self._devices[gpu] = device
        return self._devices[gpu]

    def _errors(self, asker: NvmlClient, device: Any, gpu: str, recount: bool) -> dict[str, int]:
        when, errors = self._counted.get(gpu, (-math.inf, {}))
        if recount or time.monotonic() - when > KEPT_SECONDS:
            errors = dict(self._count(asker, device, gpu))
            self._counted[gpu] = time.monotonic(), errors
        return errors

    def _count(self, asker: NvmlClient, device: Any, gpu: str) -> Iterator[tuple[str, int]]:
        for kind, word in ECC.items():
            count = asker("nvmlDeviceGetTotalEccErrors", device, kind, SINCE_DRIVER_LOADED)
            if count is not None:
                yield word, count
        for error, count in self._link_errors.of_gpu(asker, device, gpu).items():
            yield f"nvlink {error}", count
