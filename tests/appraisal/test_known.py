# SPDX-License-Identifier: Apache-2.0
"""Names of machines, and models of GPUs in outputs."""

import pytest

from nearpeak.appraisal.known import data, measured_ceiling, named, recognised
from nearpeak.errors import UserError
from nearpeak.observations.clues import Clues


@pytest.mark.parametrize(
    "name",
    [
        "h100x8-nvlink",
        "a100x8-nvlink+4x200g",
        "a100x4-nv4",
        "1x100g",
        "a100pciex2-nv12",
        "mi300xx8-xgmi",
    ],
)
def test_a_name_is_that_of_the_hardware(name: str) -> None:
    assert (named(name).id, named(name.upper()).id) == (name, name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "give GPUs, NICs of a host, or both"),
        ("big", "give GPUs, NICs of a host, or both"),
        ("h100x8-nvlink4x200g", "give GPUs, NICs of a host, or both"),
        ("+4x200g", "give GPUs, NICs of a host, or both"),
        ("h10x8-nvlink", "nothing is known of 'h10'; did you mean 'h100'?"),
        ("l40x8-nvlink", "no rates of NVLink are known for L40: give l40x8-pcie"),
        ("h100pciex2-nv12", "no rates of NVLink are known for H100 PCIe: give h100pciex2-pcie"),
        ("h100x8-xgmi", "no rates of Infinity Fabric are known for H100 SXM: give h100x8-nvlink"),
        ("a100x2-nv13", "A100 SXM4 has 1 to 12 NVLinks"),
        ("h100x0-nvlink", "no GPU: give h100x1-nvlink"),
        ("0x100g", "a NIC of no rate, or none"),
    ],
)
def test_a_wrong_name_is_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError, match=r"^--machine") as caught:
        named(name)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("gpu", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "h100x8-nvlink"),
        ("NVIDIA H100 PCIe", "h100pciex8-pcie"),
        ("NVIDIA A100 80GB PCIe", "a100pciex8-pcie"),
        ("NVIDIA A100-PCIE-40GB", "a100pciex8-pcie"),
        ("NVIDIA GeForce RTX 4090", "rtx4090x8-pcie"),
        ("Tesla V100-SXM2-16GB", "v100x8-nvlink"),
        ("NVIDIA A10G", "a10x8-pcie"),
        ("NVIDIA GH200 480GB", "gh200x8-nvlink"),
        ("NVIDIA GB200", "gb200x8-nvlink"),
        ("NVIDIA B200", "b200x8-nvlink"),
        ("NVIDIA B300 SXM6 AC", "b300x8-nvlink"),
        ("NVIDIA H200 NVL", "h200nvlx8-pcie"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtxpro6000x8-pcie"),
        ("AMD Instinct MI300X", "mi300xx8-xgmi"),
        ("AMD Instinct MI210", ""),
    ],
)
def test_a_model_is_recognised_by_its_product_name(gpu: str, name: str) -> None:
    assert recognised(Clues(gpus=(gpu,) * 8, hosts=1)).id == name


def test_ranks_on_an_unknown_number_of_hosts_are_of_no_machine() -> None:
    assert recognised(Clues(tool="nccl-tests", gpus=("NVIDIA GB200",), hosts=None)).id == ""


def test_the_most_ranks_that_a_ceiling_is_for_come_first() -> None:
    h100 = next(gpu for gpu in data().gpu if gpu.id == "h100")
    found = {ranks: measured_ceiling("allreduce", h100, ranks=ranks) for ranks in (4, 5, 8, 16)}
    assert {ranks: one.gbs if one else None for ranks, one in found.items()} == {
        4: None,
        5: 420.0,
        8: 480.0,
        16: 480.0,
    }


def test_several_models_are_no_machine() -> None:
    assert recognised(Clues(gpus=("NVIDIA L40S", "NVIDIA A40"), hosts=1)).id == ""


def test_every_ceiling_has_a_source_and_one_measure() -> None:
    for one in data().ceiling:
        assert one.source.text
        assert (one.gbs is None) != (one.share is None)
        assert {*one.gpus} <= {gpu.id for gpu in data().gpu}
