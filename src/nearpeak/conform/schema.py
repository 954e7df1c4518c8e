# SPDX-License-Identifier: Apache-2.0
"""The outcomes of a conformance run (docs/how-to/conform.md)."""

import json
from typing import Any

from nearpeak.conform.conformance import SCHEMA, Conformance
from nearpeak.schemas import published

TITLE = "conform.json"
WHOLE = Conformance


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every conform.json of this version satisfies."""
    return published(WHOLE, SCHEMA)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
