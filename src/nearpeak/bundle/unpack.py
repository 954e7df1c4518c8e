# SPDX-License-Identifier: Apache-2.0
"""Unpacks a bundle: into its own folder and nowhere else, whatever the archive says."""

import itertools
import lzma
import os
import posixpath
import shutil
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

from nearpeak.bundle.manifest import FOLDER, NAME, Manifest, decoded, is_inside
from nearpeak.errors import UserError
from nearpeak.files import make_output
from nearpeak.numbers import printable

# Above any archive of `nearpeak bundle`: one with more is made to fill a memory or a disk.
MOST_FILES = 200_000
MOST_TIMES = 100  # as large as the archive: libraries take a fourth of their size
LEAST_BYTES = 1 << 20  # that any archive may unpack to
MOST_AT_ONCE = 16 << 20  # bytes of a long name, or of the manifest


def unpack(archive: Path, folder: Path) -> Path:
    """Unpacks a bundle into `folder`; returns the bundle's own folder in it.

    UserError when it is no whole archive (nothing of it stays), when the bundle's folder exists,
    or when others can exchange the content of `folder`. UserError before anything is written when
    the archive holds anything that could lie outside its folder, a file that its manifest does not
    list, or more than the disk takes.
    """
    target = folder / FOLDER
    if target.exists():
        raise UserError(f"{target} is there: remove it, or name another folder")
    try:
        with _Packed(archive) as packed, tarfile.open(fileobj=packed, mode="r:") as opened:
            entries = list(_bounded(opened, archive.stat().st_size))
            reason = foreign(entries) or _unlisted(entries, _manifest(opened).files)
            if reason:
                raise UserError(f"{archive} is not a bundle: {printable(reason)}")
            _check_room(archive, entries, folder)
            make_output(folder)
            with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder) as aside:
                _extract(opened, aside)
                (Path(aside) / FOLDER).rename(target)
    # The last two: tarfile ends so at chains of long names, and at odd maps of sparse files.
    except (tarfile.TarError, lzma.LZMAError, EOFError, RecursionError, ValueError) as error:
        raise UserError(f"{archive} is not a bundle ({printable(str(error))})") from None
    except OSError as error:
        place = printable(str(error.filename or archive))
        raise UserError(f"cannot unpack {archive}: {place}: {error.strerror}") from None
    return target


class _Packed(lzma.LZMAFile):
    """Unpacks an archive as it is read, a small part at a time."""

    def read(self, size: int | None = -1) -> bytes:
        """Reads `size` bytes; tarfile.ReadError where that would be much memory."""
        if size is None or not 0 <= size <= MOST_AT_ONCE:
            raise tarfile.ReadError("a part of it is too long")
        return super().read(size)


def _bounded(opened: tarfile.TarFile, archive_bytes: int) -> Iterator[tarfile.TarInfo]:
    """Yields the entries before their content is unpacked; tarfile.ReadError for too many entries,
    and for too many bytes."""
    left = max(MOST_TIMES * archive_bytes, LEAST_BYTES)
    for number, entry in enumerate(opened, start=1):
        left -= entry.size
        if entry.issparse():
            raise tarfile.ReadError(f"{entry.name} is a sparse file")
        if number > MOST_FILES:
            raise tarfile.ReadError(f"it has more than {MOST_FILES} files")
        if left < 0 or entry.size < 0:
            raise tarfile.ReadError(f"it unpacks to more than {MOST_TIMES} times as large")
        yield entry


def _manifest(opened: tarfile.TarFile) -> Manifest:
    """The manifest in an archive; tarfile.ReadError without one that can be read."""
    try:
        file = opened.extractfile(f"{FOLDER}/{NAME}")
        assert file is not None
        return decoded(file.read())
    except (KeyError, AssertionError):
        raise tarfile.ReadError(f"it has no {NAME}") from None
    except ValueError as error:
        raise tarfile.ReadError(f"{NAME}: {error}") from None


def _unlisted(entries: Iterable[tarfile.TarInfo], listed: Collection[str]) -> str:
    """The reason why an archive is not a bundle: the first file, or link to one, that its manifest
    does not list; "" for a bundle. Links to folders are in no manifest."""
    named = [(posixpath.normpath(entry.name), entry) for entry in entries]
    files = {name for name, entry in named if not (entry.issym() or entry.isdir())}
    links = {
        name: posixpath.normpath(posixpath.join(posixpath.dirname(name), entry.linkname))
        for name, entry in named
        if entry.issym()
    }
    while reached := {name for name, target in links.items() if target in files} - files:
        files |= reached  # a link may lead to another one
    unlisted = files - {f"{FOLDER}/{name}" for name in (NAME, *listed)}
    if unlisted:
        return f"its manifest does not list {min(unlisted).removeprefix(f'{FOLDER}/')}"
    return ""


def _check_room(archive: Path, entries: Iterable[tarfile.TarInfo], folder: Path) -> None:
    """UserError where the disk has no room for these entries."""
    needed, free = sum(entry.size for entry in entries), free_bytes(folder)
    if needed > free:
        raise UserError(
            f"cannot unpack {archive}: it needs {needed / 1e6:.0f} MB, and the disk of {folder} "
            f"has {free / 1e6:.0f} MB free: name a folder of another disk"
        )


def free_bytes(folder: Path) -> int:
    """Bytes that are free where a folder is, or would be made."""
    existing = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()
    )
    return shutil.disk_usage(existing).free


def foreign(members: Iterable[tarfile.TarInfo]) -> str:
    """The reason why an archive is not a bundle: its first foreign entry; "" for a bundle.

    A bundle has files, folders and links below FOLDER. Its symbolic links lead upwards first, if
    at all, and nothing is unpacked through one: the text of each shows whether it stays inside.
    """
    named = [(posixpath.normpath(entry.name), entry) for entry in members]
    links = {name for name, entry in named if entry.issym()}
    seen: set[str] = set()
    for name, entry in named:
        parents = [str(parent) for parent in PurePosixPath(name).parents]
        if not is_inside(entry.name) or name.split("/")[0] != FOLDER:
            return f"{entry.name} lies outside of {FOLDER}"
        if name in seen or links.intersection(parents):
            return f"{entry.name} is to be written over, or through a link"
        if entry.issym() and not _stays(name, entry.linkname):
            return f"the link {entry.name} leads out of {FOLDER}, to {entry.linkname}"
        if entry.islnk() and (entry.linkname in links or entry.linkname not in seen):
            return f"the link {entry.name} leads to no file before it: {entry.linkname}"
        if not (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk()):
            return f"{entry.name} is a device or a pipe"
        seen.add(name)
    return "" if seen else "it is empty"


def _stays(name: str, target: str) -> bool:
    """True if a symbolic link leads to a place below FOLDER."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    below = itertools.dropwhile("..".__eq__, parts)
    if posixpath.isabs(target) or ".." in below:
        return False
    resolved = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return resolved.split("/")[0] == FOLDER


def _extract(opened: tarfile.TarFile, folder: str) -> None:
    """Unpacks all; only the owner may write the files, whatever the umask is."""
    before = os.umask(0o022)
    try:
        if hasattr(tarfile, "data_filter"):  # since Python 3.10.12
            opened.extractall(folder, filter="data")
            return
        for entry in opened.getmembers():
            entry.mode &= 0o755
        opened.extractall(folder)  # every entry was checked
    finally:
        os.umask(before)
