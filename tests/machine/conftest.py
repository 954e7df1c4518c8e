# SPDX-License-Identifier: Apache-2.0
"""Recorded machines, and the fake of NVIDIA's library."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_nvml import FakeNvml

from nearpeak.machine.machine import Machine
from nearpeak.machine.sysfs import from_sysfs

MACHINES = Path(__file__).parent.parent / "machines"
NAMES = sorted(file.stem for file in MACHINES.glob("*.txt"))


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the file of the recorded machine of that name, for one test to change."""

    def copied(name: str) -> Path:
        copy = tmp_path / f"{name}.txt"
        if not copy.exists():
            shutil.copy(MACHINES / copy.name, copy)
        return copy

    return copied


@pytest.fixture
def load(recorded: Callable[[str], Path]) -> Callable[[str], Machine]:
    """Gives the recorded machine of that name."""
    return lambda name: from_sysfs(recorded(name))


@pytest.fixture(params=NAMES)
def any_machine(request: pytest.FixtureRequest, recorded: Callable[[str], Path]) -> Path:
    """Each recorded machine in turn."""
    return recorded(request.param)


@pytest.fixture
def put() -> Callable[[Path, str, str], None]:
    """Changes a recorded machine: `put(file, path, text)`."""

    def append(file: Path, path: str, text: str) -> None:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{path}: " + text.replace("\n", "\\n") + "\n")

    return append


@pytest.fixture
def nvml() -> FakeNvml:
    """A fake of NVIDIA's library, for one test to change."""
    return FakeNvml()
