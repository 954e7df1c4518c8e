# SPDX-License-Identifier: Apache-2.0
"""Reads the small text files of /sys and /proc, from this machine or from a recorded one."""

import re
from collections.abc import Iterator
from pathlib import Path

from nearpeak.numbers import natural


def parse_list(text: str) -> list[int]:
    """The numbers of a kernel list such as `0-3,8`, sorted; ValueError where it is none."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            numbers.update(range(int(first), int(last or first) + 1))
    return sorted(numbers)


def parse_mask(text: str) -> list[int]:
    """The numbers of a kernel mask, or a bitmap of hwloc's: words of 32 bits, the highest first.

    ValueError where it is none. An empty word is 0.
    """
    value = 0
    for word in text.strip().split(","):
        value = value << 32 | (int(word, 16) if word else 0)
    return [bit for bit in range(value.bit_length()) if value >> bit & 1]


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


def parse_recording(text: str) -> dict[str, str]:
    """The files of a recorded machine (docs/machine.md); ValueError names a line that is none.

    Each line is `PATH: CONTENT`; a later line for the same path counts. `{0-3,8}` and
    `{level,type}` in a path stand for several files of the same content, `\\n` for a line break.
    `#` begins a line of comment.
    """
    files: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        entry = re.fullmatch(r"(\S+?):(?: (.*))?", line)
        if entry is None or entry[1].startswith("/") or ".." in entry[1].split("/"):
            raise ValueError(f"line {number}: expected `PATH: CONTENT`, got {line!r}")
        content = re.sub(
            r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], entry[2] or ""
        )
        files.update(dict.fromkeys(_expand(entry[1]), content.strip()))
    return files


def _expand(pattern: str) -> Iterator[str]:
    before, brace, rest = pattern.partition("{")
    if not brace:
        yield pattern
        return
    choices, _, after = rest.partition("}")
    for word in choices.split(","):
        span = re.fullmatch(r"(\d+)-(\d+)", word)
        for item in range(int(span[1]), int(span[2]) + 1) if span else [word]:
            yield from _expand(f"{before}{item}{after}")


class Tree:
    """The files under `root`: `/`, a copy of it, or the file of a recorded machine.

    A file that is missing or unreadable is None: no kernel has them all. `files`: those of a
    recorded machine, path -> text, instead of what is under `root`.
    """

    def __init__(self, root: Path, files: dict[str, str] | None = None) -> None:
        self.root = root
        self._files = files
        self._folders: dict[str, set[str]] = {}
        if files is None and root.is_file():
            self._files = parse_recording(root.read_text(encoding="utf-8"))
        if self._files is not None:
            for path in self._files:
                parts = path.split("/")
                for length in range(len(parts)):
                    folder = "/".join(parts[:length])
                    self._folders.setdefault(folder, set()).add(parts[length])

    @property
    def live(self) -> bool:
        """True for the running machine, whose system can be asked too."""
        return self.root == Path("/") and self._files is None

    def text(self, path: str) -> str | None:
        """The file's text without white space at its ends; None where it cannot be read.

        NULs are removed, too: some kernels end lists with one (5.15-rc).
        """
        if self._files is not None:
            text = self._files.get(path)
        else:
            try:
                text = (self.root / path).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = None
        return None if text is None else text.replace("\0", "").strip()

    def integer(self, path: str) -> int | None:
        """The file's decimal number."""
        text = self.text(path)
        return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None

    def numbers(self, path: str) -> list[int] | None:
        """The file's list of numbers (`0-3,8`); None where it is no such list."""
        text = self.text(path)
        if text is None:
            return None
        try:
            return parse_list(text)
        except ValueError:
            return None

    def cpus(self, path: str, mask: str) -> list[int] | None:
        """The file's list of CPUs, or before Linux 2.6.26 that of another file with a mask."""
        listed = self.numbers(path)
        if listed is not None:
            return listed
        try:
            return parse_mask(text) if (text := self.text(mask)) else None
        except ValueError:
            return None

    def fields(self, path: str) -> dict[str, str]:
        """The `key: value` lines of a /proc file; of a key that comes again, the first."""
        entries: dict[str, str] = {}
        for line in (self.text(path) or "").splitlines():
            key, colon, value = line.partition(":")
            if colon:
                entries.setdefault(key.strip(), value.strip())
        return entries

    def kibibytes(self, path: str, key: str) -> int | None:
        """The bytes of a `key: 123 kB` line of a /proc file."""
        number = re.match(r"\d+", self.fields(path).get(key, ""))
        return int(number[0]) * 1024 if number else None

    def exists(self, path: str) -> bool:
        """True if there is such a file or folder."""
        if self._files is not None:
            return path in self._files or path in self._folders
        return (self.root / path).exists()

    def above(self, path: str) -> Iterator[str]:
        """The folder with its links followed, and those above it, as paths for this tree."""
        if self._files is not None:
            yield path
            return
        real = (self.root / path).resolve()
        for place in (real, *real.parents):
            if place == self.root.resolve():
                break
            yield str(place)  # absolute: joining it to the root gives the same

    def link(self, path: str) -> str | None:
        """The target of a symbolic link, in a recording its text; None where it is no link."""
        if self._files is not None:
            return self._files.get(path)
        try:
            return str((self.root / path).readlink())
        except OSError:
            return None

    def names(self, path: str, pattern: str = ".*") -> list[str]:
        """The names in the folder that match all of `pattern`, their numbers sorted as numbers."""
        if self._files is not None:
            entries = list(self._folders.get(path, ()))
        else:
            try:
                entries = [entry.name for entry in (self.root / path).iterdir()]
            except OSError:
                return []
        return sorted((name for name in entries if re.fullmatch(pattern, name)), key=natural)

    def under(self, folder: str) -> dict[str, str]:
        """Every file of the folder of a recorded machine, path -> text; empty for a real one."""
        files = self._files or {}
        return {path: text for path, text in files.items() if path.startswith(f"{folder}/")}

    def indices(self, path: str, word: str) -> list[int]:
        """The numbers N of the entries WORDN in the folder, sorted."""
        return sorted(int(name[len(word) :]) for name in self.names(path, rf"{word}\d+"))
