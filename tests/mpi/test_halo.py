# SPDX-License-Identifier: Apache-2.0
"""Halo exchanges on real launches: verified in every way, and what goes wrong in them."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import one_library

QUICK = ("--slot-ms", "0.1", "--least-samples", "3")
NAMES = ("halo2d", "halo3d")
AXES = {
    "radius": ["1", "2", "3"],
    "fields": ["1", "3", "8"],
    "pack": ["kernel", "fused", "direct", "mpi", "mock"],
    "exchange": ["isend", "persistent", "neighbor"],
    "messages": ["aggregated", "each"],
    "type": ["double", "float"],
}
NEIGHBOURS = {"halo2d": ["4", "8"], "halo3d": ["6", "26"]}
WAYS = list(itertools.product(AXES["pack"], AXES["exchange"]))
SIDES = (7, 16)  # of blocks, whose flat ones have sides of 3 and 5 cells, and 8 and 12


def choice(name: str, number: int) -> dict[str, str]:
    """One of many choices of the axes: those near to each other differ in all of them."""
    pack, exchange = WAYS[number % len(WAYS)]
    chosen = {
        "pack": pack,
        "exchange": exchange,
        "radius": AXES["radius"][(number + number // 15) % 3],
        "fields": AXES["fields"][(number + number // 3) % 3],
        "messages": AXES["messages"][(number + number // 3) % 2],
        "type": AXES["type"][number // 2 % 2],
        "neighbours": NEIGHBOURS[name][(number + number // 15) % 2],
    }
    if name == "halo3d":
        chosen["block"] = ["cube", "flat"][number // 5 % 2]
    return chosen


def words(name: str, axes: dict[str, str], sides: tuple[int, ...] = SIDES) -> list[str]:
    """Of the command line."""
    options = itertools.chain(*((f"--{axis}", value) for axis, value in axes.items()))
    return [name, *options, "--sizes", ",".join(map(str, sides))]


def sent_bytes(name: str, side: int, axes: dict[str, str]) -> int:
    """What a rank sends in one exchange."""
    radius = int(axes.get("radius", "1"))
    sides = [side, side, side]
    if name == "halo2d":
        sides[0] = 1
    elif axes.get("block") == "flat":
        sides = [side // 2, side * 3 // 4, side]
    cells = 0
    for way in itertools.product((-1, 0, 1), repeat=3):
        along = sum(map(abs, way))
        far = axes.get("neighbours") in ("8", "26")
        if along == 0 or (along > 1 and not far) or (name == "halo2d" and way[0] != 0):
            continue
        box = [radius if go else side for go, side in zip(way, sides, strict=True)]
        cells += box[0] * box[1] * box[2]
    return cells * int(axes.get("fields", "1")) * {"double": 8, "float": 4}[axes["type"]]


def check(done: Any, chosen: dict[str, dict[str, str]], sides: tuple[int, ...] = SIDES) -> None:
    """All went well, and the rates are of all that is sent."""
    assert done.measured() == set(chosen)
    assert all(record["verified"] for record in done.of("samples"))
    for name, axes in chosen.items():
        own = [record for record in done.of("samples") if record["benchmark"] == name]
        times = [record for record in own if record["metric"] == name]
        rates = [record for record in own if record["metric"] == f"{name}_rate"]
        assert [record["size_bytes"] for record in times] == list(sides)
        for time, rate in zip(times, rates, strict=True):
            assert (time["unit"], rate["unit"]) == ("us", "GB/s")
            packed = axes["pack"] not in ("direct", "mock")
            assert list(time["phases"]) == (["pack", "communicate", "unpack"] if packed else [])
            sent = sent_bytes(name, time["size_bytes"], axes)
            expected = sent / time["samples"][0] / 1e3
            assert rate["samples"][0] == pytest.approx(expected, rel=1e-6)
            assert sum(time["work"]["messages"]) + time["work"]["own_bytes"] == sent


def run(launcher: Any, *choices: dict[str, dict[str, str]], **more: Any) -> None:
    """Both benchmarks in one launch, as often as there are choices."""
    lines = [
        [word for name, axes in chosen.items() for word in words(name, axes)] for chosen in choices
    ]
    for chosen, done in zip(choices, launcher.run_each(lines, *QUICK, **more), strict=True):
        check(done, chosen)


@pytest.mark.parametrize(
    ("measured_library", "ranks", "number"),
    [
        *(("mpich", *each) for each in ((1, 2), (2, 8), (3, 4), (4, 24), (6, 25))),
        ("openmpi", 4, 24),
        ("intel", 3, 4),
    ],
    indirect=["measured_library"],
)
def test_every_number_of_ranks(launcher: Any, ranks: int, number: int) -> None:
    run(launcher, {name: choice(name, number + i) for i, name in enumerate(NAMES)}, ranks=ranks)


@one_library
def test_every_way(launcher: Any) -> None:
    # Two ranks are each other's neighbours on both sides, and their own on the others.
    choices = [
        {"halo2d": choice("halo2d", number), "halo3d": choice("halo3d", 15 + number)}
        for number in range(len(WAYS))
    ]
    run(launcher, *choices, ranks=2)


@one_library
def test_axes(launcher: Any) -> None:
    for name in NAMES:
        assert launcher.axis(name, "neighbours") == NEIGHBOURS[name]
        for axis, values in AXES.items():
            assert launcher.axis(name, axis) == values
    assert launcher.axis("halo3d", "block") == ["cube", "flat"]


@one_library
@pytest.mark.parametrize("ranks", [2, 4])
def test_cells_of_devices(launcher: Any, fake_nvrtc: Path, ranks: int) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    choices = []
    kinds = {"D": AXES["pack"], "M": ["kernel", "direct"], "H,D": ["mpi", "fused"]}
    for buffers, packs in kinds.items():
        for number, pack in enumerate(packs):
            chosen = {name: choice(name, 2 * number + i) for i, name in enumerate(NAMES)}
            for axes in chosen.values():
                axes.update(pack=pack, buffers=buffers)
            if (number == 1) == (ranks == 4):
                choices.append(chosen)
    run(launcher, *choices, fake="reachable=1", env=env, ranks=ranks)


@one_library
@pytest.mark.parametrize(
    ("ranks", "pack", "number"), [(1, "kernel", 1), (2, "mock", 6), (4, "fused", 0)]
)
def test_staged_cells(launcher: Any, fake_nvrtc: Path, ranks: int, pack: str, number: int) -> None:
    # The library dies of an address of these devices.
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    choices = []
    for staging in ("pageable", "pinned", "pipelined"):
        chosen = {name: choice(name, number + i) for i, name in enumerate(NAMES)}
        for axes in chosen.values():
            axes.update(pack=pack, exchange="isend", staging=staging, buffers="D")
        choices.append(chosen)
    run(launcher, *choices, env=env, ranks=ranks)


@one_library
def test_cells_of_opencl(launcher: Any, opencl: str) -> None:
    choices = []
    for pack in ("kernel", "fused", "mock"):
        chosen = {name: choice(name, 3 + i) for i, name in enumerate(NAMES)}
        for axes in chosen.values():
            axes.update(pack=pack, exchange="isend", staging="pinned", buffers="D", devices=opencl)
        choices.append(chosen)
    run(launcher, *choices)


@one_library
def test_what_does_not_fit_is_said(launcher: Any, fake_nvrtc: Path) -> None:
    def told(*line: str, **more: Any) -> list[str]:
        done = launcher.run(*line, *QUICK, **more)
        assert done.code == 0, done.err
        assert {problem["status"] for problem in done.of("problem")} == {"skipped"}
        return [problem["message"] for problem in done.of("problem")]

    # Blocks of one cell that is a neighbour on all sides are large enough for a halo of one.
    small = told("halo2d", "--sizes", "1,2", "--radius", "2", "halo3d", "--sizes", "1,700")
    assert len(small) == 2
    assert "fewer cells along a side than the halo of radius 2" in small[0]
    assert "more than --memory-limit 512M" in small[1]
    [odd] = told("halo3d", "--sizes", "8", "--offset", "4")
    assert "cells of 8 bytes do not go with --offset 4" in odd
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    device = ("--buffers", "D", "--staging", "pinned", "--sizes", "8")
    lines = [
        ("halo3d", *device, *more)
        for more in (
            ("--pack", "direct"),
            ("--pack", "mpi"),
            ("--exchange", "neighbor"),
            ("--pack", "mock", "--exchange", "persistent"),
        )
    ]
    for done in launcher.run_each(lines, *QUICK, env=env):
        [problem] = done.of("problem")
        assert problem["status"] == "skipped"
        assert "--staging copies packed messages" in problem["message"]
    [why] = told("halo3d", "--buffers", "D", "--sizes", "8", fake="reachable=1")
    assert "kernels" in why


@one_library
@pytest.mark.parametrize(
    "defect",
    [
        "* box[13]=>* box[12]",  # rows in place of planes
        "+ field * box[14]=>",
        "thread_number() % THREADS;=>thread_number() % THREADS + 1;",  # cells are left out
        "packed[box[0] + i] = cells=>packed[i] = cells",  # all messages in one place
        "cells[place_in(box, (u32)i)] = packed=>cells[place_in(box, (u32)i) + 1] = packed",
    ],
    ids=["plane", "field", "left-out", "start", "place"],
)
def test_wrong_kernels_are_caught(launcher: Any, fake_nvrtc: Path, defect: str) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc), "NEARPEAK_FAKE_NVRTC": defect}
    lines = [
        words("halo3d", {"pack": pack, "fields": "3", "buffers": "D"}, (33,))
        for pack in ("kernel", "fused")
    ]
    for done in launcher.run_each(lines, *QUICK, code=3, fake="reachable=1", env=env):
        assert [problem["status"] for problem in done.of("problem")] == ["wrong data"]


@one_library
@pytest.mark.parametrize(
    ("fault", "ways"),
    [
        ("dropped", [("kernel", "isend")]),
        ("late", [("fused", "isend")]),
        ("swapped", [("mpi", "isend"), ("mock", "isend")]),
        ("misplaced", [("kernel", "persistent"), ("direct", "isend")]),
        ("gap", [("mock", "isend")]),
    ],
)
def test_wrong_halos_are_caught(
    launcher: Any, compile_shim: Callable[[str], Path], fault: str, ways: list[tuple[str, str]]
) -> None:
    env = {
        "LD_PRELOAD": str(compile_shim("faulty_pt2pt")),
        "NEARPEAK_FAULT": fault,
        "NEARPEAK_FAULTY_BYTES": str(9 * 9 * 8),
        "NEARPEAK_FAULTY_RANK": "2",
    }
    lines = [words("halo3d", {"pack": pack, "exchange": exchange}, (9,)) for pack, exchange in ways]
    for done in launcher.run_each(lines, *QUICK, code=3, env=env, ranks=4):
        [problem] = done.of("problem")
        assert (problem["status"], problem["rank"]) == ("wrong data", 2)
