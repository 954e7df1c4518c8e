# SPDX-License-Identifier: Apache-2.0
"""A wheel holds all that Nearpeak needs, and runs without the repository."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUN = "from nearpeak.cli.main import main; main()"
WHERE = "from nearpeak.libraries.build import sources; print(sources())"


@pytest.fixture(scope="module")
def wheel(built_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpacked."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(built_wheel) as packed:
        packed.extractall(folder)
    return folder


def files(folder: Path) -> set[str]:
    return {
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def run(wheel: Path, program: str, *words: str) -> str:
    """In the wheel's own folder, without the checkout."""
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    environment.pop("NEARPEAK_BENCH", None)
    command = [sys.executable, "-c", program, *words]
    ended = subprocess.run(
        command, cwd=wheel, env=environment, check=True, capture_output=True, text=True
    )
    return ended.stdout


def test_a_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    found = files(wheel / "nearpeak")
    own = {name for name in found if not name.startswith(("bench/", "preload/"))}
    assert own == files(ROOT / "src" / "nearpeak")


@pytest.mark.parametrize(
    ("folder", "among"),
    [
        ("bench", {"CMakeLists.txt", "third_party/CLI/LICENSE", "programs/mpi/main.cpp"}),
        ("preload", {"preload.cmake", "calls/exported.map", "trace/table.cpp"}),
    ],
)
def test_a_wheel_has_the_sources_of_the_programs(wheel: Path, folder: str, among: set[str]) -> None:
    wanted = {
        name
        for name in files(ROOT / folder)
        if not name.startswith(("tests/", ".")) and "/." not in name
    }
    assert files(wheel / "nearpeak" / folder) == wanted
    assert among <= wanted


def test_a_wheel_has_all_licences_and_the_command(wheel: Path) -> None:
    [about] = wheel.glob("*.dist-info")
    names = {"LICENSE", *(f"bench/third_party/{name}/LICENSE" for name in ("CLI", "doctest"))}
    assert names <= files(about / "licenses")
    assert "nearpeak = nearpeak.cli.main:main" in (about / "entry_points.txt").read_text()


def test_the_command_runs_from_the_wheel(wheel: Path) -> None:
    assert run(wheel, WHERE).strip() == str(wheel / "nearpeak" / "bench")
    assert "nearpeak" in run(wheel, RUN, "--help")
    assert "NUMA" in run(wheel, RUN, "machine")
