# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of a file that is one struct with its version."""

import json
from typing import Any

import msgspec

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def published(kind: type[msgspec.Struct], version: int) -> dict[str, Any]:
    """The schema that every file of this version satisfies."""
    # As JSON: the default of a tuple is a list there.
    made = json.loads(msgspec.json.encode(msgspec.json.schema(kind)))
    made["$defs"][kind.__name__]["properties"]["schema"] = {"const": version}
    return {"$schema": DRAFT, **made}
