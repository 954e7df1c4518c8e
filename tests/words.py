# SPDX-License-Identifier: Apache-2.0
"""Counts names that say nothing and docstrings that name nothing: `python tests/words.py [FOLDER]`.

Prints one line for each folder of `src/nearpeak`, then each place (`--places`).
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1] / "src" / "nearpeak"

# No variable and no function bears one of these: the noun for its content is missing.
BANNED = frozenset(["found", "told", "each", "there", "own", "some", "known", "words"])
# These are vague as well; a few of them read well in a few places.
VAGUE = BANNED | {
    "here",
    "said",
    "what",
    "where",
    "why",
    "how",
    "of",
    "at",
    "more",
    "one",
    "asked",
    "whole",
}
# A docstring names the thing or begins with what the function does.
BEGINNINGS = frozenset(
    [
        "what",
        "whether",
        "of",
        "those",
        "how",
        "where",
        "which",
        "who",
        "whom",
        "when",
        "that",
        "if",
        "as",
        "whose",
        "why",
    ]
)


class Place(NamedTuple):
    """A name or a docstring, and where it stands."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass
class Counts:
    """Counts of some files."""

    names: int = 0
    vague: list[Place] = field(default_factory=list)
    banned: list[Place] = field(default_factory=list)
    docstrings: int = 0
    beginnings: list[Place] = field(default_factory=list)
    branches: int = 0
    nested: int = 0
    lines: int = 0


Bound = tuple[str, int]  # a name, and its line


def fields(tree: ast.AST) -> set[int]:
    """Identities of the nodes that name a field of a class: files hold them by these names."""
    return {
        id(line.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign)
    }


def bound(tree: ast.AST) -> Iterator[Bound]:
    """Variables, parameters, functions and classes, but for fields."""
    kept = fields(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in kept:
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def docstrings(tree: ast.AST) -> Iterator[Bound]:
    """First lines of docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text:
                yield text.splitlines()[0], getattr(node, "lineno", 1)


BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.IfExp,
    ast.BoolOp,
    ast.comprehension,
    ast.ExceptHandler,
    ast.match_case,
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def nested(tree: ast.AST) -> int:
    """Comprehensions with another comprehension in them."""
    return sum(
        any(isinstance(inner, COMPREHENSIONS) for inner in ast.walk(node) if inner is not node)
        for node in ast.walk(tree)
        if isinstance(node, COMPREHENSIONS)
    )


def counted(files: Iterable[Path]) -> Counts:
    """The counts of these files together."""
    counts = Counts()
    for file in files:
        source = file.read_text(encoding="utf-8")
        tree = ast.parse(source)
        for name, number in bound(tree):
            counts.names += 1
            place = Place(file, number, name.strip("_"))
            if place.text in VAGUE:
                counts.vague.append(place)
            if place.text in BANNED:
                counts.banned.append(place)
        for text, number in docstrings(tree):
            counts.docstrings += 1
            if text.split()[0].strip(",.:").lower() in BEGINNINGS:
                counts.beginnings.append(Place(file, number, text))
        counts.branches += sum(isinstance(node, BRANCHES) for node in ast.walk(tree))
        counts.nested += nested(tree)
        counts.lines += source.count("\n")
    return counts


def line(name: str, counts: Counts) -> str:
    """One line of the table."""
    return (
        f"{name:14}{counts.lines:7}{counts.names:7}{len(counts.vague):7}"
        f"{len(counts.vague) / max(counts.names, 1):7.1%}"
        f"{counts.docstrings:7}{len(counts.beginnings):7}"
        f"{len(counts.beginnings) / max(counts.docstrings, 1):7.1%}"
        f"{100 * counts.branches / max(counts.lines, 1):8.1f}"
        f"{1000 * counts.nested / max(counts.lines, 1):8.1f}"
    )


def main() -> None:
    """Prints the table; with --places also where."""
    arguments = [Path(argument).resolve() for argument in sys.argv[1:] if argument != "--places"]
    files = sorted(file.resolve() for root in arguments or [PACKAGE] for file in root.rglob("*.py"))
    print("folder          lines  names  vague         docs   begin        br/100  ne/1000")
    rooms = Counter(
        file.relative_to(PACKAGE).parts[0]
        for file in files
        if len(file.relative_to(PACKAGE).parts) > 1
    )
    for room in sorted(rooms):
        print(line(room, counted([file for file in files if file.is_relative_to(PACKAGE / room)])))
    everything = counted(files)
    print(line("together", everything))
    if "--places" in sys.argv:
        for place in [*everything.vague, *everything.beginnings]:
            print(place._replace(file=place.file.relative_to(PACKAGE)))


if __name__ == "__main__":
    main()
