# SPDX-License-Identifier: Apache-2.0
"""The descriptions of fields: the comments that stand behind them, or right above.

A comment describes a field in the file of its struct, and from there it comes into the JSON Schema
(schemas.py) and the reference (reference.py). `Annotated[float, msgspec.Meta(description="...")]`
would need no reader, but makes each field three lines of code around one word of type.

Comments behind the values of an enumeration (`Name = Literal[...]`, one in a line) describe these.
"""

import ast
import inspect
import io
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, get_args, get_type_hints

import msgspec

PACKAGE = "nearpeak"


def structs(kind: Any) -> dict[str, type]:
    """All structs and named tuples in values of this type, the outer ones first."""
    by_name: dict[str, type] = {}
    pending = [kind]
    while pending:
        kind = pending.pop(0)
        if not isinstance(kind, type) or not hasattr(kind, "__match_args__"):
            pending = [*get_args(kind), *pending]
        elif kind.__name__ not in by_name:
            by_name[kind.__name__] = kind
            pending = [*get_type_hints(kind).values(), *pending]
    return by_name


def descriptions(struct: type) -> dict[str, str]:
    """The description of each field that has one, by its name in JSON."""
    described: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if base.__module__.split(".")[0] == PACKAGE:
            described |= _by_class(sys.modules[base.__module__]).get(base.__qualname__, {})
    if not issubclass(struct, msgspec.Struct):
        return described
    names = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    return {encoded: described[name] for name, encoded in names if name in described}


def enumerations(struct: type) -> dict[frozenset[str], tuple[str, dict[str, str]]]:
    """Enumerations whose values have descriptions, in a struct's module or imported there: by
    their values the name, and the description of each value."""
    module = sys.modules[struct.__module__]
    imported = {
        node.module
        for node in _tree(module).body
        if isinstance(node, ast.ImportFrom) and node.module in sys.modules
    }
    return {
        frozenset(values): (name, values)
        for source in (*(sys.modules[name] for name in sorted(filter(None, imported))), module)
        if source.__name__.split(".")[0] == PACKAGE
        for name, values in _by_enumeration(source).items()
    }


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


@cache
def _comments(module: ModuleType) -> dict[int, tuple[str, bool]]:
    """By its line each comment, and whether it has the line to itself."""
    tokens = tokenize.generate_tokens(io.StringIO(inspect.getsource(module)).readline)
    return {
        token.start[0]: (token.string.lstrip("# "), not token.line[: token.start[1]].strip())
        for token in tokens
        if token.type == tokenize.COMMENT
    }


@cache
def _by_class(module: ModuleType) -> dict[str, dict[str, str]]:
    return {
        node.name: {
            field.target.id: text
            for field in node.body
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            if (text := _comment(module, field))
        }
        for node in _tree(module).body
        if isinstance(node, ast.ClassDef)
    }


@cache
def _by_enumeration(module: ModuleType) -> dict[str, dict[str, str]]:
    described: dict[str, dict[str, str]] = {}
    for node in _tree(module).body:
        match node:
            case ast.Assign(
                targets=[ast.Name(name)],
                value=ast.Subscript(ast.Name("Literal"), ast.Tuple(values)),
            ) if node.lineno != node.end_lineno:
                texts = _texts(module, values, described)
                if any(texts.values()):
                    described[name] = texts
    return described


def _texts(
    module: ModuleType, values: list[ast.expr], described: dict[str, dict[str, str]]
) -> dict[str, str]:
    """The description of each value; `described`: enumerations that may be a part of this one."""
    texts: dict[str, str] = {}
    for value in values:
        match value:
            case ast.Constant(str(text)):
                texts[text] = _comment(module, value)
            case ast.Name(name):
                texts |= described.get(name, {})
    return texts


def _comment(module: ModuleType, node: ast.stmt | ast.expr) -> str:
    """The lines right above a node, and what stands behind it."""
    return " ".join([*reversed(list(_above(module, node))), *_behind(module, node)])


def _above(module: ModuleType, node: ast.stmt | ast.expr) -> Iterator[str]:
    line = node.lineno - 1
    while (comment := _comments(module).get(line)) and comment[1]:
        yield comment[0]
        line -= 1


def _behind(module: ModuleType, node: ast.stmt | ast.expr) -> Iterator[str]:
    for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        text, whole_line = _comments(module).get(line, ("", True))
        if not whole_line:
            yield text
