# SPDX-License-Identifier: Apache-2.0
"""The packages of a bundle: which, for which Python, and how a wheel is unpacked."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from nearpeak.bundle import wheels
from nearpeak.errors import UserError

NEW = {"python_version": "3.12", "python_full_version": "3.12.0"}
OLD = {"python_version": "3.10", "python_full_version": "3.10.0"}
PROJECT = """
[project]
dependencies = ["one==1.0", "many>=2,<3", "old>=1; python_version < '3.11'", "cmake==4", "ninja==1"]
"""
LOCK = """one==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via nearpeak (pyproject.toml)
Many_Words==2.1 ; python_full_version < '3.11' \\
    --hash=sha256:cc
many-words==2.2 ; python_full_version >= '3.11' \\
    --hash=sha256:dd
"""


def wheel(folder: Path, **files: str) -> Path:
    file = folder / "sample-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file


def test_what_is_needed_depends_on_the_python_and_is_no_build_tool() -> None:
    assert wheels.needed(PROJECT, NEW) == ["one==1.0", "many<3,>=2"]
    assert wheels.needed(PROJECT, OLD) == ["one==1.0", "many<3,>=2", "old>=1"]


def test_pins_are_those_of_the_python() -> None:
    assert wheels.pins(LOCK, NEW) == {"one": ("1.0", {"aa", "bb"}), "many-words": ("2.2", {"dd"})}
    assert wheels.pins(LOCK, OLD)["many-words"] == ("2.1", {"cc"})


def test_the_projects_own_files_are_understood() -> None:
    checkout = Path(__file__).parents[2]
    wanted = wheels.needed((checkout / "pyproject.toml").read_text(), NEW)
    locked = wheels.pins((checkout / "requirements.lock").read_text(), NEW)
    assert any(name.startswith("numpy") for name in wanted)
    assert not any(name.startswith(("cmake", "ninja")) for name in wanted)
    assert all(len(value) == 64 for _, hashes in locked.values() for value in hashes)
    assert {"numpy", "scipy", "typer", "packaging"} <= set(locked)


def test_wheels_that_need_a_newer_glibc_are_not_asked_for() -> None:
    tags = wheels._platforms("x86_64")
    assert tags[0] == "manylinux_2_28_x86_64"
    assert tags[-2:] == ["manylinux_2_5_x86_64", "manylinux1_x86_64"]
    assert "manylinux2014_x86_64" in tags


def test_unpacked_as_installed(tmp_path: Path) -> None:
    file = wheel(
        tmp_path,
        **{
            "sample/a.py": "a",
            "sample/tests/test_a.py": "no",
            "sample-1.0.data/purelib/other/b.py": "b",
            "sample-1.0.data/data/share/c": "no",
        },
    )
    wheels.unpack(file, tmp_path / "there")
    files = {
        str(other.relative_to(tmp_path / "there")): other.read_text()
        for other in (tmp_path / "there").rglob("*")
        if other.is_file()
    }
    assert files == {"sample/a.py": "a", "other/b.py": "b"}


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    file = wheel(tmp_path, **{"../outside.py": "x"})
    with pytest.raises(UserError, match="outside its folder"):
        wheels.unpack(file, tmp_path / "there")
    assert not (tmp_path / "outside.py").exists()


def test_only_the_files_of_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["sample==1.0"]\n')
    info = {"METADATA": "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n", "RECORD": ""}
    info["WHEEL"] = "Wheel-Version: 1.0\nTag: py3-none-any\n"
    (tmp_path / "index").mkdir()
    named = {f"sample-1.0.dist-info/{name}": text for name, text in info.items()}
    file = wheel(tmp_path / "index", **named, **{"sample.py": "x"})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    right = hashlib.sha256(file.read_bytes()).hexdigest()
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"sample==1.0 --hash=sha256:{right}\n")
    assert wheels.lay_out(tmp_path, "3.12", tmp_path / "there") == {"sample": "1.0"}
    assert (tmp_path / "there/sample.py").read_text() == "x"
    for text in (f"sample==1.0 --hash=sha256:{right[::-1]}\n", ""):
        lock.write_text(text)
        with pytest.raises(UserError, match=r"is not the file that requirements\.lock names"):
            wheels.lay_out(tmp_path, "3.12", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_no_index_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["nearpeak-nothing==1"]\n')
    (tmp_path / "requirements.lock").write_text("")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match=r"cannot get the packages for Python 3\.12") as error:
        wheels.lay_out(tmp_path, "3.12", tmp_path / "there")
    assert "\n" not in str(error.value)
