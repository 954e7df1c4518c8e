# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of conform.json, made from its structs.

`python -m nearpeak.conform.schema > docs/conform.schema.json` renews the published copy.
"""

import json
from typing import Any

from nearpeak.conform.conformance import SCHEMA, Conformance
from nearpeak.schemas import published


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every conform.json of this version satisfies."""
    return published(Conformance, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
