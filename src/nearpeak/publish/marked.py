# SPDX-License-Identifier: Apache-2.0
"""Walks the texts of typed records, each with the mark of its field (terms/private.py)."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from nearpeak.terms.private import KEY, HostName, Mark

# Of a text: its mark, the text, and the name of the variable that it is the value of, or "".
Change: TypeAlias = Callable[[Mark, str, str], str]
Kinds: TypeAlias = Sequence[Any]  # of the items of a value


def changed(value: Any, change: Change, kind: Any = Any) -> Any:
    """The value with all texts changed but public ones. `kind`: its type with marks; texts that it
    does not tell of are free, and structs have their own types."""
    mark, kinds = _of_value(kind, value.__class__)
    match value:
        case str():
            return value if mark == "public" else change(mark, value, "")
        case Path():
            return Path(change("folder", str(value), ""))
        case msgspec.Struct():
            fields = _fields(type(value)).items()
            parts = {name: changed(getattr(value, name), change, kind) for name, kind in fields}
            return msgspec.structs.replace(value, **parts)
        case list() | tuple():
            of_items = chain(kinds, repeat(kinds[0]))
            return type(value)(map(changed, value, repeat(change), of_items))
        case dict() if mark == "variables":
            return {_key(name, change): change(mark, item, name) for name, item in value.items()}
        case dict():
            named = {"host": HostName} if kinds[1] is Any else {}
            return {
                _key(name, change, kinds[0]): changed(item, change, named.get(name, kinds[1]))
                for name, item in value.items()
            }
    return value


def _key(key: Any, change: Change, kind: Any = Any) -> Any:
    """A key with a stand-in, unless it may be a field or a variable: a key that is marked as a
    name, such as that of a host, is none, though it may look like one."""
    mark, _ = _of_value(kind, key.__class__)
    may_be_field = mark in ("public", "text") and str(key).isidentifier()
    return key if may_be_field else changed(key, change, kind)


@cache
def _of_value(kind: Any, held: type) -> tuple[Mark, Kinds]:
    """The mark that a type has for values of the class `held`, and the types of their items."""
    for choice in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        mark, bare = _marked(choice)
        base = get_origin(bare) or bare
        if isinstance(base, type) and issubclass(held, base):
            kinds = tuple(item for item in get_args(bare) if item is not Ellipsis)
            return mark, kinds or (Any, Any)
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
