# SPDX-License-Identifier: Apache-2.0
"""Values that many objects of results.json share: each stands in it once, and they name its number.

With 128 ranks a place has 128 ends and a command a CPU list for each of them: written into every
cell they were nearly all of the file.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

TABLES = {"place": "places", "command": "commands"}  # a field's name, and its table's
NULL = {"type": "null"}
KINDS = {"place": dict, "command": str}  # of their values: axes and phases may have such names too


def once(plain: dict[str, Any]) -> dict[str, Any]:
    """The whole of results.json, with the tables in it and their numbers instead of the values."""
    numbers: dict[str, dict[bytes, int]] = {table: {} for table in TABLES.values()}

    def number(name: str, value: Any) -> int:
        numbered = numbers[TABLES[name]]
        return numbered.setdefault(msgspec.json.encode(value), len(numbered))

    made: dict[str, Any] = _replaced(plain, KINDS, number)
    return made | {
        table: list(map(msgspec.json.decode, values)) for table, values in numbers.items()
    }


def expand(made: dict[str, Any]) -> dict[str, Any]:
    """Undoes `once`."""
    content = {name: value for name, value in made.items() if name not in TABLES.values()}
    plain: dict[str, Any] = _replaced(
        content, dict.fromkeys(TABLES, int), lambda name, number: made[TABLES[name]][number]
    )
    return plain


def _replaced(value: Any, kinds: Mapping[str, type], replace: Callable[[str, Any], Any]) -> Any:
    """Replaces each field of these names and kinds by what `replace` makes of its name and
    value."""
    if isinstance(value, list | tuple):
        return [_replaced(item, kinds, replace) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: replace(name, field)
        if name in kinds and isinstance(field, kinds[name])
        else _replaced(field, kinds, replace)
        for name, field in value.items()
    }


def once_in(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of what `once` makes, by that of its argument."""
    structs = schema["$defs"]
    root = structs[schema["$ref"].rsplit("/", 1)[-1]]
    for struct in structs.values():
        for name, table in TABLES.items():
            declared = struct.get("properties", {}).get(name)
            if declared is None:
                continue
            description = declared.pop("description")
            declared_kind = next(kind for kind in declared.get("anyOf", [declared]) if kind != NULL)
            root["properties"][table] = {
                "type": "array",
                "items": declared_kind,
                "description": f"each {name} once, from 0: every field `{name}` is a number of one",
            }
            number = {"type": "integer"}
            struct["properties"][name] = {
                **(number if declared_kind is declared else {"anyOf": [number, NULL]}),
                "description": f"{description}: its number in `{table}`",
            }
    root["required"] += TABLES.values()
    return schema
