# SPDX-License-Identifier: Apache-2.0
"""The columns of a struct of the results, for programs that take tables (docs/report.md)."""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from nearpeak.terms.identity import Case, Place

Getter = Callable[[Any], Any]
UNNAMED = ("who", "place", "case", "curve", "cell")  # their columns go without a prefix
RENAMED = {  # columns that are not called as the field
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


def flat(item: msgspec.Struct) -> dict[str, object]:
    """The values of a struct by their columns; None where there is none."""
    return {name: value(item) for name, value in fields(type(item)).items()}


@functools.cache
def fields(kind: type[msgspec.Struct], path: str = "", name: str = "") -> dict[str, Getter]:
    """The columns of a struct, each with what gets its value.

    A struct within it has its columns behind its name, and a `value` has that name; an interval has
    two, texts and maps are joined by `;`. Other lists are left out. `path`: of the struct, in dots;
    `name`: how its columns begin.
    """
    found: dict[str, Getter] = {}
    for field, declared in get_type_hints(kind).items():
        where = path if field in UNNAMED else f"{path}.{field}".strip(".")
        if where in RENAMED:
            called = RENAMED[where]
        elif field in UNNAMED or (field == "value" and name):
            called = name
        else:
            own = "size_bytes" if field == "x" and issubclass(kind, Case) else field
            called = f"{name}_{own}".strip("_")
        if kind is not Place or field == "path":  # the rest of a place follows from its path
            found |= _field_of(_some(declared), field, where, called)
    return found


def _field_of(declared: Any, field: str, where: str, name: str) -> dict[str, Getter]:
    def attribute(item: Any) -> Any:
        return None if item is None else getattr(item, field)

    origin = get_origin(declared)
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        inner = fields(declared, where, name)
        return {path: _then(attribute, value) for path, value in inner.items()}
    if origin is tuple and name.endswith(("ci95", "range")):
        return {
            f"{name}_low": _then(attribute, lambda ends: ends and ends[0]),
            f"{name}_high": _then(attribute, lambda ends: ends and ends[1]),
        }
    if origin is dict:
        return {name: _then(attribute, _pairs)}
    if origin is list:
        (item,) = get_args(declared)
        joined = get_origin(item) is Literal or item in (str, int)
        return {name: _then(attribute, _texts)} if joined else {}
    return {} if origin is tuple else {name: attribute}


def _some(declared: Any) -> Any:
    """A type without its None."""
    kinds = [kind for kind in get_args(declared) if kind is not type(None)]
    return kinds[0] if type(None) in get_args(declared) else declared


def _then(first: Getter, second: Getter) -> Getter:
    return lambda item: second(first(item))


def _pairs(found: Mapping[str, object] | None) -> str:
    return ";".join(f"{name}={value}" for name, value in (found or {}).items())


def _texts(found: Iterable[object] | None) -> str:
    return ";".join(map(str, found or ()))
