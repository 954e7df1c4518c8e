# SPDX-License-Identifier: Apache-2.0
"""The MPI calls of an application (docs/how-to/trace.md). Sizes are in bytes, times in seconds."""

import json
from typing import Any

from nearpeak.schemas import published
from nearpeak.trace.trace import SCHEMA, Trace

TITLE = "The file of `nearpeak trace -o`"
WHOLE = Trace


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every file of this version satisfies."""
    return published(WHOLE, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
