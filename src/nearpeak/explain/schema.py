# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of the file of `nearpeak explain -o`, made from its structs.

`python -m nearpeak.explain.schema > docs/explain.schema.json` renews the published copy.
"""

import json
from typing import Any

from nearpeak.observations.explained import SCHEMA, Explanation
from nearpeak.schemas import published


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every file of this version satisfies."""
    return published(Explanation, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
