# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of the file of `nearpeak trace -o`, made from its structs.

`python -m nearpeak.trace.schema > docs/trace.schema.json` renews the published copy.
"""

import json
from typing import Any

from nearpeak.schemas import published
from nearpeak.trace.trace import SCHEMA, Trace


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every file of this version satisfies."""
    return published(Trace, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
