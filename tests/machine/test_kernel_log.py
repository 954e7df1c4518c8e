# SPDX-License-Identifier: Apache-2.0
"""The kernel's messages, from its device, from the journal, or from neither."""

import os
from pathlib import Path

import pytest

from nearpeak.machine.kernel_log import kernel_messages

LINE = "6,339,5140900,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"


def journal(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Puts a journalctl on PATH, in front of all else."""
    program = folder / "journalctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_records_of_the_device(tmp_path: Path) -> None:
    device = tmp_path / "kmsg"
    device.write_text(LINE * 500)  # more than is read at once
    assert kernel_messages(device) == LINE * 500


def test_a_device_that_has_no_more_for_now(tmp_path: Path) -> None:
    device = tmp_path / "kmsg"
    os.mkfifo(device)
    both = os.open(device, os.O_RDWR)
    os.write(both, LINE.encode())
    assert kernel_messages(device) == LINE
    os.close(both)


def test_the_journal_where_the_device_is_not_for_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal(monkeypatch, tmp_path, "echo told by the journal")
    assert kernel_messages(tmp_path / "nowhere") == "told by the journal\n"


@pytest.mark.parametrize("script", ["exit 1", "echo no permission >&2; exit 1"])
def test_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    journal(monkeypatch, tmp_path, script)
    assert kernel_messages(tmp_path / "nowhere") is None
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert kernel_messages(tmp_path / "nowhere") is None
