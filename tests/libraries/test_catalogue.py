# SPDX-License-Identifier: Apache-2.0
"""The catalogue, and installing from it by real pip, with a made-up wheel and no network."""

import errno
import hashlib
import os
import platform
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries import catalogue
from nearpeak.libraries.families import all_families
from two_users import TwoUsers

HERE = platform.machine()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A tiny wheel that pip can find, the only one; returns its hash."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    file = folder / "tinympi-1.0-py3-none-any.whl"
    info = "tinympi-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("tinympi-1.0.data/data/bin/mpirun", "#!/bin/sh\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinympi\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def catalogue_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Replaces the catalogue by one entry `tiny`, and the cache by an empty one."""

    def make(**hashes: str) -> None:
        tiny = catalogue.Entry(
            name="tiny", family="mpich", summary="", wheel="tinympi", version="1.0", sha256=hashes
        )
        monkeypatch.setattr(catalogue, "entries", lambda: {"tiny": tiny})
        monkeypatch.setenv("NEARPEAK_CACHE", str(tmp_path / "cache"))

    return make


def left_in(folder: Path) -> list[Path]:
    return list((folder / "cache" / "mpi").iterdir())


def test_its_entries_are_complete() -> None:
    assert set(catalogue.libraries()) == {"openmpi", "openmpi-cuda", "mpich", "intel"}
    for entry in catalogue.entries().values():
        assert entry.family in ("", *all_families())
        assert "x86_64" in entry.sha256
        assert all(len(value) == 64 for value in entry.sha256.values())
        assert all(other in catalogue.entries() for other in entry.needs)


def test_an_entry_with_a_base_shares_its_prefix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEARPEAK_CACHE", str(tmp_path))
    base, derived = catalogue.entry("openmpi"), catalogue.entry("openmpi-cuda")
    assert derived.prefix == base.prefix
    assert derived.family == base.family
    base.prefix.mkdir(parents=True)
    assert base.installed
    assert not derived.installed
    needed = catalogue.entry("ucx-cuda").prefix
    needed.mkdir()
    assert derived.installed
    assert derived.environment["UCX_MODULE_DIR"] == f"{needed}/libucx/lib/ucx"


def test_add_installs_what_is_needed(
    wheel: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fields = {"summary": "", "wheel": "tinympi", "version": "1.0", "sha256": {HERE: wheel}}
    made = [
        catalogue.Entry(name="tiny", family="mpich", **fields),
        catalogue.Entry(name="extra", **fields),
        catalogue.Entry(name="both", family="mpich", base="tiny", needs=["extra"], **fields),
    ]
    monkeypatch.setattr(catalogue, "entries", lambda: {entry.name: entry for entry in made})
    monkeypatch.setenv("NEARPEAK_CACHE", str(tmp_path / "cache"))
    assert catalogue.add("both") == catalogue.entry("tiny").prefix
    assert {file.name for file in left_in(tmp_path)} == {"tiny-1.0", "extra-1.0"}
    # The one is a whole prefix; the other a folder of Python packages.
    assert not (catalogue.entry("tiny").prefix / "tinympi-1.0.dist-info").exists()
    assert (catalogue.entry("extra").prefix / "tinympi-1.0.dist-info").exists()


def test_add_installs_once(
    wheel: str, catalogue_of: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue_of(**{HERE: wheel})
    assert not catalogue.entry("tiny").installed
    prefix = catalogue.add("tiny")
    assert (prefix / "bin" / "mpirun").exists()
    assert catalogue.entry("tiny").installed
    assert left_in(tmp_path) == [prefix]
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert catalogue.add("tiny") == prefix  # without asking pip


def test_a_wrong_hash_installs_nothing(
    wheel: str, catalogue_of: Callable[..., None], tmp_path: Path
) -> None:
    catalogue_of(**{HERE: wheel[::-1]})
    with pytest.raises(UserError, match=r"cannot install tinympi 1\.0"):
        catalogue.add("tiny")
    assert left_in(tmp_path) == []


def test_no_index_is_one_clear_line(
    catalogue_of: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue_of(**{HERE: "0" * 64})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(UserError, match="make sure that a package index can be reached") as error:
        catalogue.add("tiny")
    assert "\n" not in str(error.value)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_no_fault_of_the_index(
    catalogue_of: Callable[..., None], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    catalogue_of(**{HERE: "0" * 64})
    said = f"ERROR: Could not install packages due to an OSError: {os.strerror(number)}"
    done = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(UserError, match=r"no space is left to install .*NEARPEAK_CACHE"):
        catalogue.add("tiny")


def test_a_crash_leaves_nothing_that_looks_installed(
    catalogue_of: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_wanted: catalogue.Entry, prefix: Path) -> None:
        (prefix / "lib").mkdir()
        raise KeyboardInterrupt

    catalogue_of(**{HERE: "0" * 64})
    monkeypatch.setattr(catalogue, "_install", crash)
    with pytest.raises(KeyboardInterrupt):
        catalogue.add("tiny")
    assert not catalogue.entry("tiny").installed


def test_no_wheel_for_this_machine(catalogue_of: Callable[..., None]) -> None:
    catalogue_of(m68k="0" * 64)
    with pytest.raises(UserError, match=f"no wheel for {HERE} \\(only for m68k\\)"):
        catalogue.add("tiny")


def test_unwritable_cache(
    catalogue_of: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    catalogue_of(**{HERE: "0" * 64})
    (tmp_path / "file").touch()
    monkeypatch.setenv("NEARPEAK_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="set NEARPEAK_CACHE"):
        catalogue.add("tiny")


def test_unknown_name() -> None:
    with pytest.raises(UserError, match=r"the catalogue has no library 'x'; there are: openmpi, "):
        catalogue.add("x")


def test_what_others_can_exchange_is_not_taken_for_installed(
    two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARPEAK_CACHE", str(two_users.place))
    prefix = catalogue.entry("mpich").prefix
    prefix.mkdir(parents=True)
    assert catalogue.add("mpich") == prefix
    prefix.chmod(0o777)
    with pytest.raises(UserError, match=f"all users may write {prefix}"):
        catalogue.add("mpich")
