# SPDX-License-Identifier: Apache-2.0
"""Unpacks a bundle: into its own folder and nowhere else, whatever the archive says."""

import lzma
import posixpath
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from nearpeak.bundle.manifest import FOLDER, is_inside
from nearpeak.errors import UserError
from nearpeak.numbers import printable


def unpack(archive: Path, folder: Path) -> Path:
    """Unpacks a bundle into `folder`; returns the bundle's own folder in it.

    UserError when it is no whole archive (of which nothing stays), when it holds anything that
    could lie outside its folder (nothing is written), or when the bundle's folder is there.
    """
    target = folder / FOLDER
    if target.exists():
        raise UserError(f"{target} is there: remove it, or name another folder")
    try:
        with tarfile.open(archive) as opened:
            if why := foreign(opened.getmembers()):
                raise UserError(f"{archive} is not a bundle: {printable(why)}")
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".unbundle-", dir=folder) as aside:
                _extract(opened, aside)
                (Path(aside) / FOLDER).rename(target)
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise UserError(f"{archive} is not a bundle ({printable(str(error))})") from None
    except OSError as error:
        where = printable(str(error.filename or archive))
        raise UserError(f"cannot unpack {archive}: {where}: {error.strerror}") from None
    return target


def foreign(members: Iterable[tarfile.TarInfo]) -> str:
    """Why an archive is not a bundle, by the first entry that belongs into none; "" for a bundle.

    A bundle has files, folders and links below FOLDER. Its symbolic links lead upwards first, if
    at all, and nothing is unpacked through one, so that each stays inside by its words alone.
    """
    entries = list(members)
    names = [posixpath.normpath(entry.name) for entry in entries]
    links = {name for name, entry in zip(names, entries, strict=True) if entry.issym()}
    seen: set[str] = set()
    for name, entry in zip(names, entries, strict=True):
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
    """Whether a symbolic link leads to a place below FOLDER."""
    words = [word for word in target.split("/") if word not in ("", ".")]
    upwards = next((at for at, word in enumerate(words) if word != ".."), len(words))
    if posixpath.isabs(target) or ".." in words[upwards:]:
        return False
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return whole.split("/")[0] == FOLDER


def _extract(opened: tarfile.TarFile, folder: str) -> None:
    if hasattr(tarfile, "data_filter"):  # since Python 3.10.12
        opened.extractall(folder, filter="data")
        return
    for entry in opened.getmembers():
        entry.mode &= 0o755
    opened.extractall(folder)  # every entry was looked at
