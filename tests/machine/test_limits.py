# SPDX-License-Identifier: Apache-2.0
"""Control groups of both versions, and /dev/shm."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from nearpeak.machine import limits
from nearpeak.machine.limits import cpu_quota, memory_limit, shm_bytes, shm_refusal, shm_taken
from nearpeak.machine.tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def put(tree: Tree, path: str, text: str) -> None:
    file = tree.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def test_no_control_group_is_no_limit(tree: Tree) -> None:
    assert cpu_quota(tree) is None
    assert memory_limit(tree) is None


def test_version_2_takes_the_least_of_all_above(tree: Tree) -> None:
    put(tree, "proc/self/cgroup", "0::/slice/job")
    put(tree, "sys/fs/cgroup/slice/cpu.max", "150000 100000")
    put(tree, "sys/fs/cgroup/slice/job/cpu.max", "max 100000")
    put(tree, "sys/fs/cgroup/slice/memory.max", "max")
    put(tree, "sys/fs/cgroup/slice/job/memory.max", "2147483648")
    assert cpu_quota(tree) == 1.5
    assert memory_limit(tree) == 2 << 30


def test_version_1(tree: Tree) -> None:
    put(tree, "proc/self/cgroup", "3:cpu,cpuacct:/job\n2:memory:/job\n0::/")
    put(tree, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1")
    put(tree, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000")
    put(tree, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000")
    put(tree, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000")
    put(tree, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712")
    put(tree, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576")
    assert cpu_quota(tree) == 0.5
    assert memory_limit(tree) == 1 << 20


def test_version_1_without_limits(tree: Tree) -> None:
    put(tree, "proc/self/cgroup", "3:cpu:/\n2:memory:/")
    put(tree, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1")
    put(tree, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
    put(tree, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712")
    assert cpu_quota(tree) is None
    assert memory_limit(tree) is None


def test_hybrid_limits_in_the_unified_tree(tree: Tree) -> None:
    put(tree, "proc/self/cgroup", "2:pids:/\n0::/job")
    put(tree, "sys/fs/cgroup/unified/job/memory.max", "4096")
    assert memory_limit(tree) == 4096


def test_a_container_sees_only_the_top(tree: Tree) -> None:
    put(tree, "proc/self/cgroup", "0::/../docker/0123")
    put(tree, "sys/fs/cgroup/cgroup.controllers", "cpu memory")
    put(tree, "sys/fs/cgroup/cpu.max", "200000 100000")
    assert cpu_quota(tree) == 2.0


def test_shared_memory(tree: Tree) -> None:
    assert shm_bytes(tree) is None
    put(tree, "proc/meminfo", "MemTotal: 4096 kB")
    mount = "25 24 0:23 / /dev/shm rw,relatime shared:9 - tmpfs shm rw"
    put(tree, "proc/self/mountinfo", f"1 0 0:1 / / rw - ext4 /dev/vda rw\n{mount}")
    assert shm_bytes(tree) == 2 << 20  # tmpfs without a size: half of the memory
    put(tree, "proc/self/mountinfo", f"{mount},size=10g\n{mount},size=65536k,inode64")
    assert shm_bytes(tree) == 64 << 20


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EIO])
def test_shared_memory_that_a_later_mount_hides(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """mountinfo lists it, and the path is not there."""
    mount = "25 24 0:23 / /dev/shm rw - tmpfs shm rw"
    monkeypatch.setattr(limits, "shm_mount", lambda _: mount)

    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "statvfs", refused)
    monkeypatch.setattr(limits.tempfile, "TemporaryFile", refused)
    here = Tree(Path("/"))
    assert (shm_bytes(here), shm_taken(here)) == (None, 0)
    assert shm_refusal(here) == (0 if number == errno.ENOENT else number)


def test_shared_memory_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    room = shm_bytes(Tree(Path("/")))
    assert (room is not None) == os.path.ismount("/dev/shm")
    if room is not None:
        space = SimpleNamespace(f_bavail=3, f_frsize=4096)
        monkeypatch.setattr(os, "statvfs", lambda path: space if path == "/dev/shm" else None)
        assert shm_bytes(Tree(Path("/"))) == 3 * 4096
