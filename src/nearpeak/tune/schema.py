# SPDX-License-Identifier: Apache-2.0
"""The result of `nearpeak tune` (docs/how-to/tune.md). Times are in seconds unless a field says
otherwise.
"""

import json
from typing import Any

from nearpeak.schemas import published
from nearpeak.tune.tuned import SCHEMA, Tuned

TITLE = "tune.json"
WHOLE = Tuned


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every file of this version satisfies."""
    return published(WHOLE, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
