# SPDX-License-Identifier: Apache-2.0
"""What is asked of NVML, and what becomes of each answer and of each refusal."""

from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from nearpeak.machine.gpus.nvml import ask, pci_address, visible

UUIDS = ["GPU-11aa-0", "GPU-11ab-1", "", "GPU-22cc-3"]


def of_gpu(facts: dict[str, str], index: int = 0) -> dict[str, str]:
    prefix = f"nvidia/gpu{index}/"
    return {path[len(prefix) :]: text for path, text in facts.items() if path.startswith(prefix)}


def test_two_h200(nvml: Any) -> None:
    facts = ask(nvml, {})
    assert facts["nvidia/driver"] == "580.159.04"
    assert facts["nvidia/cuda"] == "13.0"
    links = {f"nvlink{link}": "26562 MB/s to switch" for link in range(18)}
    assert of_gpu(facts, 1) == links | {
        "uuid": "GPU-00000002-5ec2-e700-0000-abcdefabcdef",
        "pci": "0000:00:07.0",
        "name": "NVIDIA H200",
        "memory_bytes": "150754820096",
        "memory_clock_mhz": "3201",
        "memory_bus_bits": "6016",
        "pcie_generation": "5",
        "pcie_width": "16",
        "pcie_generation_now": "5",
        "pcie_width_most": "16",
        "performance_state": "P0",
        "mig": "off",
        "persistence": "on",
        "ecc": "on",
    }
    pair = {name: text for name, text in of_gpu(facts).items() if name.startswith("to1/")}
    assert pair == {"to1/ancestor": "host-bridge", "to1/peer": "ok", "to1/nvlink": "ok"}
    assert not nvml.open


@pytest.mark.parametrize(
    ("call", "lost"),
    [
        ("nvmlDeviceGetName", {"name"}),
        ("nvmlDeviceGetMemoryInfo", {"memory_bytes"}),
        ("nvmlDeviceGetMaxClockInfo", {"memory_clock_mhz"}),
        ("nvmlDeviceGetMemoryBusWidth", {"memory_bus_bits"}),
        ("nvmlDeviceGetMaxPcieLinkGeneration", {"pcie_generation"}),
        ("nvmlDeviceGetCurrPcieLinkWidth", {"pcie_width"}),
        ("nvmlDeviceGetCurrPcieLinkGeneration", {"pcie_generation_now"}),
        ("nvmlDeviceGetMaxPcieLinkWidth", {"pcie_width_most"}),
        ("nvmlDeviceGetPerformanceState", {"performance_state"}),
        ("nvmlDeviceGetTotalEccErrors", set()),
        ("nvmlDeviceGetMigMode", {"mig"}),
        ("nvmlDeviceGetPersistenceMode", {"persistence"}),
        ("nvmlDeviceGetEccMode", {"ecc"}),
        ("nvmlDeviceGetRemappedRows", set()),
        ("nvmlDeviceGetCurrentClocksEventReasons", set()),
        ("nvmlDeviceGetNvLinkRemotePciInfo", set()),
        ("nvmlDeviceGetTopologyCommonAncestor", {"to1/ancestor"}),
        ("nvmlDeviceGetP2PStatus", {"to1/peer", "to1/nvlink"}),
    ],
)
def test_a_refused_call_costs_its_fact_only(nvml: Any, call: str, lost: set[str]) -> None:
    whole = of_gpu(ask(nvml, {}))
    nvml.refused[call] = "Not Supported"
    assert whole.keys() - of_gpu(ask(nvml, {})).keys() == lost
    del nvml.answers[call]  # a binding that lacks the call
    nvml.refused.clear()
    assert whole.keys() - of_gpu(ask(nvml, {})).keys() == lost


def test_bytes_and_white_space(nvml: Any) -> None:
    nvml.answers["nvmlDeviceGetName"] = b"NVIDIA\nH200 "
    assert of_gpu(ask(nvml, {}))["name"] == "NVIDIA H200"


def test_a_driver_that_does_not_answer(nvml: Any) -> None:
    nvml.refused["nvmlInit"] = "RM has detected an NVML/RM version mismatch."
    assert ask(nvml, {}) == {"nvidia/error": "RM has detected an NVML/RM version mismatch."}
    nvml.refused = {"nvmlDeviceGetCount": "Unknown Error"}
    assert ask(nvml, {}) == {"nvidia/error": "Unknown Error"}
    assert not nvml.open


def test_a_lost_gpu_leaves_the_others(nvml: Any) -> None:
    def handle(index: int) -> int:
        if index == 0:
            raise nvml.NVMLError("GPU is lost")
        return index

    nvml.answers["nvmlDeviceGetHandleByIndex"] = handle
    facts = ask(nvml, {"CUDA_VISIBLE_DEVICES": "1"})
    assert of_gpu(facts, 0) == {"error": "GPU is lost"}
    assert of_gpu(facts, 1)["name"] == "NVIDIA H200"
    assert facts["nvidia/visible"] == "1"


def test_an_older_driver_tells_links_by_older_calls(nvml: Any) -> None:
    nvml.fields = {(pynvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, 0): 25781}

    def state(_: int, link: int) -> int:
        if link >= 6:
            raise nvml.NVMLError("Invalid Argument")
        return int(link != 3)

    nvml.answers["nvmlDeviceGetNvLinkState"] = state
    nvml.answers["nvmlDeviceGetNvLinkRemoteDeviceType"] = lambda _, link: link // 2
    nvml.answers["nvmlDeviceGetNvLinkRemotePciInfo"] = SimpleNamespace(busId=b"00000004:05:00.0")
    facts = of_gpu(ask(nvml, {}))
    assert {name: text for name, text in facts.items() if name.startswith("nvlink")} == {
        "nvlink0": "25781 MB/s to gpu 0004:05:00.0",
        "nvlink1": "25781 MB/s to gpu 0004:05:00.0",
        "nvlink2": "25781 MB/s to cpu",
        "nvlink4": "25781 MB/s to switch",
        "nvlink5": "25781 MB/s to switch",
    }
    nvml.fields = {}
    nvml.refused["nvmlDeviceGetNvLinkRemoteDeviceType"] = "Not Supported"
    assert of_gpu(ask(nvml, {}))["nvlink0"] == "unknown MB/s to unknown"


def test_links_to_grace_are_summed(nvml: Any) -> None:
    nvml.fields[pynvml.NVML_FI_DEV_C2C_LINK_COUNT, 0] = 3
    for link, state in enumerate((1, 1, 0)):
        nvml.fields[pynvml.NVML_FI_DEV_C2C_LINK_GET_STATUS, link] = state
        nvml.fields[pynvml.NVML_FI_DEV_C2C_LINK_GET_MAX_BW, link] = 44712
    assert of_gpu(ask(nvml, {}))["c2c"] == "89424 MB/s"


@pytest.mark.parametrize(
    ("statuses", "text"),
    [
        ((0, 0), "ok"),
        ((0, 1), "the chipset does not support it"),
        ((5, 0), "not supported"),
        ((6, 6), "unknown"),
    ],
)
def test_the_worse_of_reading_and_writing_counts(
    nvml: Any, statuses: tuple[int, int], text: str
) -> None:
    nvml.answers["nvmlDeviceGetP2PStatus"] = lambda _, __, way: (*statuses, 5)[way]
    facts = of_gpu(ask(nvml, {}))
    assert facts["to1/peer"] == text
    assert "to1/nvlink" not in facts


def instances(nvml: Any, *profiles: str) -> None:
    """Makes the first GPU one in MIG mode, with instances 1, 2, ..."""
    handles = {number: f"instance {number}" for number in range(1, len(profiles) + 1)}

    def by_index(gpu: int, number: int) -> str:
        if gpu != 0 or number not in handles:
            raise nvml.NVMLError("Not Found")
        return handles[number]

    def of(handle: Any, instance: str, whole: str) -> str:
        return instance if handle in handles.values() else whole

    nvml.answers |= {
        "nvmlDeviceGetMigMode": lambda gpu: [int(gpu == 0)] * 2,
        "nvmlDeviceGetMaxMigDeviceCount": 7,
        "nvmlDeviceGetMigDeviceHandleByIndex": by_index,
        "nvmlDeviceGetName": lambda handle: of(
            handle, f"NVIDIA H200 MIG {profiles[int(str(handle)[-1]) - 1]}", "NVIDIA H200"
        ),
        "nvmlDeviceGetUUID": lambda handle: of(
            handle, f"MIG-b4b2228d-6933-5839-bc0e-41ab9edb61c{str(handle)[-1]}", f"GPU-{handle}"
        ),
    }


def test_instances_of_a_gpu_in_mig_mode(nvml: Any) -> None:
    instances(nvml, "3g.71gb", "1g.18gb")
    facts = of_gpu(ask(nvml, {}))
    assert {name: text for name, text in facts.items() if name.startswith("mig")} == {
        "mig": "on",
        "mig1/uuid": "MIG-b4b2228d-6933-5839-bc0e-41ab9edb61c1",
        "mig1/name": "NVIDIA H200 MIG 3g.71gb",
        "mig1/memory_bytes": "150754820096",
        "mig2/uuid": "MIG-b4b2228d-6933-5839-bc0e-41ab9edb61c2",
        "mig2/name": "NVIDIA H200 MIG 1g.18gb",
        "mig2/memory_bytes": "150754820096",
    }
    assert of_gpu(ask(nvml, {}), 1)["mig"] == "off"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("MIG-b4b2228d-6933-5839-bc0e-41ab9edb61c2,0", "0/mig2"),
        ("MIG-b4b2228d", "0/mig1"),
        ("MIG-0", ""),
        ("GPU-0", "0"),
    ],
)
def test_the_instance_that_cuda_shows(nvml: Any, wanted: str, found: str) -> None:
    instances(nvml, "3g.71gb", "1g.18gb")
    facts = ask(nvml, {"CUDA_VISIBLE_DEVICES": wanted})
    assert facts["nvidia/visible"] == found


def test_health(nvml: Any) -> None:
    nvml.answers["nvmlDeviceGetPersistenceMode"] = 0
    nvml.answers["nvmlDeviceGetRemappedRows"] = (0, 1, 1, 0)
    nvml.answers["nvmlDeviceGetCurrentClocksEventReasons"] = (
        pynvml.nvmlClocksEventReasonSwPowerCap | pynvml.nvmlClocksEventReasonHwThermalSlowdown
    )
    facts = of_gpu(ask(nvml, {}))
    assert facts["persistence"] == "off"
    assert facts["repair"] == "pending"
    assert facts["slowed"] == "power cap, too hot (hardware)"
    nvml.answers["nvmlDeviceGetRemappedRows"] = (0, 1, 1, 1)
    assert of_gpu(ask(nvml, {}))["repair"] == "failed"
    nvml.refused["nvmlDeviceGetRemappedRows"] = "Not Supported"
    assert "repair" not in of_gpu(ask(nvml, {}))
    nvml.answers["nvmlDeviceGetRetiredPagesPendingStatus"] = 1
    assert of_gpu(ask(nvml, {}))["repair"] == "pending"
    nvml.answers["nvmlDeviceGetTotalEccErrors"] = lambda _, kind, __: 3 if kind == 1 else 40
    assert of_gpu(ask(nvml, {}))["ecc_uncorrected"] == "3"
    del nvml.answers["nvmlDeviceGetCurrentClocksEventReasons"]
    nvml.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = 0x8
    assert of_gpu(ask(nvml, {}))["slowed"] == "hardware slowdown"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("0,1", [0, 1]),
        (" 3 , 0", [3, 0]),
        ("", []),
        ("-1", []),
        ("0,-1,1", [0]),
        ("0,9,1", [0]),
        ("1,1", []),
        ("GPU-22", [3]),
        ("GPU-11a", []),  # of two
        ("GPU-11ab,0", [1, 0]),
        ("MIG-22", []),
    ],
)
def test_visible_devices_as_cuda_reads_them(wanted: str, found: list[int]) -> None:
    assert visible(wanted, UUIDS) == found


def test_pci_addresses_as_linux_writes_them() -> None:
    assert pci_address("00000000:1B:00.0") == "0000:1b:00.0"
    assert pci_address("00010000:C1:00.0") == "10000:c1:00.0"
