# SPDX-License-Identifier: Apache-2.0
"""The published schema of records.jsonl: `python -m nearpeak.study.schema` prints it."""

import json
from typing import Any

import msgspec

from nearpeak.study.records import SCHEMA, Record


def records_schema() -> dict[str, Any]:
    """The JSON Schema of one line."""
    made = msgspec.json.schema(Record)
    made["$defs"]["StudyRecord"]["properties"]["schema"] = {"const": SCHEMA}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "one line of records.jsonl",
        **made,
    }


if __name__ == "__main__":
    print(json.dumps(records_schema(), indent=1))
