# SPDX-License-Identifier: Apache-2.0
"""Of each published format the schema, the document and the structs say the same."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.compare import schema as compare
from nearpeak.conform import schema as conform
from nearpeak.explain import schema as explain
from nearpeak.nodes import schema as nodes
from nearpeak.results import schema as results
from nearpeak.study import schema as study
from nearpeak.trace import schema as trace
from nearpeak.tune import schema as tune

DOCS = Path(__file__).parents[1] / "docs"
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "compare": compare.schema,
    "conform": conform.schema,
    "explain": explain.schema,
    "nodes": nodes.schema,
    "records": study.records_schema,  # tests/study/test_records.py has its document
    "results": results.schema,
    "trace": trace.schema,
    "tuning": tune.schema,
}
# How headings of structs begin, and the structs that docs/results.md has for others too.
EXPLAINED = set(explain.schema()["$defs"])
DOCUMENTS = {
    "compare": ("###", {"Who", "Place", "Case", "Curve"}),
    "conform": ("###", set[str]()),
    "explain": ("###", set[str]()),
    "nodes": ("###", set[str]()),
    "results": ("##", EXPLAINED),
    "trace": ("###", set[str]()),
    "tuning": ("###", set[str]()),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_that_of_the_structs(name: str) -> None:
    published = json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8"))
    module = SCHEMAS[name].__module__
    assert published == SCHEMAS[name](), f"python -m {module} > docs/{name}.schema.json renews it"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_field_is_documented_and_nothing_else(name: str) -> None:
    heading, shared = DOCUMENTS[name]
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    documented = {}
    for section in re.split(rf"^{heading} ", text, flags=re.MULTILINE)[1:]:
        if fields := re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE):
            documented[section.split()[0]] = set(fields)
    schema = SCHEMAS[name]()
    structs = {
        struct: set(known["properties"])
        for struct, known in schema["$defs"].items()
        if "properties" in known and struct not in shared
    }
    assert documented == structs
    whole = schema["$ref"].rsplit("/", 1)[-1]
    version = schema["$defs"][whole]["properties"]["schema"]["const"]
    assert f"version {version}" in text
