# SPDX-License-Identifier: Apache-2.0
"""System calls tried for real."""

import errno
import os
import platform
from pathlib import Path

import pytest

from nearpeak.machine import attempts


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


def test_a_sibling_is_read_or_refused_and_no_process_is_left() -> None:
    before = children()
    plain = attempts.read_sibling(permit=False)
    permitted = attempts.read_sibling(permit=True)
    assert plain in (0, errno.EPERM, errno.ENOSYS)
    assert permitted in (0, plain)
    assert children() == before


def test_a_wrong_token_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    if attempts.read_sibling(permit=True):
        pytest.skip("process_vm_readv is forbidden here")

    class Deaf(attempts.IoVec):
        """Reads nothing: its length is always 0."""

        def __init__(self, base: int, _length: int) -> None:
            super().__init__(base, 0)

    monkeypatch.setattr(attempts, "IoVec", Deaf)
    assert attempts.read_sibling(permit=True) == attempts.UNKNOWN


def test_memory_is_bound_or_refused() -> None:
    if platform.machine() not in attempts.SET_MEMPOLICY:
        pytest.skip(f"the number of set_mempolicy is not known for {platform.machine()}")
    node = int(Path("/sys/devices/system/node/has_memory").read_text().split("-")[0].split(",")[0])
    assert attempts.bind_memory(node) in (0, errno.EPERM, errno.ENOSYS)


def test_binding_to_a_node_that_is_not_there_fails() -> None:
    if platform.machine() not in attempts.SET_MEMPOLICY:
        pytest.skip(f"the number of set_mempolicy is not known for {platform.machine()}")
    assert attempts.bind_memory(1000) != 0


def test_unknown_processors_are_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    assert attempts.bind_memory(0) is None
