# SPDX-License-Identifier: Apache-2.0
"""A fake of NVIDIA's library.

Tests import it by its name: `from fake_nvml import FakeNvml` (tests/conftest.py).
"""

from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pynvml


class NvmlError(Exception):
    """What pynvml raises for every status but success."""


@dataclass
class FieldValue:
    """pynvml's c_nvmlFieldValue_t, as far as it is read."""

    nvmlReturn: int
    value: SimpleNamespace


class FakeNvml:
    """The module pynvml on a machine of two H200 in a virtual machine, as driver 580 answers there.

    Devices are numbers. A test changes `answers` (call -> result, or a function of the call's
    arguments) and `fields` ((field, scope) -> number), or puts calls into `refused` (call -> error
    message).
    """

    NVMLError = NvmlError

    def __init__(self) -> None:
        self.refused: dict[str, str] = {}
        self.open = False
        self.calls = Counter[str]()
        self.asked_fields = 0
        self.fields: dict[tuple[int, int], int] = {(pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT, 0): 18}
        for link in range(18):
            self.fields[pynvml.NVML_FI_DEV_NVLINK_GET_STATE, link] = 1
            self.fields[pynvml.NVML_FI_DEV_NVLINK_GET_SPEED, link] = 26562
            self.fields |= {(error, link): 0 for error in (161, 162, 163)}
        self.fields[pynvml.NVML_FI_DEV_PCIE_REPLAY_COUNTER, 0] = 1
        nowhere = SimpleNamespace(busId="FFFFFFFF:FF:FF.0")
        self.answers: dict[str, Any] = {
            "nvmlInit": lambda: setattr(self, "open", True),
            "nvmlShutdown": lambda: setattr(self, "open", False),
            "nvmlSystemGetDriverVersion": "580.159.04",
            "nvmlSystemGetCudaDriverVersion_v2": 13000,
            "nvmlDeviceGetCount": 2,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetHandleByUUID": lambda uuid: int(uuid[4:12], 16) - 1,
            "nvmlDeviceGetUUID": lambda gpu: f"GPU-{gpu + 1:08x}-5ec2-e700-0000-abcdefabcdef",
            "nvmlDeviceGetPciInfo": lambda gpu: SimpleNamespace(busId=f"00000000:00:0{gpu + 6}.0"),
            "nvmlDeviceGetName": "NVIDIA H200",
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150754820096),
            "nvmlDeviceGetMaxClockInfo": lambda _, clock: {2: 3201}[clock],
            "nvmlDeviceGetClockInfo": lambda _, clock: {1: 1980, 2: 3201}[clock],
            "nvmlDeviceGetTemperature": 34,
            "nvmlDeviceGetPowerUsage": 75_250,  # mW
            "nvmlDeviceGetTotalEccErrors": 0,
            "nvmlDeviceGetMemoryBusWidth": 6016,
            "nvmlDeviceGetMaxPcieLinkGeneration": 5,
            "nvmlDeviceGetCurrPcieLinkGeneration": 5,
            "nvmlDeviceGetMaxPcieLinkWidth": 16,
            "nvmlDeviceGetCurrPcieLinkWidth": 16,
            "nvmlDeviceGetPerformanceState": 0,
            "nvmlDeviceGetMigMode": [0, 0],
            "nvmlDeviceGetFieldValues": lambda _, wanted: [self._field(*each) for each in wanted],
            "nvmlDeviceGetNvLinkState": 1,
            "nvmlDeviceGetNvLinkRemoteDeviceType": pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH,
            "nvmlDeviceGetNvLinkRemotePciInfo": nowhere,
            "nvmlDeviceGetPersistenceMode": 1,
            "nvmlDeviceGetEccMode": [1, 1],
            "nvmlDeviceGetRemappedRows": (0, 0, 0, 0),
            "nvmlDeviceGetRetiredPagesPendingStatus": 0,
            "nvmlDeviceGetCurrentClocksEventReasons": pynvml.nvmlClocksEventReasonGpuIdle,
            "nvmlDeviceGetTopologyCommonAncestor": pynvml.NVML_TOPOLOGY_HOSTBRIDGE,
            "nvmlDeviceGetP2PStatus": 0,
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("NVML_"):
            return getattr(pynvml, name)
        if name not in self.answers:
            raise AttributeError(name)  # as of a binding that is older than the call

        def call(*arguments: Any) -> Any:
            if name in self.refused:
                raise NvmlError(self.refused[name])
            assert self.open or name == "nvmlInit"
            self.calls[name] += 1
            answer = self.answers[name]
            return answer(*arguments) if callable(answer) else answer

        return call

    def _field(self, field: int, scope: int) -> FieldValue:
        self.asked_fields += 1
        number = self.fields.get((field, scope))
        status = pynvml.NVML_ERROR_NOT_SUPPORTED if number is None else 0
        return FieldValue(status, SimpleNamespace(uiVal=number or 0))
