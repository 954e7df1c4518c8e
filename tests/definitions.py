# SPDX-License-Identifier: Apache-2.0
"""Names that the sources define, so that documents can be held to them."""

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "nearpeak"
BENCH = ROOT / "bench"
PRELOAD = ROOT / "preload"
CPP = {".cpp", ".hpp", ".inc"}

TYPE = re.compile(r"\b(?:class|struct|enum class|enum) (?:alignas\([^)]*\) )?(\w+)[^;]*\{")
FUNCTION = re.compile(r"^(?![ #/]).*?\b((?:\w+::)?\w+)\(", re.MULTILINE)  # in the first column
MEMBER = re.compile(
    r"^ {2,}(?!return|throw|else)[\w:<>*&, ]*?[\w>*&] [*&]?(\w+)\(",
    re.MULTILINE,
)
FIELD = re.compile(
    r"^ +(?!return|throw|using|delete|friend|goto)[\w:<>,& ]+? (\w+)(?: = [^;]+|\{[^;]*\})?;",
    re.MULTILINE,
)
ENUMERATOR = re.compile(r"\b(k[A-Z]\w*)\b")
MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)


def _named(tree: ast.AST, prefix: str = "") -> Iterator[str]:
    """Classes, functions and fields of a module: `Case`, `Case.curve`, `SCHEMA`."""
    for node in getattr(tree, "body", []):
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name
            yield from _named(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield prefix + node.target.id
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield prefix + target.id


@cache
def in_file(file: Path) -> frozenset[str]:
    """Names that one source file defines; FileNotFoundError without it."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        return frozenset(_named(ast.parse(text)))
    patterns = [TYPE, FUNCTION, ENUMERATOR, MACRO]
    if file.suffix == ".hpp":  # in others what looks so is in functions
        patterns += [MEMBER, FIELD]
    return frozenset(name for pattern in patterns for name in pattern.findall(text))


def below(root: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """Yields the sources below a folder that end so, without its tests and third parties."""
    for file in sorted(root.rglob("*")):
        inside = file.relative_to(root).parts[0] not in ("tests", "third_party")
        if inside and file.suffix in suffixes:
            yield file


def sources() -> Iterator[Path]:
    """Python of the study, and C++ of the measuring programs and of what is preloaded."""
    yield from below(PACKAGE, {".py"})
    for root in (BENCH, PRELOAD):
        yield from below(root, CPP)


@cache
def everywhere() -> frozenset[str]:
    """Names that any source file defines; fields by their own names, too."""
    names: set[str] = set()
    for file in sources():
        names |= in_file(file)
    return frozenset(names | {name.rpartition(".")[2] for name in names})
