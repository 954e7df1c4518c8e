# SPDX-License-Identifier: Apache-2.0
"""Names of machines, and models of GPUs in outputs."""

import pytest

from nearpeak.appraisal.known import data, named, recognised
from nearpeak.errors import UserError
from nearpeak.observations.clues import Clues


@pytest.mark.parametrize("name", ["h100x8-nvlink", "a100x8-nvlink+4x200g", "a100x4-nv4", "1x100g"])
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
        ("NVIDIA GH200 480GB", ""),
        ("AMD Instinct MI300X", ""),
    ],
)
def test_a_model_is_recognised_by_its_product_name(gpu: str, name: str) -> None:
    assert recognised(Clues(gpus=(gpu,) * 8, hosts=1)).id == name


def test_several_models_are_no_machine() -> None:
    assert recognised(Clues(gpus=("NVIDIA L40S", "NVIDIA A40"), hosts=1)).id == ""


def test_every_ceiling_has_a_source_and_one_measure() -> None:
    for one in data().ceiling:
        assert one.source.text
        assert (one.gbs is None) != (one.share is None)
        assert {*one.gpus} <= {gpu.id for gpu in data().gpu}
