# SPDX-License-Identifier: Apache-2.0
"""Of each published format the schema and the reference are made of the structs of today."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from nearpeak.fields import descriptions, enumerations, structs
from nearpeak.reference import FORMATS, page

DOCS = Path(__file__).parents[1] / "docs"
MOST_WORDS = 30  # of a description


@pytest.mark.parametrize("name", FORMATS)
def test_the_published_schema_is_that_of_the_structs(name: str) -> None:
    published = json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8"))
    made = import_module(FORMATS[name]).schema()
    assert published == made, f"python -m {FORMATS[name]} > docs/{name}.schema.json renews it"


@pytest.mark.parametrize("name", FORMATS)
def test_the_page_is_of_today(name: str) -> None:
    file = DOCS / "reference" / f"{name}.md"
    made = f"python -m nearpeak.reference {name} > docs/reference/{name}.md"
    assert file.read_text(encoding="utf-8") == page(name), made


@pytest.mark.parametrize("name", FORMATS)
def test_every_field_has_a_short_description(name: str) -> None:
    module = import_module(FORMATS[name])
    declared = module.schema()["$defs"]
    for kind, struct in structs(module.WHOLE).items():
        texts = {
            field: known.get("description", "")
            for field, known in declared[kind].get("properties", {}).items()
        } or descriptions(struct)
        assert [field for field, text in texts.items() if not text] == [], kind
        assert [text for text in texts.values() if len(text.split()) > MOST_WORDS] == [], kind


@pytest.mark.parametrize("name", FORMATS)
def test_enumerations_describe_all_of_their_values(name: str) -> None:
    for struct in structs(import_module(FORMATS[name]).WHOLE).values():
        for enumeration, texts in enumerations(struct).values():
            assert all(texts.values()), enumeration
            assert max(len(text.split()) for text in texts.values()) <= MOST_WORDS, enumeration
