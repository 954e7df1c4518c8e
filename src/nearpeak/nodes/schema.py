# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of nodes.json, made from its structs.

`python -m nearpeak.nodes.schema > docs/nodes.schema.json` renews the published copy.
"""

import json
from typing import Any

from nearpeak.nodes.found import SCHEMA, Found
from nearpeak.schemas import published


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every nodes.json of this version satisfies."""
    return published(Found, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
