# SPDX-License-Identifier: Apache-2.0
"""The partitions of a GPU are drawn as one."""

from collections.abc import Callable

import msgspec
import pytest

from nearpeak.machine.machine import Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.picture.layout import layout
from nearpeak.picture.packages import drawn_as, of_packages, packages_of
from nearpeak.picture.parts import fabrics, spot
from nearpeak.picture.shapes import Picture

Recorded = Callable[[str], Machine]


def words(picture: Picture) -> list[str]:
    return [text.words.replace("\N{NO-BREAK SPACE}", " ") for text in picture.texts]


def test_eight_packages_of_four_partitions(recorded: Recorded) -> None:
    machine = recorded("mi308x-partitions")
    assert [len(package) for package in packages_of(machine)] == [4] * 8
    drawn = of_packages(machine)
    assert [gpu.index for gpu in drawn.gpus] == list(range(0, 32, 4))
    assert {gpu.memory_bytes for gpu in drawn.gpus} == {
        sum(gpu.memory_bytes or 0 for gpu in machine.gpus[:4])
    }
    assert len(drawn.gpu_links) == 28
    assert drawn_as(machine)[31] == 28
    (fabric,) = fabrics(drawn)
    assert (fabric.kind, fabric.gbs, len(fabric.gpus)) == ("xgmi", None, 8)


def test_whole_gpus_are_drawn_as_they_are(recorded: Recorded) -> None:
    machine = recorded("mi210-hives")
    assert of_packages(machine) is machine


def test_memory_of_a_package_is_known_with_that_of_each_partition(recorded: Recorded) -> None:
    machine = recorded("mi308x-partitions")
    gpus = [msgspec.structs.replace(machine.gpus[0], memory_bytes=None), *machine.gpus[1:]]
    drawn = of_packages(msgspec.structs.replace(machine, gpus=gpus))
    assert [gpu.memory_bytes is None for gpu in drawn.gpus] == [True] + [False] * 7


def test_what_the_picture_says(recorded: Recorded) -> None:
    shown = words(layout(recorded("mi308x-partitions")))
    assert "8 × AMD Instinct MI308X in partitions: 192 GiB" in shown
    assert "GPUs 0–3" in shown
    assert shown.count("4 partitions") == 8
    assert "8 GPUs, all to all: xGMI" in shown
    assert not [line for line in shown if "Rates" in line or "each way" in line]


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("gpu-gpu same-gpu", ("gpu", 0, 0)),
        ("gpu-gpu package", ("gpu", 0, 0)),
        ("gpu-gpu xgmi", ("link", 0, 4)),
        ("host-gpu near", ("host link", 0, 0)),
    ],
)
def test_where_a_measured_path_stands(
    recorded: Recorded, path: str, where: tuple[str, int, int]
) -> None:
    machine = recorded("mi308x-partitions")
    paths, _ = discover_paths(machine)
    assert spot(machine, next(each for each in paths if each.id == path)) == where
