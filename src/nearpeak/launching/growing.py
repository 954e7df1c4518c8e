# SPDX-License-Identifier: Apache-2.0
"""Files that a program still writes, read as they grow."""

from collections.abc import Callable
from pathlib import Path


class GrowingFile:
    """What a file gets, from `offset` (bytes) on; one that is not there yet has nothing."""

    def __init__(self, file: Path, offset: int = 0) -> None:
        self._file = file
        self._offset = offset

    def waiting(self) -> bytes:
        """What was not taken yet."""
        try:
            with self._file.open("rb") as file:
                file.seek(self._offset)
                return file.read()
        except FileNotFoundError:
            return b""

    def take(self, count: int) -> None:
        """So many bytes of it are done with."""
        self._offset += count


class GrowingLines(GrowingFile):
    """Its whole lines."""

    def read(self) -> list[bytes]:
        """Takes those that are new, without their ends."""
        *lines, half = (data := self.waiting()).split(b"\n")
        self.take(len(data) - len(half))
        return lines

    def give(self, take: Callable[[bytes], None]) -> bool:
        """Gives each that is new away; whether there were any."""
        lines = self.read()
        for line in lines:
            take(line)
        return bool(lines)
