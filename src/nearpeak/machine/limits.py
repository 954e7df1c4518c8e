# SPDX-License-Identifier: Apache-2.0
"""Limits of this process: CPU time and memory of its control group, and shared memory."""

import contextlib
import errno
import itertools
import os
import re
import tempfile
from collections.abc import Iterator

from nearpeak.machine.rates import least
from nearpeak.machine.tree import Tree

SHM = "/dev/shm"
CGROUP = "sys/fs/cgroup"
UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
CAP_IPC_LOCK, CAP_SYS_PTRACE = 14, 19  # linux/capability.h
QUOTA = re.compile(r"(\d+) 0*([1-9]\d*)\b")  # of a period in us; `max` and -1: none
GROUP = re.compile(r"^[^:\n]*:([^:\n]*):(.*)", re.MULTILINE)  # a line of proc/self/cgroup
NO_LIMIT = 1 << 62  # version 1 says "none" by a number near 2^63


def has_capability(tree: Tree, number: int) -> bool:
    """True if this process has a capability in force."""
    effective = tree.fields("proc/self/status").get("CapEff", "")
    return bool(re.fullmatch(r"[0-9a-f]+", effective)) and bool(int(effective, 16) >> number & 1)


def cpu_quota(tree: Tree) -> float | None:
    """The control group's CPU quota in CPUs, the least of all groups above; None: no limit."""
    return least(_quota(tree, folder) for folder in _groups(tree, "cpu"))


def _quota(tree: Tree, folder: str) -> float | None:
    version_1 = (
        f"{tree.text(f'{folder}/cpu.cfs_quota_us')} {tree.text(f'{folder}/cpu.cfs_period_us')}"
    )
    quota = QUOTA.match(tree.text(f"{folder}/cpu.max") or version_1)
    return int(quota[1]) / int(quota[2]) if quota else None


def memory_limit(tree: Tree) -> int | None:
    """The control group's memory limit in bytes, the least of all above; None: no limit."""
    files = itertools.product(_groups(tree, "memory"), ("memory.max", "memory.limit_in_bytes"))
    limits = (tree.natural("/".join(file)) for file in files)  # versions 2 and 1
    return min((limit for limit in limits if limit is not None and limit < NO_LIMIT), default=None)


def shm_mount(tree: Tree) -> str:
    """The line of mountinfo for /dev/shm, the last where it is mounted more than once; empty
    where it is not."""
    lines = tree.text("proc/self/mountinfo").splitlines()
    mounts = [line for line in lines if line.split()[4:5] == [SHM]]
    return ["", *mounts][-1]


def shm_bytes(tree: Tree) -> int | None:
    """The free bytes of /dev/shm; on a recorded machine its size.

    None where it is not mounted, or where a later mount hides it.
    """
    mount = shm_mount(tree)
    if not mount:
        return None
    if tree.live:
        space = _space()
        return space and space.f_bavail * space.f_frsize
    if size := re.search(r"\bsize=(\d+)([kmg]?)", mount.split(" - ")[-1]):
        return int(size[1]) * UNITS[size[2]]
    # Without the option, tmpfs takes up to half of the memory.
    total = tree.kibibytes("proc/meminfo", "MemTotal")
    return None if total is None else total // 2


def shm_taken(tree: Tree) -> int:
    """The bytes of /dev/shm that files in it take; 0 on a recorded machine."""
    space = _space() if tree.live else None
    return (space.f_blocks - space.f_bfree) * space.f_frsize if space else 0


def _space() -> os.statvfs_result | None:
    with contextlib.suppress(OSError):
        return os.statvfs(SHM)
    return None


def shm_refusal(tree: Tree) -> int:
    """The errno with which /dev/shm refuses a file; 0: it takes one, or is not there."""
    if not tree.live:
        before, _, after = shm_mount(tree).partition(" - ")
        options = ",".join([*before.split()[5:6], *after.split()[2:3]]).split(",")
        return errno.EROFS if "ro" in options else 0
    try:
        with contextlib.suppress(FileNotFoundError), tempfile.TemporaryFile(dir=SHM):
            pass
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def _groups(tree: Tree, controller: str) -> Iterator[str]:
    """The folders of this process's group and of all above it, in both versions of cgroups.

    Inside a container the path may be one of the host's: then only the mounted top is there.
    """
    for controllers, path in GROUP.findall(tree.text("proc/self/cgroup")):
        if controllers and controller not in controllers.split(","):
            continue
        top = f"{CGROUP}/{controllers or 'unified'}"  # version 2 beside version 1
        top = top if tree.exists(top) else CGROUP
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for length in range(len(parts), -1, -1):
            yield "/".join([top, *parts[:length]])
