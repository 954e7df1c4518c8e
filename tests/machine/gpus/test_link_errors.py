# SPDX-License-Identifier: Apache-2.0
"""Counts of errors on links, each by its link and kind."""

from typing import Any

import pytest

from nearpeak.machine.gpus.link_errors import LinkErrors, count_link_errors
from nearpeak.machine.gpus.nvml import NvmlClient

FIRST, SECOND = (f"GPU-0000000{number}-5ec2-e700-0000-abcdefabcdef" for number in (1, 2))


def test_each_link_and_kind(nvml: Any) -> None:
    nvml.fields |= {(161, 3): 12, (162, 17): 1}
    counts = count_link_errors(nvml)
    assert counts.keys() == {FIRST, SECOND}
    assert {name: count for name, count in counts[FIRST].items() if count} == {
        "NVLink 3 replay": 12,
        "NVLink 17 recovery": 1,
        "PCIe replay": 1,
    }
    assert len(counts[FIRST]) == 3 * 18 + 1
    assert not nvml.open


def test_totals_where_the_driver_has_no_more(nvml: Any) -> None:
    nvml.fields = {(38, 0): 3, (59, 0): 0}
    assert count_link_errors(nvml)[FIRST] == {"NVLink crc": 3, "NVLink recovery": 0}
    nvml.fields = {}
    assert count_link_errors(nvml)[FIRST] == {}


def test_nvlink_5_counts_recoveries(nvml: Any) -> None:
    nvml.fields = {(215, 7): 2}
    assert count_link_errors(nvml)[FIRST] == {"NVLink 7 recovery": 2}


def test_a_gpu_is_asked_again_only_for_what_it_has(nvml: Any) -> None:
    asked: list[int] = []
    answer = nvml.answers["nvmlDeviceGetFieldValues"]
    nvml.answers["nvmlDeviceGetFieldValues"] = lambda device, wanted: (
        asked.append(len(wanted)),
        answer(device, wanted),
    )[1]
    nvml.open = True
    errors = LinkErrors()
    for _ in range(2):
        assert len(errors.of_links(NvmlClient(nvml), 0, FIRST)) == 3 * 18
    assert asked == [4 * 18, 3 * 18]


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"])
def test_a_driver_that_does_not_answer_has_no_counts(nvml: Any, call: str) -> None:
    nvml.refused[call] = "Unknown Error"
    assert count_link_errors(nvml) == {}
