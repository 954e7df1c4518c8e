# SPDX-License-Identifier: Apache-2.0
"""The drawing of every recorded machine: nothing is missing, and nothing lies on anything else."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import msgspec
import pytest

from nearpeak.machine.machine import GpuLink, Machine, Nic
from nearpeak.picture.canvas import NARROW, WIDE, thickness
from nearpeak.picture.layout import layout, processor
from nearpeak.picture.measured import Measured
from nearpeak.picture.packages import of_packages
from nearpeak.picture.parts import NO_PACKAGE
from nearpeak.picture.shapes import PILL, SIZE, Box, Picture, Pill, Text, text_width

Recorded = Callable[[str], Machine]
MadeUp = Callable[[Machine], list[Measured]]
NOTES = ["What must be said of these figures, at some length. " * 3]
INSIDE = {"node": {"socket"}, "memory": {"socket", "node"}}  # what stands in what


class Area(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Area") -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)

    def holds(self, other: "Area") -> bool:
        inside = self.left <= other.left + 0.1 and other.right <= self.right + 0.1
        return inside and self.top <= other.top + 0.1 and other.bottom <= self.bottom + 0.1


def area(shape: Box | Pill | Text) -> Area:
    """What a shape takes; of a text by its estimated width."""
    if isinstance(shape, Box):
        return Area(shape.x, shape.y, shape.x + shape.width, shape.bottom)
    if isinstance(shape, Pill):
        return Area(shape.x, shape.y, shape.x + shape.width, shape.y + PILL)
    width = text_width(shape.words, shape.style == "strong")
    left = shape.x - {"start": 0.0, "middle": width / 2, "end": width}[shape.anchor]
    return Area(left, shape.y - 0.75 * SIZE, left + width, shape.y + 0.2 * SIZE)


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def width(request: pytest.FixtureRequest) -> float:
    return float(request.param)


@pytest.fixture(params=[False, True], ids=["alone", "measured"])
def drawn(
    request: pytest.FixtureRequest, machine: Machine, made_up: MadeUp, width: float
) -> Picture:
    rows = made_up(machine) if request.param else []
    return layout(machine, rows, width, NOTES)


def check_apart(picture: Picture) -> None:
    """No box, text or pill lies on another, but for the parts that stand in others."""
    for box, other in combinations(picture.boxes, 2):
        if box.kind in INSIDE.get(other.kind, ()) and area(box).holds(area(other)):
            continue
        assert not area(box).meets(area(other)), (box, other)
    for box, other in combinations([*picture.texts, *picture.pills], 2):
        assert not area(box).meets(area(other)), (box, other)


def check_inside(picture: Picture) -> None:
    """Nothing is cut off, and every text has the room that it takes."""
    whole = Area(0, 0, picture.width, picture.height)
    for shape in [*picture.boxes, *picture.texts, *picture.pills]:
        assert whole.holds(area(shape)), shape
    for text in picture.texts:
        assert text_width(text.words, text.style == "strong") <= text.room + 0.1, text
        for box in picture.boxes:  # within a box or outside it, never across its edge
            assert area(box).holds(area(text)) or not area(box).meets(area(text)), (box, text)
    for pill in picture.pills:
        for box in picture.boxes:
            assert area(box).holds(area(pill)) or not area(box).meets(area(pill)), (box, pill)


def test_nothing_lies_on_anything_else(drawn: Picture) -> None:
    check_apart(drawn)


def test_nothing_is_cut_off(drawn: Picture) -> None:
    check_inside(drawn)


def test_every_part_is_drawn_once(machine: Machine, drawn: Picture) -> None:
    names = Counter(
        name
        for box in drawn.boxes
        for name in (box.name.split(" adapter ") if box.kind == "adapter" else [box.name])
    )
    wanted = [f"gpu {gpu.index}" for gpu in of_packages(machine).gpus]
    wanted += [
        f"node {node.index}"
        for node in machine.numa_nodes
        if node.memory == "host" and (node.cpus or node.memory_bytes)
    ]
    placed = [core for core in machine.cores if core.numa_node is not None]
    packages = {NO_PACKAGE if core.package is None else core.package for core in placed}
    wanted += [f"socket {package}" for package in packages]
    assert {name: names[name] for name in wanted} == dict.fromkeys(wanted, 1)
    adapters = [name.removeprefix("adapter ") for name in names.elements()]
    for nic in machine.nics:
        assert adapters.count(nic.name) == 1


def test_every_measured_path_stands_at_its_part_and_in_the_key(
    machine: Machine, made_up: MadeUp, width: float
) -> None:
    rows = made_up(machine)
    picture = layout(machine, rows, width)
    key = min(text.y for text in picture.texts if text.words.startswith("How much of each"))
    above = {pill.words.split(" ")[0] for pill in picture.pills if pill.y < key}
    below = {pill.words for pill in picture.pills if pill.y > key} - {""}
    assert above == below == {row.letter for row in rows}


def test_what_was_not_measured_is_thin(recorded: Recorded, made_up: MadeUp) -> None:
    machine = recorded("h200x2")
    rows = made_up(machine)
    measured = [line for line in layout(machine, rows).lines if line.state != "plain"]
    assert {line.title for line in measured} >= {"NVLink 450\N{NO-BREAK SPACE}GB/s"}
    plain = [line for line in layout(machine, rows).lines if line.state == "plain"]
    assert max(line.width for line in plain) < min(line.width for line in measured)
    assert {line.state for line in layout(machine).lines} == {"plain"}


def test_both_directions_of_a_path_stand_on_its_badge(recorded: Recorded, made_up: MadeUp) -> None:
    machine = recorded("h200x2")
    first, back = (row for row in made_up(machine) if row.path.id == "host-gpu near")
    rows = [replace(first, fraction=0.26), replace(back, fraction=0.131, confirmed=False)]
    badges = [pill for pill in layout(machine, rows, WIDE).pills if pill.words.endswith(" %")]
    assert [pill.words for pill in badges] == [f"{first.letter} 26, 13 %"]
    assert (badges[0].fraction, badges[0].confirmed) == (0.131, False)
    assert badges[0].title.count("\n") == 1


def test_a_pair_of_a_fabric_is_a_link_between_its_gpus_alone(
    recorded: Recorded, made_up: MadeUp
) -> None:
    machine = many(recorded("h200x2"), 4)
    links = [GpuLink(one=one, other=other, kind="nvlink", gbs=100.0)
             for one, other in combinations(range(4), 2)]  # fmt: skip
    machine = msgspec.structs.replace(machine, gpu_links=links)
    (row,) = (row for row in made_up(recorded("h200x2")) if row.path.id == "gpu-gpu nvlink")
    ends = tuple(
        msgspec.structs.replace(end, gpu=f"GPU-{index}") for index, end in enumerate(row.path.ends)
    )
    row = replace(row, path=msgspec.structs.replace(row.path, ends=ends))
    drawn = layout(machine, [row], WIDE)
    (measured,) = [line for line in drawn.lines if line.state != "plain"]
    boxes = {box.name: box for box in drawn.boxes}
    assert measured.points[0][0] == boxes["gpu 0"].middle
    assert measured.points[-1][0] == boxes["gpu 1"].middle
    (badge,) = [pill for pill in drawn.pills if pill.words.endswith(" %")]
    bar = next(box for box in drawn.boxes if box.kind == "fabric")
    assert badge.y + PILL < bar.y


@pytest.mark.parametrize("confirmed", [True, False])
def test_the_legend_has_what_is_unconfirmed(
    recorded: Recorded, made_up: MadeUp, width: float, *, confirmed: bool
) -> None:
    machine = recorded("h200x2")
    rows = [replace(row, confirmed=confirmed) for row in made_up(machine)]
    drawn = layout(machine, rows, width)
    assert ("unconfirmed" in [text.words for text in drawn.texts]) != confirmed
    assert max(pill.x + pill.width for pill in drawn.pills) <= width


def test_a_faster_link_is_thicker() -> None:
    assert thickness(50.0) < thickness(400.0) < thickness(2000.0)
    assert thickness(None) == 2.5


def many(machine: Machine, gpus: int) -> Machine:
    """The machine with so many GPUs, all joined to each other but the last two."""
    more = [
        msgspec.structs.replace(machine.gpus[0], index=index, uuid=f"GPU-{index}", numa_node=None)
        for index in range(gpus)
    ]
    links = [
        GpuLink(one=one, other=other, kind="nvlink", gbs=100.0)
        for one, other in combinations(range(gpus), 2)
        if one < gpus - 2
    ]
    return msgspec.structs.replace(machine, gpus=more, gpu_links=links)


@pytest.mark.parametrize("name", ["two-sockets-smt", "h200x2", "epyc-nps4"])
@pytest.mark.parametrize("gpus", [1, 3, 4, 16])
def test_odd_machines(recorded: Recorded, name: str, gpus: int, width: float) -> None:
    """GPUs at no node, in several rows, not all joined; adapters at no node, with long names."""
    base = recorded(name)
    gpu = recorded("h200x2").gpus[0]
    machine = many(msgspec.structs.replace(base, gpus=[gpu]), gpus)
    nics = [
        Nic(
            name=f"{'x' * 60}{number}", kind="ethernet", numa_node=None, rate_gbs=None, addresses=[]
        )
        for number in range(2)
    ]
    veth = Nic(name="veth0", kind="virtual", numa_node=None, rate_gbs=None, addresses=[])
    machine = msgspec.structs.replace(machine, nics=[*nics, veth])
    picture = layout(machine, [], width)
    check_apart(picture)
    check_inside(picture)
    assert sum(box.kind == "gpu" for box in picture.boxes) == gpus
    assert not any("veth0" in box.name for box in picture.boxes)


def without_nodes(machine: Machine, gpus: range) -> Machine:
    """The machine with these GPUs, and all adapters, at NUMA nodes that nobody knows."""
    return msgspec.structs.replace(
        machine,
        gpus=[
            msgspec.structs.replace(gpu, numa_node=None) if gpu.index in gpus else gpu
            for gpu in machine.gpus
        ],
        nics=[msgspec.structs.replace(nic, numa_node=None) for nic in machine.nics],
    )


@pytest.mark.parametrize(
    ("name", "unknown"),
    [
        ("pcie-only", range(4)),
        ("dgx-h100", range(8)),
        ("dgx-h100", range(2, 5)),
        ("power9-ac922", range(1)),
        ("two-sockets-smt", range(0)),  # adapters alone
    ],
)
def test_what_is_near_to_nobody_knows_what_stands_apart(
    recorded: Recorded, made_up: MadeUp, name: str, unknown: range, width: float
) -> None:
    machine = without_nodes(recorded(name), unknown)
    for rows in ([], made_up(machine)):
        picture = layout(machine, rows, width)
        check_apart(picture)
        check_inside(picture)
        boxes = {box.name: box for box in picture.boxes}
        sockets = [box.bottom for box in picture.boxes if box.name.startswith("socket ")]
        assert boxes["unplaced"].y > max(sockets)
        assert "At a NUMA node that is not known" in [text.words for text in picture.texts]
        for gpu in machine.gpus:
            assert (boxes[f"gpu {gpu.index}"].y > boxes["unplaced"].y) == (gpu.index in unknown)


@pytest.mark.parametrize("name", ["two-sockets-smt", "epyc-nps4", "mi250x-node"])
def test_sockets_that_the_firmware_does_not_number(
    recorded: Recorded, made_up: MadeUp, name: str, width: float
) -> None:
    base = recorded(name)
    cores = [msgspec.structs.replace(core, package=None) for core in base.cores]
    machine = msgspec.structs.replace(base, cores=cores)
    picture = layout(machine, made_up(machine), width)
    check_apart(picture)
    check_inside(picture)
    assert [box.name for box in picture.boxes if box.kind == "socket"] == ["socket -1"]
    assert any(text.words.startswith("Sockets not known: ") for text in picture.texts)


def test_memory_without_cores_stands_with_the_nearest_socket(recorded: Recorded) -> None:
    base = recorded("two-sockets-smt")
    far = msgspec.structs.replace(
        base.numa_nodes[0], index=2, cpus=[], distances={0: 30, 1: 14, 2: 10}
    )
    machine = msgspec.structs.replace(base, numa_nodes=[*base.numa_nodes, far])
    boxes = {box.name: box for box in layout(machine).boxes}
    assert area(boxes["socket 1"]).holds(area(boxes["node 2"]))


def test_a_node_of_two_sockets(recorded: Recorded, made_up: MadeUp) -> None:
    """Memory interleaved over the sockets shows as one NUMA node."""
    base = recorded("two-sockets-smt")
    cores = [msgspec.structs.replace(core, numa_node=0) for core in base.cores]
    nics = [msgspec.structs.replace(nic, numa_node=0) for nic in base.nics]
    machine = msgspec.structs.replace(base, cores=cores, numa_nodes=base.numa_nodes[:1], nics=nics)
    picture = layout(machine, made_up(machine))
    check_apart(picture)
    assert any(text.words.startswith("Sockets 0 and 1: ") for text in picture.texts)


def test_a_machine_of_which_nothing_is_known(recorded: Recorded) -> None:
    machine = msgspec.structs.replace(recorded("h200x2"), cores=[], numa_nodes=[], nics=[])
    assert not layout(machine).boxes


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", "Intel Xeon Gold 6248"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("POWER9, altivec supported", "POWER9"),
        ("Intel(R) Xeon(R) Processor", "Intel Xeon"),
    ],
)
def test_names_of_processors(model: str, name: str) -> None:
    assert processor(model) == name
