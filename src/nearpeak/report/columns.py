# SPDX-License-Identifier: Apache-2.0
"""The columns of a struct of the results, for programs that take tables (docs/reference/csv.md)."""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from nearpeak.fields import descriptions
from nearpeak.terms.identity import Case, Place

Getter = Callable[[Any], Any]
UNNAMED = ("who", "place", "case", "curve", "cell")  # their columns go without a prefix
RENAMED = {  # columns whose name is not that of the field
    "of_plateau": "plateau",
    "of_plateau.x": "plateau_size_bytes",
    "of_plateau.method": "plateau_method",
    "of_plateau.fraction": "fraction_plateau",
    "of_plateau.ci95": "fraction_plateau_ci95",
    "of_plateau.range": "fraction_plateau_range",
    "of_plateau.blocks": "fraction_plateau_blocks",
    "overlap.hidden": "overlap",
    "overlap.communicate_us": "communicate_us",
    "overlap.compute_us": "compute_us",
    "overlap.both_us": "both_us",
    "overlap.device_slowdown": "device_slowdown",
    "hidden": "overlap",
    "phases": "phases_us",
    "roofline.fraction": "roofline",
    "scaled.scaling": "scaling",
    "scaled.efficiency": "efficiency",
}


class Column(NamedTuple):
    """A column of a struct: its value in an item, and the field that it comes from."""

    value: Getter
    field: str  # dotted path in the struct, without fields whose columns have no prefix
    struct: type[msgspec.Struct]  # which has the field
    name: str  # of the field in it


def flat(item: msgspec.Struct) -> dict[str, object]:
    """The values of a struct by column; None for a missing value."""
    return {name: value(item) for name, value in fields(type(item)).items()}


def fields(kind: type[msgspec.Struct]) -> dict[str, Getter]:
    """The columns of a struct, each with the getter of its value."""
    return {name: column.value for name, column in columns_of(kind).items()}


def meaning(column: Column) -> str:
    """The description of the field of a column."""
    return descriptions(column.struct).get(column.name, "")


@functools.cache
def columns_of(kind: type[msgspec.Struct], path: str = "", name: str = "") -> dict[str, Column]:
    """The columns of a struct.

    The columns of an inner struct begin with the name of its field; its `value` has that name. An
    interval has two columns. Texts and maps are joined by `;`. Other lists are left out. `path`:
    the dotted path of the struct; `name`: the prefix of its columns.
    """
    columns: dict[str, Column] = {}
    for field, declared in get_type_hints(kind).items():
        field_path = path if field in UNNAMED else f"{path}.{field}".strip(".")
        if field_path in RENAMED:
            column = RENAMED[field_path]
        elif field in UNNAMED or (field == "value" and name):
            column = name
        else:
            leaf = "size_bytes" if field == "x" and issubclass(kind, Case) else field
            column = f"{name}_{leaf}".strip("_")
        if kind is not Place or field == "path":  # the rest of a place follows from its path
            columns |= _field_columns(kind, field, _without_none(declared), field_path, column)
    return columns


def _field_columns(
    kind: type[msgspec.Struct], field: str, declared: Any, path: str, name: str
) -> dict[str, Column]:
    def attribute(item: Any) -> Any:
        return None if item is None else getattr(item, field)

    def column(value: Getter) -> Column:
        return Column(value, path, kind, field)

    origin = get_origin(declared)
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        parts: dict[str, Column] = {}
        for title, part in columns_of(declared, path, name).items():
            whole = (title, part.name) == (name, "value")
            value = _then(attribute, part.value)
            parts[title] = column(value) if whole else part._replace(value=value)
        return parts
    if origin is tuple and name.endswith(("ci95", "range")):
        return {
            f"{name}_low": column(_then(attribute, lambda ends: ends and ends[0])),
            f"{name}_high": column(_then(attribute, lambda ends: ends and ends[1])),
        }
    if origin is dict:
        return {name: column(_then(attribute, _pairs))}
    if origin is list:
        (item,) = get_args(declared)
        joined = get_origin(item) is Literal or item in (str, int)
        return {name: column(_then(attribute, _texts))} if joined else {}
    return {} if origin is tuple else {name: column(attribute)}


def _without_none(declared: Any) -> Any:
    """A type without its None."""
    kinds = [kind for kind in get_args(declared) if kind is not type(None)]
    return kinds[0] if type(None) in get_args(declared) else declared


def _then(first: Getter, second: Getter) -> Getter:
    return lambda item: second(first(item))


def _pairs(mapping: Mapping[str, object] | None) -> str:
    return ";".join(f"{name}={value}" for name, value in (mapping or {}).items())


def _texts(items: Iterable[object] | None) -> str:
    return ";".join(map(str, items or ()))
