# SPDX-License-Identifier: Apache-2.0
"""NCCL where it usually lies; the libraries are the fake one's files."""

import shutil
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries import nccl
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.families import is_ceiling, is_native, mode_of, recognise


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds all that is looked at."""
    monkeypatch.setattr(nccl, "USUAL_FOLDERS", ())
    monkeypatch.setattr(nccl, "_python_prefixes", lambda: iter([tmp_path / "venv"]))
    for variable in nccl.PREFIX_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "loader"))
    return tmp_path


def put(fake_nccl: Path, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(fake_nccl, file))


def test_it_is_found_in_a_python_environment(
    places: Path, fake_nccl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARPEAK_FAKE_NCCL", "version=22705")
    folder = places / "venv/lib/python3.11/site-packages/nvidia/nccl/lib"
    file = put(fake_nccl, folder / "libnccl.so.2")
    library = resolve("nccl")
    assert (library.name, library.family, library.version) == ("nccl", "nccl", "2.27.5")
    assert library.libmpi == file
    assert library.version_text == f"NCCL 2.27.5, {file}"
    assert (is_native(library), is_ceiling(library), mode_of(library)) == (True, False, "nccl")
    assert resolve(f"mine={file}").name == "mine"


def test_the_loaders_comes_first_and_copies_are_left_out(
    places: Path, fake_nccl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beyond = places / ("x" * 300)  # refused, as what may not be entered
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{beyond}:{places / 'loader'}")
    first = put(fake_nccl, places / "loader/libnccl.so.2")
    put(fake_nccl, places / "venv/lib/libnccl.so.2")
    put(fake_nccl, places / "loader/librccl.so.1")
    (places / "venv/lib/librccl.so.1").write_text("no library")
    found = nccl.discover()
    assert [(library.name, library.libmpi.parent) for library in found.libraries] == [
        ("nccl", first.parent),
        ("rccl", first.parent),
    ]
    [problem] = found.problems
    assert problem.startswith(f"{places}/venv/lib/librccl.so.1: ")


def test_without_one_the_way_to_name_it_is_said(places: Path) -> None:
    with pytest.raises(nccl.MissingError, match=r"^nccl was not found .*nccl=/path/to/libnccl\.so"):
        resolve("nccl")
    with pytest.raises(UserError, match=r"there is no /nowhere/libnccl\.so\.2"):
        resolve("/nowhere/libnccl.so.2")
    broken = places / "libnccl.so.2"
    broken.write_text("no library")
    with pytest.raises(UserError, match=r"libnccl\.so\.2 cannot be used: .*"):
        resolve(f"nccl={broken}")


@pytest.mark.parametrize(("number", "words"), [(22803, "2.28.3"), (2804, "2.8.4")])
def test_version_numbers_are_those_of_nccl_h(number: int, words: str) -> None:
    assert nccl.version_words(number) == words


def test_the_family_is_known_by_the_text() -> None:
    known = recognise("RCCL 2.22.3, /opt/rocm/lib/librccl.so.1")
    assert known is not None
    assert (known[0].name, known[1]) == ("rccl", "2.22.3")
