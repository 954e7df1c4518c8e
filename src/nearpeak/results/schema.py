# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of results.json, made from its structs.

`python -m nearpeak.results.schema > docs/results.schema.json` renews the published copy.
"""

import json
from typing import Any

import msgspec

from nearpeak.results.model import SCHEMA, Results


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every results.json of this version satisfies."""
    # As JSON has it: the default of a tuple is a list there.
    made = json.loads(msgspec.json.encode(msgspec.json.schema(Results)))
    made["$defs"]["Results"]["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
