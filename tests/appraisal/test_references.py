# SPDX-License-Identifier: Apache-2.0
"""What a figure could reach on known hardware."""

import pytest
from made_tables import A100_CARD, H100, MIB, appraised, bus_us, nccl, nvbandwidth, osu, perftest

ONE_HOST, TWO_HOSTS = "srun -N1 -n2 osu_bw\n", "srun -N2 -n2 osu_bw\n"
MI300X = "AMD Instinct MI300X"
COPIES = [(MIB, 9_000.0), (4 * MIB, 9_100.0)]


@pytest.mark.parametrize(
    ("text", "machine", "paths"),
    [
        (osu("Bandwidth", COPIES, "DD"), "h100x8-nvlink", ["NVLink"]),
        (osu("Bandwidth", COPIES, "DD"), "a100x2-nvlink", ["NVLink", "4 NVLinks"]),
        (
            osu("Bandwidth", COPIES, "DD"),
            "h100x8-nvlink+8x400g",
            ["PCIe 5.0 x16", "1 NIC of 400 Gb/s", "NVLink"],
        ),
        (
            osu("Bandwidth", COPIES, "DD"),
            "h100x8-nvlink+1x400g",
            ["1 NIC of 400 Gb/s", "NVLink"],
        ),
        (ONE_HOST + osu("Bandwidth", COPIES, "DD"), "h100x8-nvlink+1x400g", ["NVLink"]),
        (TWO_HOSTS + osu("Bandwidth", COPIES, "DD"), "h100x8-nvlink+1x400g", ["1 NIC of 400 Gb/s"]),
        (TWO_HOSTS + osu("Bandwidth", [(4 * MIB, 2e3)]), "4x200g", ["1 NIC of 200 Gb/s"]),
        (TWO_HOSTS + osu("Bandwidth", [(4 * MIB, 9e3)]), "4x200g", []),
        (osu("Bandwidth", COPIES, "HD"), "b300x8-nvlink", []),
        (nccl(MI300X, [bus_us(512 * MIB, 300, 8)]), "", ["Infinity Fabric"]),
        (nccl(MI300X, [bus_us(512 * MIB, 300, 4)], per_host=4), "", []),
        (nccl(MI300X, [bus_us(512 * MIB, 350, 32)], hosts=4), "8x400g", ["8 NICs of 400 Gb/s"]),
        (osu("Bandwidth", COPIES, "HD"), "gh200x4-nvlink", ["NVLink-C2C"]),
        (osu("Bandwidth", COPIES, "HD"), "gb200x4-nvlink", []),
        (osu("Bandwidth", COPIES, "HD"), "h100x8-nvlink", ["PCIe 5.0 x16"]),
        (osu("Bandwidth", COPIES), "h100x8-nvlink", []),
        (osu("Bi-Directional Bandwidth", COPIES), "1x100g", ["1 NIC of 100 Gb/s, both ways"]),
        (perftest([(MIB, 9_000.0)]), "8x100g", ["1 NIC of 100 Gb/s"]),
        (nccl(A100_CARD, [bus_us(512 * MIB, 25, 8)]), "", ["PCIe 4.0 x16"]),
        (nccl(H100, [bus_us(512 * MIB, 300, 8)]), "", ["NVLink, rings of NCCL"]),
        (nccl(H100, [bus_us(512 * MIB, 450, 8)]), "", ["NVLink SHARP"]),
        (
            nccl(H100, [bus_us(512 * MIB, 90, 4)], hosts=2, per_host=2),
            "8x400g",
            ["PCIe 5.0 x16 of 2 GPUs"],
        ),
        (nvbandwidth(H100, "host_to_device_memcpy_ce", [["50.00"]]), "", ["PCIe 5.0 x16"]),
    ],
)
def test_a_path_has_its_references(text: str, machine: str, paths: list[str]) -> None:
    assert [one.path for one in appraised(text, machine).sustained] == paths


def test_both_ways_are_twice_the_rate() -> None:
    one = appraised(osu("Bandwidth", COPIES), "1x100g").sustained[0].value
    both = appraised(osu("Bi-Directional Bandwidth", COPIES), "1x100g").sustained[0].value
    assert both == pytest.approx(2 * one)
