# SPDX-License-Identifier: Apache-2.0
"""The changes of studies against older ones, written by `nearpeak compare --json`
(docs/how-to/compare.md). `schema` is raised when a field is removed, or changes its meaning, type
or unit.
"""

import json
from typing import Any

from nearpeak.compare.compared import SCHEMA, Compared
from nearpeak.schemas import published

TITLE = "compare.json"
WHOLE = Compared


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every compare.json of this version satisfies."""
    return published(WHOLE, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
