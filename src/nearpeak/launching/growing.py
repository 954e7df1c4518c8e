# SPDX-License-Identifier: Apache-2.0
"""Files that a program still writes, read as they grow."""

from collections.abc import Callable
from pathlib import Path


class GrowingFile:
    """The content of a file from `offset` (bytes) on; nothing while there is no file."""

    def __init__(self, file: Path, offset: int = 0) -> None:
        self._file = file
        self._offset = offset

    def waiting(self) -> bytes:
        """Returns the bytes that were not taken yet."""
        try:
            with self._file.open("rb") as file:
                file.seek(self._offset)
                return file.read()
        except FileNotFoundError:
            return b""

    def take(self, count: int) -> None:
        """Skips `count` bytes, which are done with."""
        self._offset += count


class GrowingLines(GrowingFile):
    """The whole lines of a growing file."""

    def read(self) -> list[bytes]:
        """Takes the new lines, without their line ends."""
        *lines, half = (data := self.waiting()).split(b"\n")
        self.take(len(data) - len(half))
        return lines

    def give(self, take: Callable[[bytes], None]) -> bool:
        """Passes each new line to `take`; True if there were any."""
        lines = self.read()
        for line in lines:
            take(line)
        return bool(lines)
