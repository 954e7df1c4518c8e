# SPDX-License-Identifier: Apache-2.0
"""Host memory that is not registered, as that of messages between host and GPU."""

import pytest
from made_tables import MIB, appraised, osu, rules

from nearpeak.report.appraisals import lines


@pytest.mark.parametrize(
    ("buffers", "gbs", "command"),
    [
        ("HD", 6.56, "nvbandwidth -t host_to_device_memcpy_ce"),
        ("DH", 13.5, "nvbandwidth -t device_to_host_memcpy_ce"),
    ],
)
def test_messages_of_a_sound_link_blame_no_lanes(buffers: str, gbs: float, command: str) -> None:
    """Figures of Open MPI and Intel MPI over PCIe 5.0 x16 (examples/h200x2-shipped)."""
    appraisal = appraised(osu("Bandwidth", [(4 * MIB, gbs * 1e3)], buffers), "h200x2-nvlink")
    assert (appraisal.state, rules(appraisal)) == ("below", ["unregistered"])
    assert appraisal.command == command
    assert not [line for line in lines(appraisal) if "x8" in line or "x4" in line]


@pytest.mark.parametrize("buffers", ["HD", "DH"])
def test_no_rate_of_lanes_is_found_in_messages(buffers: str) -> None:
    for tenths in range(10, 560, 5):
        table = osu("Bandwidth", [(4 * MIB, tenths * 1e2)], buffers)
        assert "fewer_lanes" not in rules(appraised(table, "h200x2-nvlink"))


@pytest.mark.parametrize(
    ("buffers", "gbs", "machine", "found"),
    [
        ("HD", 7.5, "a100x8-nvlink", True),
        ("HD", 7.5, "", True),  # the hardware is not known
        ("HD", 30.0, "h200x2-nvlink", False),  # such copies are slower
        ("HD", 22.0, "a100x8-nvlink", False),  # near what the link sustains
        ("HD", 7.5, "gh200x1-nvlink", False),  # its GPU reads all of the host's memory
        ("HD", 7.5, "1x200g", False),  # a NIC reads memory that is registered with it
        ("DD", 7.5, "a100x8-nvlink", False),
        ("HH", 7.5, "a100x8-nvlink", False),
    ],
)
def test_it_is_named_of_slow_messages_between_host_and_gpu(
    buffers: str, gbs: float, machine: str, found: bool
) -> None:
    appraisal = appraised(osu("Bandwidth", [(4 * MIB, gbs * 1e3)], buffers), machine)
    assert ("unregistered" in rules(appraisal)) is found


def test_it_precedes_pieces_through_host_memory() -> None:
    appraisal = appraised(osu("Bandwidth", [(4 * MIB, 4e3)], "HD"))
    assert (appraisal.state, rules(appraisal)) == ("below", ["unregistered", "staged"])


def test_what_an_amd_gpu_reaches_is_measured_by_a_study() -> None:
    appraisal = appraised(osu("Bandwidth", [(4 * MIB, 7.5e3)], "HD"), "mi300xx8-xgmi")
    assert rules(appraisal) == ["unregistered"]
    assert appraisal.command.startswith("nearpeak study")
