# SPDX-License-Identifier: Apache-2.0
"""docs/compare.schema.json and the structs say the same, and every field is documented."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from nearpeak.compare.build import compare, to_json
from nearpeak.compare.load import load_side
from nearpeak.compare.model import SCHEMA
from nearpeak.compare.schema import schema

DOCS = Path(__file__).parents[2] / "docs"
MakeSides = Callable[..., Path]
SHARED = {"Who", "Place", "Case", "Curve"}  # docs/results.md has them


def test_the_published_schema_is_that_of_the_structs() -> None:
    published = json.loads((DOCS / "compare.schema.json").read_text(encoding="utf-8"))
    assert published == schema(), (
        "python -m nearpeak.compare.schema > docs/compare.schema.json renews it"
    )


def test_every_field_is_documented_and_nothing_else() -> None:
    text = (DOCS / "compare.md").read_text(encoding="utf-8")
    documented = {}
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        documented[section.split()[0]] = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    structs = {
        name: set(one["properties"])
        for name, one in schema()["$defs"].items()
        if "properties" in one and name not in SHARED
    }
    assert documented == structs
    assert f"version {SCHEMA}" in text


def test_a_comparison_satisfies_it(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", libraries=("alpha", "beta"))])
    new = load_side(
        [make_sides("new", day=2, libraries=("alpha", "beta"), crashed=("beta",), nvidia="1")]
    )
    plain = json.loads(to_json(compare(old, new, 0.05)))
    assert all(plain[name] for name in ("differences", "libraries", "ceilings", "lost"))
    jsonschema.validate(plain, schema())
    plain["schema"] = SCHEMA + 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, schema())
