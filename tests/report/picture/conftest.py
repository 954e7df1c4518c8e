# Every figure in this file is made up: none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Recorded machines, and a study of each in which every path was measured."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nearpeak.machine.model import Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.report.picture.links import Measured, ends_words, is_drawn

MACHINES = Path(__file__).parents[2] / "machines"
NAMES = sorted(file.stem for file in MACHINES.glob("*.txt"))
FRACTIONS = (0.97, 0.62, 0.23)


def _recorded(name: str) -> Machine:
    return from_sysfs(MACHINES / f"{name}.txt")


def _made_up(machine: Machine, library: str = "openmpi-cuda@dmabuf-off") -> list[Measured]:
    """A row for each path, also of two hosts, as a study of everything would have."""
    paths, _ = discover_paths(machine, ["recorded", "other"])
    letters: dict[str, str] = {}
    rows = []
    for number, path in enumerate(filter(is_drawn, paths)):
        local = path.transport == "local"
        kind = "local" if local else path.id
        ceiling, fraction = 0.8 * (path.theoretical_gbs or 30.0), FRACTIONS[number % 3]
        row = Measured(
            letter=letters.setdefault(kind, chr(ord("A") + len(letters))),
            path=path,
            name=path.id,
            ends=ends_words(machine, path, turned=False),
            size_bytes=1 << 26,
            unit="GB/s",
            ceiling=ceiling,
            who=None if local else library,
            value=None if local else ceiling * fraction,
            fraction=None if local else fraction,
            why="no MPI" if local else "",
        )
        rows.append(row)
        if path.id == "host-gpu near":
            rows.append(replace(row, ends=ends_words(machine, path, turned=True)))
    return rows


@pytest.fixture(params=NAMES)
def machine(request: pytest.FixtureRequest) -> Machine:
    """Every recorded machine."""
    return _recorded(str(request.param))


@pytest.fixture
def recorded() -> Callable[[str], Machine]:
    """Gives a machine of tests/machines by its name."""
    return _recorded


@pytest.fixture
def made_up() -> Callable[[Machine], list[Measured]]:
    """Gives what a study of every path of a machine might have measured."""
    return _made_up
