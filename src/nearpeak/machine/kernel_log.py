# SPDX-License-Identifier: Apache-2.0
"""The messages of the kernel, where this user may read them."""

import os
import shutil
import subprocess
from pathlib import Path

KMSG = Path("/dev/kmsg")
RECORD = 8192  # bytes that hold any record (Documentation/ABI/testing/dev-kmsg)
JOURNAL = ["journalctl", "--dmesg", "--boot", "--quiet", "--no-pager", "--output=cat"]
SECONDS = 10.0  # for the journal


def kernel_messages(device: Path = KMSG) -> str | None:
    """The messages that the kernel still has since it started, else those of the journal; None
    where neither may be read."""
    return _records(device) or _journal() or None


def _records(device: Path) -> str:
    try:
        file = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return ""
    records = []
    try:
        while True:
            try:
                record = os.read(file, RECORD)
            except BrokenPipeError:  # this one was overwritten meanwhile
                continue
            if not record:
                break
            records.append(record)
    except OSError:  # EAGAIN: that was all; EPERM: not for this user
        pass
    finally:
        os.close(file)
    return b"".join(records).decode(errors="replace")


def _journal() -> str:
    if shutil.which(JOURNAL[0]) is None:
        return ""
    try:
        done = subprocess.run(
            JOURNAL,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
