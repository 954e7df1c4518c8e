# SPDX-License-Identifier: Apache-2.0
"""docs/results.md has the types of all fields, and results satisfy docs/results.schema.json."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearpeak.explain import schema as explain
from nearpeak.results.build import to_json
from nearpeak.results.results import SCHEMA
from nearpeak.results.schema import schema

DOCS = Path(__file__).parents[2] / "docs"
MakeStudy = Any
ELSEWHERE = set(explain.schema()["$defs"])  # in docs/explain.md (tests/test_schemas.py)
STRUCTS = {
    name: known
    for name, known in schema()["$defs"].items()
    if "properties" in known and name not in ELSEWHERE
}


def documented() -> dict[str, dict[str, str]]:
    """struct -> field -> type, from the tables of docs/results.md."""
    found: dict[str, dict[str, str]] = {}
    for section in re.split(r"^## ", (DOCS / "results.md").read_text(), flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\| `(\w+)` \|([^|]+)\|[^|]+\|[^|]+\|$", section, re.MULTILINE)
        if rows:
            found[section.split()[0]] = {name: kind.strip() for name, kind in rows}
    return found


def kind(declared: dict[str, Any]) -> str:
    """A field's type as the document words it."""
    if "const" in declared:
        return "integer"
    if "$ref" in declared:
        return str(declared["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in declared:
        return " or ".join(kind(choice) for choice in declared["anyOf"])
    if "enum" in declared:
        return "string"
    name = str(declared["type"])
    if name == "array" and "prefixItems" in declared:
        return f"[{', '.join(kind(prefixitem) for prefixitem in declared['prefixItems'])}]"
    if name == "array":
        return f"array of {kind(declared['items'])}"
    if name == "object" and "additionalProperties" in declared:
        return f"object of {kind(declared['additionalProperties'])}"
    return name


@pytest.mark.parametrize("struct", sorted(STRUCTS))
def test_every_type_is_documented(struct: str) -> None:
    fields = {name: kind(declared) for name, declared in STRUCTS[struct]["properties"].items()}
    assert documented().get(struct) == fields


def values(declared: dict[str, Any]) -> Iterator[str]:
    """What an enumeration has, also behind null, in a list, or as keys."""
    yield from (value for value in declared.get("enum", ()) if value)
    inner = [*declared.get("anyOf", ()), declared.get("items"), declared.get("propertyNames")]
    for part in filter(None, inner):
        yield from values(part) if isinstance(part, dict) else ()


@pytest.mark.parametrize("struct", sorted(STRUCTS))
def test_every_value_of_an_enumeration_is_documented(struct: str) -> None:
    """Where a field refers to another one (`as of a Failure`, a `status`) or page, there."""
    text = (DOCS / "results.md").read_text()
    rules = re.findall(r"^## (.*)$", (DOCS / "rules.md").read_text(), re.MULTILINE)
    section = f"\n{text}".split(f"\n## {struct}\n")[1].split("\n## ")[0]
    for name, declared in STRUCTS[struct]["properties"].items():
        (row,) = re.findall(rf"^\| `{name}` \|.*", section, re.MULTILINE)
        if "(rules.md)" in row:
            assert sorted(values(declared)) == rules
        elif not re.search("as of a|a `status`|have each verdict", row):
            assert [value for value in values(declared) if f"`{value}`" not in section] == [], name


def test_results_satisfy_the_published_schema(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    sizes = [1 << power for power in range(0, 24, 4)]
    for block in range(6):
        study.ceiling(block, {("bw", "ring", size): 10.0 for size in sizes})
        for library in study.libraries:
            rates = {size: (5.0 + block % 2) * size / (size + 1000) for size in sizes}
            study.launch(block, library, "bw", rates)
    crashed = study.launch(6, "beta", "bw", status=None)
    study.problem(crashed, "bw", 16, "skipped")
    study.end(crashed, "crashed")
    results = study.results()
    assert all(
        [
            results.cells[0].modes,
            results.ceilings,
            results.fits,
            results.comparisons,
            results.headlines,
            results.cells[0].of_plateau,
            results.failures,
            results.skipped,
            results.drift,
        ]
    )
    published = json.loads((DOCS / "results.schema.json").read_text())
    plain = json.loads(to_json(results))
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(plain, published)
    plain["schema"] = SCHEMA + 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, published)
