# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of results.json, made from its structs.

`python -m nearpeak.results.schema > docs/results.schema.json` renews the published copy.
"""

import json
from typing import Any

from nearpeak.results.results import SCHEMA, Results
from nearpeak.results.shared import once_in
from nearpeak.schemas import published


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every results.json of this version satisfies."""
    return once_in(published(Results, SCHEMA))


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
