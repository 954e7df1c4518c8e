# SPDX-License-Identifier: Apache-2.0
"""What many objects of results.json have alike stands in it once, and they name its number.

With 128 ranks a place has 128 ends and a command a CPU list for each of them: written into every
cell they were nearly all of the file.
"""

from typing import Any

import msgspec

TABLES = {"place": "places", "command": "commands"}  # a field's name, and its table's
NULL = {"type": "null"}
KINDS = {"place": dict, "command": str}  # of their values: axes and phases may have such names too


def once(plain: dict[str, Any]) -> dict[str, Any]:
    """The whole of results.json, with the tables in it and their numbers in place of the values."""
    numbers: dict[str, dict[bytes, int]] = {table: {} for table in TABLES.values()}

    def numbered(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [numbered(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {
            name: number(TABLES[name], one)
            if name in TABLES and isinstance(one, KINDS[name])
            else numbered(one)
            for name, one in value.items()
        }

    def number(table: str, value: Any) -> int:
        return numbers[table].setdefault(msgspec.json.encode(value), len(numbers[table]))

    made: dict[str, Any] = numbered(plain)
    return made | {
        table: [msgspec.json.decode(value) for value in values] for table, values in numbers.items()
    }


def whole(made: dict[str, Any]) -> dict[str, Any]:
    """What `once` was given to make this."""
    values = {name: made[table] for name, table in TABLES.items()}

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {
            name: values[name][one] if name in values and isinstance(one, int) else filled(one)
            for name, one in value.items()
        }

    plain: dict[str, Any] = filled(
        {name: one for name, one in made.items() if name not in TABLES.values()}
    )
    return plain


def once_in(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of what `once` makes, by that of what it is given."""
    structs = schema["$defs"]
    whole = structs[schema["$ref"].rsplit("/", 1)[-1]]
    for struct in structs.values():
        for name, table in TABLES.items():
            declared = struct.get("properties", {}).get(name)
            if declared is None:
                continue
            some = next(one for one in declared.get("anyOf", [declared]) if one != NULL)
            whole["properties"][table] = {"type": "array", "items": some}
            number = {"type": "integer"}
            struct["properties"][name] = number if some is declared else {"anyOf": [number, NULL]}
    whole["required"] += TABLES.values()
    return schema
