# SPDX-License-Identifier: Apache-2.0
"""Figures of studies over time and their changes, written by `nearpeak history --json`
(docs/how-to/history.md). `schema` is raised when a field is removed, or changes its meaning, type
or unit.
"""

import json
from typing import Any

from nearpeak.history.courses import SCHEMA, History
from nearpeak.schemas import published

TITLE = "history.json"
WHOLE = History


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every history.json of this version satisfies."""
    return published(WHOLE, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
