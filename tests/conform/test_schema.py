# SPDX-License-Identifier: Apache-2.0
"""docs/conform.schema.json, docs/conform.md and the structs say the same."""

import json
import re
from pathlib import Path

from nearpeak.conform.model import SCHEMA
from nearpeak.conform.schema import schema

DOCS = Path(__file__).parents[2] / "docs"


def test_the_published_schema_is_that_of_the_structs() -> None:
    published = json.loads((DOCS / "conform.schema.json").read_text(encoding="utf-8"))
    assert published == schema(), (
        "python -m nearpeak.conform.schema > docs/conform.schema.json renews it"
    )


def test_every_field_is_documented_and_nothing_else() -> None:
    text = (DOCS / "conform.md").read_text(encoding="utf-8")
    documented = {}
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        documented[section.split()[0]] = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    structs = {
        name: set(one["properties"])
        for name, one in schema()["$defs"].items()
        if "properties" in one
    }
    assert documented == structs
    assert f"version {SCHEMA}" in text
