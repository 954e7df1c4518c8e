# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of a published format, made from its structs and the comments of their fields."""

import json
from collections.abc import Callable
from typing import Any

import msgspec

from nearpeak.fields import descriptions, structs

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def published(
    kind: Any,
    version: int,
    versioned: str | None = None,
    schema_hook: Callable[[type], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The schema that every file of this version satisfies; `versioned` names the struct with the
    version, where that is not the whole."""
    # As JSON: the default of a tuple is a list there.
    made = json.loads(msgspec.json.encode(msgspec.json.schema(kind, schema_hook=schema_hook)))
    made["$defs"][versioned or kind.__name__]["properties"]["schema"] = {"const": version}
    for name, struct in structs(kind).items():
        properties = made["$defs"][name].get("properties", {})
        described = {"record": "the kind of the line", **descriptions(struct)}
        for field in properties.keys() & described.keys():
            properties[field]["description"] = described[field]
    return {"$schema": DRAFT, **made}
