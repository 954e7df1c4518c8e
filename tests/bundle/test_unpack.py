# SPDX-License-Identifier: Apache-2.0
"""A bundle is unpacked into its own folder, and nothing else is unpacked at all."""

import os
import sys
import tarfile
from pathlib import Path

import pytest

from nearpeak.bundle import make, manifest
from nearpeak.bundle.unpack import unpack
from nearpeak.errors import UserError

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
TOP = manifest.FOLDER
FILE, FOLDER, LINK, SAME = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


def test_unpack(tmp_path: Path) -> None:
    folder = tmp_path / "made" / TOP
    (folder / "cache/mpi").mkdir(parents=True)
    (folder / "cache/build").mkdir()
    (folder / "nearpeak").write_text("#!/bin/sh\n")
    (folder / "bench").write_bytes(os.urandom(100_000))
    whole = manifest.make(folder, HERE, {}, {}, {})
    archive = tmp_path / "a.tar.xz"
    make._pack(folder, archive)
    with tarfile.open(archive) as opened:
        assert {member.uname for member in opened} == {""}
    place = unpack(archive, tmp_path)
    assert place == tmp_path / TOP
    assert manifest.make(place, HERE, {}, {}, {}) == whole
    with pytest.raises(UserError, match="is there: remove it"):
        unpack(archive, tmp_path)
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(UserError, match="is not a bundle"):
        unpack(tmp_path / "text", tmp_path / "other")
    whole_bytes = archive.read_bytes()
    (tmp_path / "half").write_bytes(whole_bytes[: len(whole_bytes) // 2])
    with pytest.raises(UserError, match="is not a bundle"):
        unpack(tmp_path / "half", tmp_path / "other")
    assert not (tmp_path / "other" / TOP).exists()
    with pytest.raises(UserError, match="cannot unpack"):
        unpack(tmp_path / "missing", tmp_path / "other")


Entries = list[tuple[str, bytes, str]]  # name, type, what it links to


def archive_of(folder: Path, entries: Entries) -> Path:
    archive = folder / "foreign.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        for name, kind, target in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, target
            tar.addfile(entry)
    return archive


@pytest.mark.parametrize("filtered", [True, False])
def test_links_that_stay_inside_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filtered: bool
) -> None:
    if not filtered:  # as Python before 3.10.12
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    place = unpack(
        archive_of(
            tmp_path,
            [
                (f"{TOP}/a", FOLDER, ""),
                (f"{TOP}/a/libmpi.so.40", FILE, ""),
                (f"{TOP}/a/libmpi.so", LINK, "libmpi.so.40"),
                (f"{TOP}/a/up", LINK, "../b/file"),
                (f"{TOP}/same", SAME, f"{TOP}/a/libmpi.so.40"),
            ],
        ),
        tmp_path / "here",
    )
    assert (place / "a/libmpi.so").is_file()
    assert (place / "same").stat().st_nlink == 2


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([(f"{TOP}/x", FILE, ""), ("mine", FILE, "")], "mine lies outside of nearpeak-bundle"),
        ([("../mine", FILE, "")], "lies outside"),
        ([(f"{TOP}/../mine", FILE, "")], "lies outside"),
        ([(f"{TOP}/x/../../../mine", FILE, "")], "lies outside"),
        ([("/tmp/nearpeak-mine", FILE, "")], "lies outside"),
        ([(f"{TOP}/link", LINK, "../..")], "leads out of nearpeak-bundle, to ../.."),
        ([(f"{TOP}/link", LINK, "/etc")], "leads out"),
        ([(TOP, LINK, "elsewhere")], "leads out"),
        ([(f"{TOP}/a/up", LINK, ".."), (f"{TOP}/out", LINK, "a/up/..")], "leads out"),
        ([(f"{TOP}/in", LINK, "a"), (f"{TOP}/in/mine", FILE, "")], "through a link"),
        ([(f"{TOP}/in/mine", FILE, ""), (f"{TOP}/in", LINK, "a")], "through a link"),
        ([(f"{TOP}/x", LINK, "a"), (f"{TOP}/x", FILE, "")], "to be written over"),
        ([(f"{TOP}/passwd", SAME, "/etc/passwd")], "leads to no file before it"),
        ([(f"{TOP}/a/up", LINK, ".."), (f"{TOP}/up", SAME, f"{TOP}/a/up")], "leads to no file"),
        ([(f"{TOP}/null", tarfile.CHRTYPE, "")], "is a device or a pipe"),
        ([(f"{TOP}/pipe", tarfile.FIFOTYPE, "")], "is a device or a pipe"),
        ([("\x1b[2Jmine", FILE, "")], "\N{REPLACEMENT CHARACTER}[2Jmine lies outside"),
        ([], "it is empty"),
    ],
)
def test_a_foreign_archive_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: Entries, why: str, filtered: bool
) -> None:
    if not filtered:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    archive = archive_of(tmp_path, entries)
    with pytest.raises(UserError) as error:
        unpack(archive, tmp_path / "here")
    assert str(error.value).startswith(f"{archive} is not a bundle: ")
    assert why in str(error.value)
    assert str(error.value).isprintable()
    assert [file.name for file in tmp_path.iterdir()] == ["foreign.tar.xz"]
    assert not Path("/tmp/nearpeak-mine").exists()
