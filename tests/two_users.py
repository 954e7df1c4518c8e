# SPDX-License-Identifier: Apache-2.0
"""Two users of one machine, of whom one means harm: tests that are root act as either."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OWNER, OTHER = 12345, 12346  # ids without accounts, of users and of their own groups
SHARED_GROUP = 54321
NOT_ROOT = "only root can act as two users"


@dataclass(frozen=True)
class TwoUsers:
    """A folder that both may enter, and what lies in it."""

    place: Path

    def folder(self, name: str, owner: int, group: int, mode: int) -> Path:
        """A new folder with this owner, group and mode."""
        folder = self.place / name
        folder.mkdir()
        os.chown(folder, owner, group)
        folder.chmod(mode)
        return folder

    def file(self, name: str, owner: int, group: int | None = None, mode: int = 0o755) -> Path:
        """A new file with a line, in the owner's group unless another is named."""
        file = self.place / name
        file.write_text("#!/bin/sh\n")
        os.chown(file, owner, owner if group is None else group)
        file.chmod(mode)
        return file


@contextlib.contextmanager
def acting(uid: int, *groups: int) -> Iterator[None]:
    """Acts as a user, in these groups too."""
    before = os.getgroups()
    os.setgroups(groups)
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)
