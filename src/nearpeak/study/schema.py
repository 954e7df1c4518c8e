# SPDX-License-Identifier: Apache-2.0
"""The published schema of records.jsonl: `python -m nearpeak.study.schema` prints it."""

import json
from pathlib import Path
from typing import Any

import msgspec

from nearpeak.study.records import SCHEMA, Record


def records_schema() -> dict[str, Any]:
    """The JSON Schema of one line."""
    made = msgspec.json.schema(Record, schema_hook=_schema_of)
    made["$defs"]["StudyRecord"]["properties"]["schema"] = {"const": SCHEMA}
    made = msgspec.json.decode(msgspec.json.encode(made))  # of tuples, lists
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "one line of records.jsonl",
        **made,
    }


def _schema_of(kind: type) -> dict[str, Any]:
    if kind is Path:
        return {"type": "string"}
    raise NotImplementedError(kind)


if __name__ == "__main__":
    print(json.dumps(records_schema(), indent=1))
