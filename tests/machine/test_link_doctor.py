# SPDX-License-Identifier: Apache-2.0
"""Links that have less than they could, planted into recorded machines."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine.doctor import examine
from nearpeak.machine.gpus.nvlinks import MODELS
from nearpeak.machine.gpus.pci import DEVICES

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]
ROOT_PORT, UP, DOWN, GPU = "0000:3a:00.0", "0000:3b:00.0", "0000:3c:08.0", "0000:3d:00.0"


def links(root: Path) -> list[tuple[str, str, str]]:
    """Severity, id and message of every finding about links."""
    return [
        (diagnosis.severity, diagnosis.id, diagnosis.message)
        for diagnosis in examine(root, 2, [])
        if diagnosis.id in ("pcie-link", "gpu-links")
    ]


def put_link(put: Put, root: Path, device: str, lanes: str, most: str, gts: str, best: str) -> None:
    """Gives a device's end of a PCIe link."""
    files = {
        "current_link_width": lanes,
        "max_link_width": most,
        "current_link_speed": f"{gts} GT/s PCIe",
        "max_link_speed": f"{best} GT/s PCIe",
    }
    for file, text in files.items():
        put(root, f"{DEVICES}/{device}/{file}", text)


def cut_links(root: Path, gpus: str, kept: int) -> None:
    """Leaves the first NVLinks only of these GPUs, a pattern of their numbers."""
    text = root.read_text(encoding="utf-8")
    text = re.sub(
        r"^nvidia/gpu\{0-7\}/nvlink\{0-17\}: (.*)$",
        lambda line: "\n".join(
            f"nvidia/gpu{gpu}/nvlink{link}: {line[1]}"
            for gpu in range(8)
            for link in range(kept if re.fullmatch(gpus, str(gpu)) else 18)
        ),
        text,
        flags=re.MULTILINE,
    )
    root.write_text(text, encoding="utf-8")


def test_recorded_machines_have_sound_links(any_machine: Path) -> None:
    assert links(any_machine) == []


def test_a_gpu_with_half_of_its_lanes(recorded: Recorded, put: Put) -> None:
    root = recorded("dgx-h100")
    put(root, "nvidia/gpu3/pcie_width_most", "16")
    assert links(root) == []
    put(root, "nvidia/gpu3/pcie_width", "8")
    ((severity, name, message),) = links(root)
    assert (severity, name) == ("warn", "pcie-link")
    assert message == "GPU 3: the PCIe link of 0000:61:00 has 8 of 16 lanes"


@pytest.mark.parametrize(
    ("state", "message"),
    [("P0", "GPU 3: the PCIe link of 0000:61:00 has 8 of 32 GT/s"), ("P8", ""), ("", "")],
)
def test_only_a_gpu_that_works_has_lost_speed(
    recorded: Recorded, put: Put, state: str, message: str
) -> None:
    root = recorded("dgx-h100")
    put(root, "nvidia/gpu3/pcie_width_most", "16")
    put(root, "nvidia/gpu3/pcie_generation_now", "3")
    put(root, "nvidia/gpu3/performance_state", state)
    assert [text for _, _, text in links(root)] == ([message] if message else [])


def test_a_gpu_whose_driver_does_not_say_by_the_kernel(recorded: Recorded, put: Put) -> None:
    root = recorded("pcie-only")
    put_link(put, root, GPU, "8", "16", "2.5", "8.0")
    # At rest: the speed says nothing, the lanes do.
    assert [text for _, _, text in links(root)] == [
        "GPU 0: the PCIe link of 0000:3d:00 has 8 of 16 lanes"
    ]


def test_a_slot_with_fewer_lanes_than_its_card_is_no_fault(recorded: Recorded, put: Put) -> None:
    root = recorded("pcie-only")
    put_link(put, root, DOWN, "8", "8", "8.0", "8.0")
    put_link(put, root, GPU, "8", "16", "8.0", "16.0")
    assert links(root) == []


def test_a_link_above_a_switch_is_that_of_all_below(recorded: Recorded, put: Put) -> None:
    root = recorded("pcie-only")
    put_link(put, root, ROOT_PORT, "4", "16", "8.0", "16.0")
    put_link(put, root, UP, "4", "16", "8.0", "16.0")
    assert [text for _, _, text in links(root)] == [  # at rest, as below a bridge on a card
        f"GPU 0 and GPU 1: the PCIe link above, of {UP}, has 4 of 16 lanes"
    ]
    put(root, "nvidia/gpu1/performance_state", "P0")
    ((severity, name, message),) = links(root)
    assert (severity, name) == ("warn", "pcie-link")
    assert message == (
        f"GPU 0 and GPU 1: the PCIe link above, of {UP}, has 4 of 16 lanes and 8 of 16 GT/s"
    )
    put(root, "sys/class/dmi/id/product_name", "KVM")  # whose ports are not those of its host
    assert links(root) == []


def test_the_speed_of_a_link_above_resting_gpus_and_a_nic(recorded: Recorded, put: Put) -> None:
    root = recorded("pcie-only")
    for end in (ROOT_PORT, UP):
        put_link(put, root, end, "16", "16", "8.0", "16.0")
    assert links(root) == []
    nic = "0000:3f:00.0"
    put(root, "sys/class/infiniband/mlx5_0/device", f"../../../{nic}")
    above = f"../../../devices/pci0000:3a/{ROOT_PORT}/{UP}/0000:3c:18.0"
    put(root, f"{DEVICES}/{nic}", f"{above}/{nic}")
    assert [text for _, _, text in links(root)] == [
        f"NIC mlx5_0:1: the PCIe link above, of {UP}, has 8 of 16 GT/s"
    ]


def test_a_nic_that_lost_lanes_and_speed(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    nic = "0000:c1:00.0"
    put(root, "sys/class/net/enp3s0/device", f"../../../{nic}")
    put(root, f"{DEVICES}/{nic}", f"../../../devices/pci0000:c0/0000:c0:03.1/{nic}")
    put_link(put, root, "0000:c0:03.1", "16", "16", "32.0", "32.0")
    put_link(put, root, nic, "16", "16", "32.0", "32.0")
    assert links(root) == []
    put_link(put, root, nic, "8", "16", "16.0", "32.0")
    assert [text for _, _, text in links(root)] == [
        "NIC enp3s0: the PCIe link of 0000:c1:00 has 8 of 16 lanes and 16 of 32 GT/s"
    ]
    put(root, "sys/class/dmi/id/product_name", "KVM")  # a guest does not see what its slot can do
    assert [text for _, _, text in links(root)] == [
        "NIC enp3s0: the PCIe link of 0000:c1:00 has 8 of 16 lanes"
    ]
    put_link(put, root, nic, "0", "255", "Unknown", "Unknown")  # as a virtual function has it
    assert links(root) == []


@pytest.mark.parametrize(
    ("gpus", "kept", "findings"),
    [
        ("4", 12, ["GPU 4 (NVIDIA H100 80GB HBM3): 12 of 18 NVLinks are active (0-11)"]),
        (
            "[0-7]",
            16,
            ["GPUs 0-7 (NVIDIA H100 80GB HBM3): 16 of 18 NVLinks are active (0-15)"],
        ),
    ],
)
def test_lost_nvlinks(recorded: Recorded, gpus: str, kept: int, findings: list[str]) -> None:
    root = recorded("dgx-h100")
    cut_links(root, gpus, kept)
    assert links(root) == [("warn", "gpu-links", finding) for finding in findings]


@pytest.mark.parametrize(("gpus", "named"), [("[0-7]", "GPUs 0-7"), ("2", "GPU 2")])
def test_all_nvlinks_lost(recorded: Recorded, put: Put, gpus: str, named: str) -> None:
    root = recorded("dgx-h100")
    cut_links(root, gpus, 0)
    message = f"{named} (NVIDIA H100 80GB HBM3): none of 18 NVLinks is active: data go by PCIe"
    assert links(root) == [("bad", "gpu-links", message)]
    put(root, "sys/class/dmi/id/product_name", "KVM")  # whose host may keep NVLink to itself
    assert links(root) == [("warn", "gpu-links", message)]


def test_links_to_gpus_of_other_virtual_machines_are_not_lost(recorded: Recorded, put: Put) -> None:
    root = recorded("power9-ac922")
    put(root, "sys/class/dmi/id/product_name", "KVM")
    text = root.read_text(encoding="utf-8")
    kept = re.sub(r"^nvidia/gpu[0-5]/nvlink\{4-5\}.*\n", "", text, flags=re.MULTILINE)
    assert kept.count("nvlink{4-5}") < text.count("nvlink{4-5}")
    root.write_text(kept, encoding="utf-8")
    assert links(root) == []


def test_a_model_that_is_not_in_the_table_is_compared_with_its_kind_at_a_switch(
    recorded: Recorded, put: Put
) -> None:
    root = recorded("dgx-h100")
    put_names(root, "NVIDIA X900")
    cut_links(root, "[0-7]", 0)
    assert links(root) == []
    put(root, "nvidia/gpu5/nvlink3", "26562 MB/s to switch")
    message = "GPUs 0-4,6-7 (NVIDIA X900): none of 1 NVLinks is active: data go by PCIe"
    assert links(root) == [("warn", "gpu-links", message)]


@pytest.mark.parametrize("model", ["NVIDIA A100 80GB PCIe", "NVIDIA RTX A6000"])
def test_cards_with_bridges_on_some_pairs_only_have_no_fault(
    recorded: Recorded, put: Put, model: str
) -> None:
    root = recorded("dgx-h100")
    put_names(root, model)
    cut_links(root, "[0-7]", 0)
    for gpu, other in ((0, "43"), (1, "1b")):
        for link in range(12):
            put(root, f"nvidia/gpu{gpu}/nvlink{link}", f"25000 MB/s to gpu 0000:{other}:00.0")
    without = f"GPUs 2-7 ({model}): none of 12 NVLinks is active, as without a bridge"
    assert links(root) == [("ok", "gpu-links", without)]
    put(root, "nvidia/gpu2/nvlink0", "25000 MB/s to gpu 0000:61:00.0")
    assert links(root) == [
        (
            "ok",
            "gpu-links",
            f"GPU 2 ({model}): 1 of 12 NVLinks are active (0), as with fewer bridges",
        ),
        ("ok", "gpu-links", without.replace("2-7", "3-7")),
    ]


def test_a_card_of_the_table_without_a_bridge_has_no_fault_but_half_a_bridge_is_one(
    recorded: Recorded,
) -> None:
    root = recorded("dgx-h100")
    put_names(root, "NVIDIA H100 NVL")
    cut_links(root, "[0-7]", 12)
    assert links(root) == []
    root = recorded("dgx-a100")
    put_names(root, "NVIDIA H100 NVL")
    text = root.read_text(encoding="utf-8")
    root.write_text(
        re.sub(r"^nvidia/gpu\{0-7\}/nvlink\{0-11\}", "nvidia/gpu3/nvlink{0-5}", text, flags=re.M)
    )
    whose = "GPUs 0-2,4-7 (NVIDIA H100 NVL)"
    assert links(root) == [
        ("ok", "gpu-links", f"{whose}: none of 12 NVLinks is active, as without a bridge"),
        ("warn", "gpu-links", "GPU 3 (NVIDIA H100 NVL): 6 of 12 NVLinks are active (0-5)"),
    ]


def put_names(root: Path, model: str) -> None:
    """Gives all GPUs the name of another model."""
    text = root.read_text(encoding="utf-8")
    root.write_text(re.sub(r"NVIDIA (H100 80GB HBM3|A100-SXM4-\d+GB)$", model, text, flags=re.M))


def test_a_single_gpu_of_a_virtual_machine_has_no_links_to_lose(
    recorded: Recorded, put: Put
) -> None:
    root = recorded("one-gpu")
    put(root, "nvidia/gpu0/name", "NVIDIA H200")
    assert links(root) == []


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("Tesla V100-SXM2-16GB", 6),
        ("NVIDIA A100-SXM4-80GB", 12),
        ("NVIDIA A100 80GB PCIe", None),
        ("NVIDIA H100 80GB HBM3", 18),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H100 NVL", 12),
        ("NVIDIA H200", 18),
        ("NVIDIA H200 NVL", 18),
        ("NVIDIA B200", 18),
        ("NVIDIA GH200 480GB", None),
        ("NVIDIA GB200", None),
        ("NVIDIA L40S", None),
    ],
)
def test_names_of_models(name: str, count: int | None) -> None:
    fitting = [model.links for model in MODELS if model.fits(name)]
    assert fitting == ([] if count is None else [count])
