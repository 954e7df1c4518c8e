# SPDX-License-Identifier: Apache-2.0
"""The parts of the time of messages, as `nearpeak explain` traced them (docs/how-to/explain.md).
Times are in us, sizes in bytes.
"""

import json
from typing import Any

from nearpeak.observations.explained import SCHEMA, Explanation
from nearpeak.schemas import published

TITLE = "The file of `nearpeak explain -o`"
WHOLE = Explanation


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every file of this version satisfies."""
    return published(WHOLE, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
