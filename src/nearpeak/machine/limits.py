# SPDX-License-Identifier: Apache-2.0
"""Limits of this process: CPU time and memory of its control group, and shared memory."""

import errno
import os
import re
import tempfile
from collections.abc import Iterator

from nearpeak.machine.tree import Tree

SHM = "/dev/shm"
CGROUP = "sys/fs/cgroup"
UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
CAP_IPC_LOCK, CAP_SYS_PTRACE = 14, 19  # linux/capability.h
NO_LIMIT = 1 << 62  # version 1 says "none" by a number near 2^63


def has_capability(tree: Tree, number: int) -> bool:
    """True if this process has a capability in force."""
    effective = tree.fields("proc/self/status").get("CapEff", "")
    return bool(re.fullmatch(r"[0-9a-f]+", effective)) and bool(int(effective, 16) >> number & 1)


def cpu_quota(tree: Tree) -> float | None:
    """The control group's CPU quota in CPUs, the least of all groups above; None: no limit."""
    quotas: list[float] = []
    for folder in _groups(tree, "cpu"):
        limit, _, period = (tree.text(f"{folder}/cpu.max") or "").partition(" ")  # version 2
        if not limit:
            limit = tree.text(f"{folder}/cpu.cfs_quota_us") or ""  # version 1, -1: none
            period = tree.text(f"{folder}/cpu.cfs_period_us") or ""
        if limit.isdecimal() and period.isdecimal() and int(period):
            quotas.append(int(limit) / int(period))
    return min(quotas, default=None)


def memory_limit(tree: Tree) -> int | None:
    """The control group's memory limit in bytes, the least of all above; None: no limit."""
    limits: list[int] = []
    for folder in _groups(tree, "memory"):
        for file in ("memory.max", "memory.limit_in_bytes"):  # versions 2 and 1
            limit = tree.integer(f"{folder}/{file}")
            if limit is not None and limit < NO_LIMIT:
                limits.append(limit)
    return min(limits, default=None)


def shm_mount(tree: Tree) -> str | None:
    """The line of mountinfo for /dev/shm, the last where it is mounted more than once."""
    lines = (tree.text("proc/self/mountinfo") or "").splitlines()
    mounts = [line for line in lines if line.split()[4:5] == [SHM]]
    return mounts[-1] if mounts else None


def shm_bytes(tree: Tree) -> int | None:
    """The free bytes of /dev/shm; on a recorded machine its size.

    None where it is not mounted, or where a later mount hides it.
    """
    mount = shm_mount(tree)
    if mount is None:
        return None
    if tree.live:
        try:
            space = os.statvfs(SHM)
        except OSError:
            return None
        return space.f_bavail * space.f_frsize
    if size := re.search(r"\bsize=(\d+)([kmg]?)", mount.split(" - ")[-1]):
        return int(size[1]) * UNITS[size[2]]
    # Without the option, tmpfs takes up to half of the memory.
    total = tree.kibibytes("proc/meminfo", "MemTotal")
    return None if total is None else total // 2


def shm_taken(tree: Tree) -> int:
    """The bytes of /dev/shm that files in it take; 0 on a recorded machine."""
    if not tree.live:
        return 0
    try:
        space = os.statvfs(SHM)
    except OSError:
        return 0
    return (space.f_blocks - space.f_bfree) * space.f_frsize


def shm_refusal(tree: Tree) -> int:
    """The errno with which /dev/shm refuses a file; 0: it takes one, or is not there."""
    mount = shm_mount(tree)
    if mount is None:
        return 0
    if not tree.live:
        before, _, after = mount.partition(" - ")
        options = [*before.split()[5:6], *after.split()[2:3]]
        return errno.EROFS if any("ro" in field.split(",") for field in options) else 0
    try:
        with tempfile.TemporaryFile(dir=SHM):
            return 0
    except FileNotFoundError:
        return 0
    except OSError as error:
        return error.errno or errno.EIO


def _groups(tree: Tree, controller: str) -> Iterator[str]:
    """The folders of this process's group and of all above it, in both versions of cgroups.

    Inside a container the path may be one of the host's: then only the mounted top is there.
    """
    for line in (tree.text("proc/self/cgroup") or "").splitlines():
        _, colon, rest = line.partition(":")
        controllers, second, path = rest.partition(":")
        if not (colon and second):
            continue
        if not controllers:
            top = CGROUP if tree.exists(f"{CGROUP}/cgroup.controllers") else f"{CGROUP}/unified"
            top = top if tree.exists(top) else CGROUP
        elif controller in controllers.split(","):
            top = f"{CGROUP}/{controllers}"
        else:
            continue
        parts = [part for part in path.split("/") if part and part != ".."]
        for length in range(len(parts), -1, -1):
            yield "/".join([top, *parts[:length]])
