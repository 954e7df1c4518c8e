# SPDX-License-Identifier: Apache-2.0
"""Walks the texts of typed records, each with the mark of its field (terms/private.py)."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from nearpeak.terms.private import KEY, HostName, Mark

# Of a text: its mark, the text, and the name of the variable that it is the value of, or "".
Change: TypeAlias = Callable[[Mark, str, str], str]
Kinds: TypeAlias = Sequence[Any]  # of the items of a value


def changed(value: Any, change: Change, kind: Any = Any) -> Any:
    """The value with all texts changed but public ones. `kind`: its type with marks; what it does
    not tell of is free text, or a struct with types of its own."""
    for base, walk in _WALKS.items():
        if isinstance(value, base):
            return walk(value, change, *_of_value(kind, type(value)))
    return value


def _of_text(text: str, change: Change, mark: Mark, _: Kinds) -> str:
    return text if mark == "public" else change(mark, text, "")


def _of_path(path: Path, change: Change, _: Mark, __: Kinds) -> Path:
    return Path(change("folder", str(path), ""))


def _of_struct(struct: Any, change: Change, _: Mark, __: Kinds) -> Any:
    kinds = _fields(type(struct)).items()
    fields = {name: changed(getattr(struct, name), change, kind) for name, kind in kinds}
    return msgspec.structs.replace(struct, **fields) if fields else struct


def _of_items(items: Any, change: Change, _: Mark, kinds: Kinds) -> Any:
    return type(items)([changed(item, change, kinds[0]) for item in items])


def _of_mapping(mapping: dict[Any, Any], change: Change, mark: Mark, kinds: Kinds) -> Any:
    """Also the keys change, but those that may be fields or variables."""
    return {
        key if str(key).isidentifier() else changed(key, change, kinds[0]): (
            change(mark, item, key)
            if mark == "variables"
            else changed(item, change, HostName if key == "host" and kinds[1] is Any else kinds[1])
        )
        for key, item in mapping.items()
    }


_WALKS: dict[type, Callable[..., Any]] = {
    str: _of_text,
    Path: _of_path,
    msgspec.Struct: _of_struct,
    dict: _of_mapping,
    list: _of_items,
    tuple: _of_items,
}


@cache
def _of_value(kind: Any, held: type) -> tuple[Mark, Kinds]:
    """The mark that a type has for values of the class `held`, and the types of their items."""
    for choice in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        mark, bare = _marked(choice)
        base = get_origin(bare) or bare
        if isinstance(base, type) and issubclass(held, base):
            return mark, get_args(bare)
    return "text", (Any, Any)


def _marked(kind: Any) -> tuple[Mark, Any]:
    """The mark of a type, and the type without it."""
    if get_origin(kind) is Literal:
        return "public", str
    if get_origin(kind) is not Annotated:
        return "text", kind
    [meta] = kind.__metadata__
    return meta.extra[KEY], kind.__origin__


@cache
def _fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The types of the fields with texts that are not public."""
    hints = get_type_hints(struct, include_extras=True)
    return {name: hints[name] for name in struct.__struct_fields__ if _has_texts(hints[name])}


def _has_texts(kind: Any) -> bool:
    mark, bare = _marked(kind)
    if mark == "public" or bare in (str, Any, Path):
        return mark != "public"
    if get_origin(bare) is None and isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        return bool(_fields(bare))
    return any(map(_has_texts, get_args(bare)))
