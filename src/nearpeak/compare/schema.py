# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of compare.json, made from its structs.

`python -m nearpeak.compare.schema > docs/compare.schema.json` renews the published copy.
"""

import json
from typing import Any

from nearpeak.compare.compared import SCHEMA, Compared
from nearpeak.schemas import published


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every compare.json of this version satisfies."""
    return published(Compared, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
