# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of compare.json, made from its structs.

`python -m nearpeak.compare.schema > docs/compare.schema.json` renews the published copy.
"""

import json
from typing import Any

import msgspec

from nearpeak.compare.model import SCHEMA, Compared


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every compare.json of this version satisfies."""
    # As JSON has it: the default of a tuple is a list there.
    made = json.loads(msgspec.json.encode(msgspec.json.schema(Compared)))
    made["$defs"]["Compared"]["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
