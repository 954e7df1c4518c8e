# SPDX-License-Identifier: Apache-2.0
"""Reads the small text files of /sys and /proc, from this machine or from a recorded one."""

import contextlib
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nearpeak.numbers import natural

# A line of a recording: the path is relative, and leads to no folder above.
ENTRY = re.compile(r"((?!/|(?:\S*/)?\.\.[/:])\S+?):(?: (.*))?")


def parse_list(text: str) -> list[int]:
    """The numbers of a kernel list such as `0-3,8`, sorted; ValueError where it is none."""
    numbers: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return sorted(numbers)


def parse_mask(text: str) -> list[int]:
    """The numbers of a kernel mask, or a bitmap of hwloc's: words of 32 bits, the highest first.

    ValueError where it is none. An empty word is 0.
    """
    value = 0
    for word in text.strip().split(","):
        value = value << 32 | int(word or "0", 16)
    return [bit for bit in range(value.bit_length()) if value >> bit & 1]


def format_list(numbers: Iterable[int]) -> str:
    """The opposite of parse_list: `0-3,8`."""
    ordered = enumerate(sorted(set(numbers)))
    runs = itertools.groupby(ordered, key=lambda pair: pair[1] - pair[0])
    return ",".join(_span(list(run)) for _, run in runs)


def _span(run: list[tuple[int, int]]) -> str:
    (_, first), (_, last) = run[0], run[-1]
    return "-".join(dict.fromkeys((str(first), str(last))))


def parse_recording(text: str) -> dict[str, str]:
    """The files of a recorded machine (docs/reference/machine-files.md); ValueError names a line
    that is none.

    Each line is `PATH: CONTENT`; a later line for the same path counts. `{0-3,8}` and
    `{level,type}` in a path stand for several files of the same content, `\\n` for a line break.
    `#` begins a line of comment.
    """
    files: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        entry = ENTRY.fullmatch(line)
        if entry is None:
            raise ValueError(f"line {number}: expected `PATH: CONTENT`, got {line!r}")
        content = re.sub(
            r"\\(.)", lambda escape: {"n": "\n"}.get(escape[1], escape[1]), entry[2] or ""
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
    """The files in a folder: `/`, or a copy of it.

    A file that is missing or unreadable has an empty text: no kernel has them all.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def live(self) -> bool:
        """True for the running machine, whose system can be asked too."""
        return self.root == Path("/")

    def exists(self, path: str) -> bool:
        """True if there is such a file or folder."""
        return (self.root / path).exists()

    def above(self, path: str) -> Iterator[str]:
        """The folder with its links followed, and those above it, as paths for this tree."""
        real = (self.root / path).resolve()
        below = itertools.takewhile(self.root.resolve().__ne__, (real, *real.parents))
        return map(str, below)  # absolute: joining it to the root gives the same

    def link(self, path: str) -> str:
        """The target of a symbolic link, in a recording its text; empty where it is no link."""
        with contextlib.suppress(OSError):
            return str((self.root / path).readlink())
        return ""

    def under(self, folder: str) -> dict[str, str]:  # noqa: ARG002
        """Every file of the folder of a recorded machine, path -> text; empty for a real one."""
        return {}

    def _read(self, path: str) -> str:
        with contextlib.suppress(OSError):
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        return ""

    def _names(self, path: str) -> list[str]:
        with contextlib.suppress(OSError):
            return [entry.name for entry in (self.root / path).iterdir()]
        return []

    def text(self, path: str) -> str:
        """The file's text without white space at its ends.

        NULs are removed, too: some kernels end lists with one (5.15-rc).
        """
        return self._read(path).replace("\0", "").strip()

    def integer(self, path: str) -> int | None:
        """The file's decimal number; None where it has none."""
        text = self.text(path)
        return int(text) if re.fullmatch(r"-?\d+", text) else None

    def natural(self, path: str) -> int | None:
        """The file's decimal number, of 0 or more: where firmware does not know one it says -1."""
        text = self.text(path)
        return int(text) if text.isdecimal() else None

    def numbers(self, path: str) -> list[int]:
        """The file's list of numbers (`0-3,8`); empty where it is no such list."""
        with contextlib.suppress(ValueError):
            return parse_list(self.text(path))
        return []

    def cpus(self, path: str, mask: str) -> list[int]:
        """The file's list of CPUs, or before Linux 2.6.26 that of another file with a mask."""
        with contextlib.suppress(ValueError):
            return self.numbers(path) or parse_mask(self.text(mask))
        return []

    def fields(self, path: str) -> dict[str, str]:
        """The `key: value` lines of a /proc file; of a key that comes again, the first."""
        pairs = re.findall(r"^([^:\n]*):(.*)", self.text(path), re.MULTILINE)
        return {key.strip(): value.strip() for key, value in reversed(pairs)}

    def kibibytes(self, path: str, key: str) -> int | None:
        """The bytes of a `key: 123 kB` line of a /proc file."""
        number = re.match(r"\d+", self.fields(path).get(key, ""))
        return int(number[0]) * 1024 if number else None

    def names(self, path: str, pattern: str = ".*") -> list[str]:
        """The names in the folder that match all of `pattern`, their numbers sorted as numbers."""
        return sorted(filter(re.compile(pattern).fullmatch, self._names(path)), key=natural)

    def indices(self, path: str, word: str) -> list[int]:
        """The numbers N of the entries WORDN in the folder, sorted."""
        return sorted(int(name[len(word) :]) for name in self.names(path, rf"{word}\d+"))


class RecordedTree(Tree):
    """The files of a recorded machine, path -> text: links are files of their targets."""

    live = False

    def __init__(self, root: Path, files: dict[str, str]) -> None:
        super().__init__(root)
        self._files = files
        self._folders: dict[str, set[str]] = {}
        for path in files:
            parts = path.split("/")
            for length, name in enumerate(parts):
                self._folders.setdefault("/".join(parts[:length]), set()).add(name)

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._folders

    def above(self, path: str) -> Iterator[str]:
        return iter([path])

    def link(self, path: str) -> str:
        return self._read(path)

    def under(self, folder: str) -> dict[str, str]:
        return {path: text for path, text in self._files.items() if path.startswith(f"{folder}/")}

    def _read(self, path: str) -> str:
        return self._files.get(path, "")

    def _names(self, path: str) -> list[str]:
        return list(self._folders.get(path, ()))


def read_tree(root: Path) -> Tree:
    """The files under `root`, a folder or the file of a recorded machine; ValueError if that file
    is none."""
    if root.is_file():
        return RecordedTree(root, parse_recording(root.read_text(encoding="utf-8")))
    return Tree(root)
