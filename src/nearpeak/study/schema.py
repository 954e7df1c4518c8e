# SPDX-License-Identifier: Apache-2.0
"""The raw data of a study: one JSON object in each line, appended as it happens, never changed.
Everything else in the study's folder can be made again from it and from `plan.json` and
`machine.json`. docs/reference/reading-records.md has the rules for readers and writers.

`record` is the kind of a line. The tables of the lines come first, each with its parts. Sizes are
in bytes of payload; names that end in `_us`, `_ns` or `seconds` say their unit.
"""

import json
from pathlib import Path
from typing import Any

from nearpeak.schemas import published
from nearpeak.study.records import SCHEMA, Record

TITLE = "records.jsonl"
WHOLE = Record


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of one line."""
    made = published(WHOLE, SCHEMA, versioned="StudyRecord", schema_hook=_schema_of)
    return {"title": "one line of records.jsonl", **made}


def _schema_of(kind: type) -> dict[str, Any]:
    if kind is Path:
        return {"type": "string"}
    raise NotImplementedError(kind)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
