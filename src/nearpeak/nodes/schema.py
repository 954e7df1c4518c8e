# SPDX-License-Identifier: Apache-2.0
"""The slow nodes and links of a cluster (docs/how-to/nodes.md)."""

import json
from typing import Any

from nearpeak.nodes.found import SCHEMA, Found
from nearpeak.schemas import published

TITLE = "nodes.json"
WHOLE = Found


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every nodes.json of this version satisfies."""
    return published(WHOLE, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
