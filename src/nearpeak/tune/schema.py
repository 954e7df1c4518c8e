# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of tune.json, made from its structs.

`python -m nearpeak.tune.schema > docs/tuning.schema.json` renews the published copy.
"""

import json
from typing import Any

from nearpeak.schemas import published
from nearpeak.tune.tuned import SCHEMA, Tuned


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every file of this version satisfies."""
    return published(Tuned, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
