# SPDX-License-Identifier: Apache-2.0
"""A bundle is unpacked into its own folder, and nothing else is unpacked at all."""

import hashlib
import io
import lzma
import os
import stat
import sys
import tarfile
from collections.abc import Collection
from pathlib import Path

import msgspec
import pytest

from nearpeak.bundle import make, manifest
from nearpeak.bundle.unpack import MOST_FILES, unpack
from nearpeak.errors import UserError
from two_users import OTHER, TwoUsers

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
    (folder / manifest.NAME).write_bytes(msgspec.json.encode(whole))
    archive = tmp_path / "a.tar.xz"
    make._pack(folder, archive)
    with tarfile.open(archive) as opened:
        assert {member.uname for member in opened} == {""}
    place = unpack(archive, tmp_path)
    assert place == tmp_path / TOP
    assert manifest.problems(place) == []
    (place / manifest.NAME).unlink()
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


def archive_of(folder: Path, entries: Entries, unlisted: Collection[str] = ()) -> Path:
    """An archive of empty files and of other things; its manifest, if it has an entry, lists all
    that are no folders but the unlisted ones."""
    listed = [
        name.removeprefix(f"{TOP}/")
        for name, kind, _ in entries
        if kind != FOLDER and name not in unlisted
    ]
    archive = folder / "foreign.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        for name, kind, target in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, target
            tar.addfile(entry)
        if entries:
            add(tar, manifest.NAME, manifest_of(listed))
    return archive


def manifest_of(files: Collection[str]) -> bytes:
    """A manifest of empty files."""
    whole = manifest.Manifest(
        schema=manifest.SCHEMA, nearpeak="0.1.0", python=HERE, machine="x86_64", glibc="2.17",
        parts={}, libraries={}, lacks={}, packages={},
        files=dict.fromkeys(files, hashlib.sha256(b"").hexdigest()),
    )  # fmt: skip
    return msgspec.json.encode(whole)


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """Adds a file of the bundle to an archive."""
    entry = tarfile.TarInfo(f"{TOP}/{name}")
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def refusal(archive: Path, folder: Path) -> str:
    """Why an archive is refused; nothing was written then."""
    with pytest.raises(UserError) as error:
        unpack(archive, folder / "here")
    assert not (folder / "here").exists()
    assert str(error.value).isprintable()
    return str(error.value)


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


@pytest.mark.parametrize(
    ("extra", "kind", "target"),
    [
        ("python/sitecustomize.py", FILE, ""),
        ("python/sitecustomize.py", LINK, "../listed"),
        ("python/sitecustomize.py", LINK, "../again"),
        ("python/sitecustomize.py", SAME, f"{TOP}/listed"),
    ],
)
def test_what_the_manifest_does_not_list_is_refused(
    tmp_path: Path, extra: str, kind: bytes, target: str
) -> None:
    entries: Entries = [
        (f"{TOP}/listed", FILE, ""),
        (f"{TOP}/again", LINK, "listed"),
        (f"{TOP}/{extra}", kind, target),
    ]
    archive = archive_of(tmp_path, entries, [f"{TOP}/{extra}"])
    assert f"its manifest does not list {extra}" in refusal(archive, tmp_path)


@pytest.mark.parametrize("content", [None, b"{}", b"[" * 100_000, b"\xff"])
def test_without_a_manifest_nothing_is_unpacked(tmp_path: Path, content: bytes | None) -> None:
    archive = tmp_path / "a.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        add(tar, "x", b"")
        if content is not None:
            add(tar, manifest.NAME, content)
    assert "manifest.json" in refusal(archive, tmp_path)


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    """Its 512 bytes stand for 100 GiB."""
    archive = tmp_path / "a.tar.xz"
    with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT) as tar:
        add(tar, manifest.NAME, manifest_of(["s"]))
        entry = tarfile.TarInfo(f"{TOP}/s")
        entry.size = 512
        whole = str(100 << 30)
        entry.pax_headers = {
            "GNU.sparse.map": "0,512", "GNU.sparse.size": whole,
            "GNU.sparse.realsize": whole, "GNU.sparse.numblocks": "1",
        }  # fmt: skip
        tar.addfile(entry, io.BytesIO(b"x" * 512))
    assert f"{TOP}/s is a sparse file" in refusal(archive, tmp_path)


def compressed(archive: Path, blocks: Collection[bytes]) -> Path:
    """An archive of these blocks, and of 64 MiB of zeros behind them."""
    with lzma.open(archive, "wb", preset=0) as packed:
        for block in blocks:
            packed.write(block + b"\0" * (-len(block) % 512))
        for _ in range(64):
            packed.write(bytes(1 << 20))
    return archive


@pytest.mark.parametrize("size", [63 << 20, 1 << 40])
def test_an_archive_that_becomes_much_larger_is_refused(tmp_path: Path, size: int) -> None:
    """Also one that says so and has not as much."""
    entry = tarfile.TarInfo(f"{TOP}/zeros")
    entry.size = size
    text = manifest_of(["zeros"])
    first = tarfile.TarInfo(f"{TOP}/{manifest.NAME}")
    first.size = len(text)
    blocks = [first.tobuf(), text, entry.tobuf(format=tarfile.GNU_FORMAT)]
    archive = compressed(tmp_path / "a.tar.xz", blocks)
    assert "more than 100 times as large" in refusal(archive, tmp_path)


def test_a_long_name_is_not_read_into_the_memory(tmp_path: Path) -> None:
    """A name of 32 MiB is in the format, and a gigabyte of it takes 150 KB."""
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = tarfile.GNUTYPE_LONGNAME, 32 << 20
    archive = compressed(tmp_path / "a.tar.xz", [entry.tobuf(format=tarfile.GNU_FORMAT)])
    assert "a part of it is too long" in refusal(archive, tmp_path)


def test_headers_that_tarfile_does_not_stand_are_refused(tmp_path: Path) -> None:
    """A chain of 5,000 long names, and a map of a sparse file that is none."""
    name = tarfile.TarInfo("././@LongLink")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, 10
    chain = [name.tobuf(format=tarfile.GNU_FORMAT), b"x" * 10] * 5000
    assert "is not a bundle" in refusal(compressed(tmp_path / "chain", chain), tmp_path)
    archive = tmp_path / "map"
    with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT) as tar:
        entry = tarfile.TarInfo(f"{TOP}/s")
        entry.pax_headers = {"GNU.sparse.map": "0,x"}
        tar.addfile(entry)
    assert "is not a bundle" in refusal(archive, tmp_path)


def test_nothing_is_unpacked_where_others_can_exchange_it(
    tmp_path: Path, two_users: TwoUsers
) -> None:
    archive = archive_of(tmp_path, [(f"{TOP}/a", FILE, "")])
    theirs = two_users.folder("theirs", OTHER, OTHER, 0o777)
    with pytest.raises(UserError, match="others can exchange what is in it"):
        unpack(archive, theirs)
    assert not [*theirs.iterdir()]


def test_very_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearpeak.bundle.unpack.MOST_FILES", 3)
    assert MOST_FILES >= 100_000
    entries: Entries = [(f"{TOP}/{number}", FILE, "") for number in range(3)]
    assert "it has more than 3 files" in refusal(archive_of(tmp_path, entries), tmp_path)


def test_a_disk_without_room_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearpeak.bundle.unpack.free_bytes", lambda _: 10)
    with pytest.raises(UserError, match=r"cannot unpack .*: it needs .* has 0 MB free"):
        unpack(archive_of(tmp_path, [(f"{TOP}/x", FILE, "")]), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["foreign.tar.xz"]


def test_no_folder_is_open_to_others(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        place = unpack(
            archive_of(tmp_path, [(f"{TOP}/a", FOLDER, ""), (f"{TOP}/a/x", FILE, "")]), tmp_path
        )
    finally:
        assert os.umask(before) == 0o002
    for path in (place, *place.rglob("*")):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o022, path
