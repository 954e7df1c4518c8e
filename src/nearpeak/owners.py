# SPDX-License-Identifier: Apache-2.0
"""Finds who can change a file or a folder, before Nearpeak runs, loads or writes anything there.

The rule is that of ssh for the files of a user: the file, and every folder and link on the way to
it, belongs to the user or to root, and nobody else may write it. An entry of a folder that all
users may write and that has the sticky bit depends only on the entry's owner.
docs/how-to/security.md documents the rule for users.
"""

import contextlib
import functools
import grp
import os
import pwd
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from nearpeak import folders
from nearpeak.errors import UserError

TRUST = "NEARPEAK_TRUST"  # users, and groups as @NAME, with commas between them
PAGE = "docs/how-to/security.md"
SEARCHED = ("PATH", "LD_LIBRARY_PATH", "MODULEPATH")
MOST_LINKS = 40  # in a path, as in the kernel
_ALL_IDS = (0, 0, 2**32 - 1)  # of /proc/self/uid_map outside of a user namespace
_ACL = "system.posix_acl_access"


class Risk(NamedTuple):
    """One file or folder on the way to a path that another user can change."""

    path: Path
    by: Literal["owner", "group", "others"]
    why: str
    cure: str  # a command of a shell, or the value of NEARPEAK_TRUST


def risks(path: Path, owners: Collection[int] = ()) -> Iterator[Risk]:
    """Yields every risk on the way to a path, from / on, as far as the way exists.

    `owners`: ids of further trusted users, besides this one, root and those of NEARPEAK_TRUST.
    """
    trusted = {*_trusted(), *owners}
    end = Path(os.path.realpath(path))
    closed: set[Path] = set()  # folders that only their trusted owner can enter
    for step, status in _steps(path):
        hidden = not closed.isdisjoint(step.parents)
        if status.st_uid not in trusted and not _is_unknown(status.st_uid):
            user = _user(status.st_uid)
            yield Risk(step, "owner", f"{step} belongs to {user}", f"{TRUST}={user} trusts them")
        elif stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o011:
            closed.add(step)
        if hidden or stat.S_ISLNK(status.st_mode):
            continue
        if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX and step != end:
            continue
        if status.st_mode & stat.S_IWOTH:
            yield Risk(step, "others", f"all users may write {step}", f"run `chmod o-w {step}`")
        elif status.st_mode & stat.S_IWGRP and not _is_private(step, status.st_gid, trusted):
            reason = f"group {_group(status.st_gid)} may write {step}"
            yield Risk(step, "group", reason, f"run `chmod g-w {step}`")


def check_kept(file: Path) -> None:
    """UserError for a program or library of the cache that somebody else can change.

    The owner of a folder that NEARPEAK_CACHE names is trusted, so that a site can share a cache,
    unless all users can make folders beside it.
    """
    owners: set[int] = set()
    cache = folders.cache()
    if os.environ.get("NEARPEAK_CACHE"):
        with contextlib.suppress(OSError):
            above = [parent.stat().st_mode & stat.S_IWOTH for parent in cache.parents]
            if not any(above):
                owners.add(cache.stat().st_uid)
    if risk := next(risks(file, owners), None):
        raise UserError(
            f"{file} is not run, as others can exchange it: {risk.why}; {risk.cure}, or set "
            f"NEARPEAK_CACHE to a folder of your own ({PAGE})"
        )


def check_output(folder: Path) -> None:
    """UserError for a folder to write into that somebody else can change, and for a new one in such
    a folder. Groups that may write a folder above it are trusted."""
    absolute = folder.absolute()
    for risk in risks(absolute):
        if risk.by != "group" or risk.path in (absolute, absolute.resolve()):
            raise UserError(
                f"nothing is written into {folder}, as others can exchange what is in it: "
                f"{risk.why}; {risk.cure}, or choose another folder with -o ({PAGE})"
            )


def of_search_paths(
    env: Mapping[str, str],
    variables: Collection[str] = (),
    checked: Mapping[str, str] | None = None,
) -> set[int]:
    """Returns the owners of the folders that are searched for programs and libraries, and that
    nobody else can change: the user runs what these owners install anyway. `variables`: further
    variables that name a folder. `checked`: an environment whose owners are known already."""
    entries = _searched(env, variables) - (_searched(checked, variables) if checked else set())
    return {owner for entry in entries if (owner := _owner(Path(entry))) is not None}


def _searched(env: Mapping[str, str], variables: Collection[str]) -> set[str]:
    return {
        word for name in (*SEARCHED, *variables) for word in env.get(name, "").split(":") if word
    }


def _owner(folder: Path) -> int | None:
    """The owner of a folder that nobody else can change; None for others."""
    try:
        owner = folder.stat().st_uid
        return None if any(risk.by != "group" for risk in risks(folder, [owner])) else owner
    except OSError:
        return None


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yields all files, folders and links on the way to a path, through links too, itself last."""
    steps: dict[Path, os.stat_result] = {}
    folder, left, links = Path("/"), list(path.absolute().parts[:0:-1]), 0
    steps[folder] = folder.lstat()
    while left:
        part = left.pop()
        if part == "..":
            folder = folder.parent
            continue
        step = folder / part
        try:
            steps[step] = step.lstat()
        except OSError:
            break
        if stat.S_ISLNK(steps[step].st_mode) and (links := links + 1) <= MOST_LINKS:
            target = step.readlink()
            folder = Path("/") if target.is_absolute() else folder
            left += [word for word in reversed(target.parts) if word != "/"]
        else:
            folder = step
    yield from steps.items()


def _trusted() -> set[int]:
    """The ids of root, this user, the user who called sudo, and the users in NEARPEAK_TRUST."""
    ids = {0, os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and sudo.isdecimal():
        ids.add(int(sudo))
    for name in _named():
        with contextlib.suppress(KeyError):
            ids.add(int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid)
    return ids


def _named() -> list[str]:
    return [name.strip() for name in os.environ.get(TRUST, "").split(",") if name.strip()]


def _is_private(step: Path, gid: int, trusted: Collection[int]) -> bool:
    """True if only trusted users are in a group: a system makes one for each user, and
    NEARPEAK_TRUST may name one. With an access list the bits of a group are those of all in it."""
    if f"@{_group(gid)}" in _named() or f"@{gid}" in _named():
        return True
    with contextlib.suppress(OSError):
        os.getxattr(step, _ACL)
        return False
    for uid in trusted:
        with contextlib.suppress(KeyError):
            user, group = pwd.getpwuid(uid), grp.getgrgid(gid)
            alone = set(group.gr_mem) <= {user.pw_name}
            if user.pw_gid == gid and group.gr_name == user.pw_name and alone:
                return True
    return False


@functools.cache
def _is_unknown(uid: int) -> bool:
    """True for the id by which a user namespace shows all users that are not in it, also root of
    the host: it is taken for root's."""
    with contextlib.suppress(OSError, ValueError):
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text("utf-8"))
        ids = Path("/proc/self/uid_map").read_text("utf-8").split()
        return uid == overflow and tuple(map(int, ids)) != _ALL_IDS
    return False


def _user(uid: int) -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _group(gid: int) -> str:
    with contextlib.suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)
