# SPDX-License-Identifier: Apache-2.0
"""Writing a file whole or not at all, and onto the disk."""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nearpeak import owners
from nearpeak.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT)  # a full disk, or a user's full quota
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)  # of a disk without hard links
# With less space than this, a failure is taken for that of a full disk.
LEAST_FREE_BYTES = 64 * 1024


def says_full(text: str) -> bool:
    """True if the output of a program says that a disk is full."""
    return any(os.strerror(number) in text for number in FULL)


def disk_is_full(folder: Path) -> bool:
    """True if the folder's disk has hardly any space left."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < LEAST_FREE_BYTES


def put_whole(target: Path, data: bytes) -> None:
    """Writes `data` to `target`, which is never seen half-written and is on the disk afterwards.

    A temporary file in the same folder is renamed over it, or over what it links to. A device, a
    FIFO or an open file of a process (/dev/stdout) is written into. OSError.
    """
    if _is_stream(target):
        with target.open("ab") as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if regular and target.absolute().parts[1] not in ("dev", "proc"):
                raise PermissionError(errno.EPERM, "it was exchanged meanwhile")
            file.write(data)
        return
    with replacing(target) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(target: Path, *, new: bool = False) -> Iterator[BinaryIO]:
    """Yields a new file that replaces `target`, or what it links to, once it is complete and on the
    disk; with `new` it replaces nothing. OSError, of which FileExistsError for a `new` one.

    It is opened below the folder's descriptor, by a random name, and never through a link: in a
    folder that others can write to, nobody can put another file in its place. PermissionError where
    others can exchange the folder itself.
    """
    target = _landing(target)
    temporary = f".{target.name[:100]}.{secrets.token_hex(8)}"
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            with os.fdopen(_new(temporary, folder), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if new:
                _rename_new(temporary, target.name, folder)
            else:
                os.replace(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)  # else a crash may undo the renaming
    finally:
        os.close(folder)


def _landing(target: Path) -> Path:
    """Return the path that a new file replaces: what `target` links to, or the link itself where
    other users may lay links, as in /tmp."""
    absolute = target.absolute()
    folder = absolute.parent.resolve()
    risks = list(owners.risks(absolute.parent))
    for risk in risks:
        if risk.by == "owner" or (risk.by == "others" and risk.path != folder):
            reason = f"others can exchange its folder, as {risk.why}; {risk.cure}"
            raise PermissionError(errno.EPERM, reason)
    return folder / absolute.name if risks else absolute.resolve()


def _rename_new(name: str, new: str, folder: int) -> None:
    """Renames a file, but not over another. FileExistsError."""
    try:
        os.link(name, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        os.close(_new(new, folder))
        os.replace(name, new, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


def make_anew(file: Path) -> None:
    """Makes an empty file in place of an existing one, never through a link. OSError."""
    file.unlink(missing_ok=True)
    os.close(_new(str(file)))


def _new(name: str, folder: int | None = None) -> int:
    """The descriptor of a new file that only its owner may write, whatever the umask is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o644, dir_fd=folder)


def sync(path: Path) -> None:
    """Waits until a file, or a folder with the names in it, is on the disk. OSError."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def make_folder(folder: Path, mode: int = 0o755) -> None:
    """Makes a folder, and those above it, with the rights of `mode` at most; new ones are on the
    disk afterwards. OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    for path in missing:
        sync(path.parent)


def make_inside(folder: Path) -> None:
    """Make a folder inside of a run's folder, as `make_folder` does. OSError also where it is a
    link: in a run that was handed over, a link may lead to any folder of the user."""
    if folder.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, f"{folder.name} is a link", str(folder))
    make_folder(folder)


def make_private(folder: Path) -> None:
    """Makes a folder that only the user may enter, as `make_folder` does. OSError."""
    make_folder(folder, 0o700)


def make_output(folder: Path) -> None:
    """Makes the folder that -o names; UserError where that cannot be done, and where others can
    exchange what is in it (owners.check_output)."""
    owners.check_output(folder)
    try:
        make_folder(folder)
    except OSError as error:
        raise _cannot_make(folder, error) from None
    owners.check_output(folder)  # another user may have made it meanwhile


def check_output(folder: Path) -> None:
    """Raises UserError where `make_output` could not make a folder, or nothing could be put into
    it. Called before long work; leaves nothing new."""
    existing = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()
    )
    try:
        with tempfile.TemporaryDirectory(dir=existing):
            pass
    except OSError as error:
        raise _cannot_make(folder, error) from None
    owners.check_output(folder)


def _cannot_make(folder: Path, error: OSError) -> UserError:
    return UserError(f"cannot make the folder {folder} ({error.strerror}): choose another with -o")


def working_folder() -> Path:
    """Return the working directory; UserError where it was removed."""
    try:
        return Path.cwd()
    except OSError:
        raise UserError("the working directory was removed: cd into another") from None


def is_file(path: Path) -> bool:
    """True if the path is a file; False also where a folder above it may not be entered."""
    with contextlib.suppress(OSError):
        return path.is_file()
    return False


def is_folder(path: Path) -> bool:
    """True if the path is a folder; False also where a folder above it may not be entered."""
    with contextlib.suppress(OSError):
        return path.is_dir()
    return False


def is_read_only(folder: Path) -> bool:
    """True if no file can be made in an existing folder, by its rights or by those of its disk."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return False
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)


def _is_stream(target: Path) -> bool:
    if not target.exists():
        return False
    link = target.readlink() if target.is_symlink() else target
    open_files = (target.parent.resolve(), link)
    return not target.is_file() or any(path.is_relative_to("/proc") for path in open_files)


def write_whole(target: Path, content: str | bytes) -> None:
    """Writes `content`, a text as UTF-8, to `target`, whole; UserError when that cannot be done."""
    try:
        put_whole(target, content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise _cannot_write(target, error) from error


def write_new(target: Path, content: str) -> bool:
    """Writes a text as UTF-8 to a new file, whole; False where there is one already. UserError when
    it cannot be written."""
    try:
        with replacing(target, new=True) as file:
            file.write(content.encode())
    except FileExistsError:
        return False
    except OSError as error:
        raise _cannot_write(target, error) from error
    return True


def check_target(target: Path) -> None:
    """Raises UserError where `write_whole` could not write to `target`. Called before long work.

    An existing file stays unchanged, and nothing new is left.
    """
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if _is_stream(target):  # opening a FIFO would wait for its reader
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        with tempfile.TemporaryFile(dir=_landing(target).parent):
            pass
    except OSError as error:
        raise _cannot_write(target, error) from error


def _cannot_write(target: Path, error: OSError) -> UserError:
    return UserError(
        f"cannot write {target}: {error.strerror}; choose a folder that can be written to"
    )


def digest(file: Path) -> str:
    """SHA-256 of a file; OSError without it."""
    return digest_of(file.read_bytes())


def digest_of(data: bytes) -> str:
    """SHA-256 of the content of a file."""
    return hashlib.sha256(data).hexdigest()
