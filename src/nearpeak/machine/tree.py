# SPDX-License-Identifier: Apache-2.0
"""Reads the small text files of /sys and /proc, from this machine or from a recorded one."""

import re
from pathlib import Path


def parse_list(text: str) -> list[int]:
    """The numbers of a kernel list such as `0-3,8`, sorted; ValueError where it is none."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            numbers.update(range(int(first), int(last or first) + 1))
    return sorted(numbers)


def format_list(numbers: list[int]) -> str:
    """The opposite of parse_list: `0-3,8`."""
    parts: list[str] = []
    ordered = sorted(set(numbers))
    start = 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or ordered[end] != ordered[end - 1] + 1:
            first, last = ordered[start], ordered[end - 1]
            parts.append(str(first) if first == last else f"{first}-{last}")
            start = end
    return ",".join(parts)


class Tree:
    """Files under `root`. A file that is missing or unreadable is None: no kernel has them all."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def live(self) -> bool:
        """Whether this is the running machine, so that the system may be asked too."""
        return self.root == Path("/")

    def text(self, path: str) -> str | None:
        """The file's text without white space at its ends; some files of /sys fail to be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def integer(self, path: str) -> int | None:
        """The file's decimal number."""
        text = self.text(path)
        return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None

    def numbers(self, path: str) -> list[int] | None:
        """The file's list of numbers (`0-3,8`)."""
        text = self.text(path)
        return None if text is None else parse_list(text)

    def fields(self, path: str) -> dict[str, str]:
        """The `key: value` lines of a /proc file; of a key that comes again, the first."""
        found: dict[str, str] = {}
        for line in (self.text(path) or "").splitlines():
            key, colon, value = line.partition(":")
            if colon:
                found.setdefault(key.strip(), value.strip())
        return found

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return (self.root / path).exists()

    def names(self, path: str, pattern: str = ".*") -> list[str]:
        """What the folder holds, names that match `pattern` whole, sorted."""
        try:
            found = [entry.name for entry in (self.root / path).iterdir()]
        except OSError:
            return []
        return sorted(name for name in found if re.fullmatch(pattern, name))

    def indices(self, path: str, word: str) -> list[int]:
        """The numbers N of the entries WORDN in the folder, sorted."""
        return sorted(int(name[len(word) :]) for name in self.names(path, rf"{word}\d+"))
