# SPDX-License-Identifier: Apache-2.0
"""The types of fields in words."""

from typing import Any

import pytest

from nearpeak.reference import _kind

TEXT = {"type": "string"}
KNOWN = {frozenset({"a", "b"}): ("Letter", {"a": "first", "b": "second"})}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"const": 3}, "integer"),
        (TEXT, "string"),
        ({"type": "array", "items": TEXT}, "list of string"),
        ({"type": "array", "prefixItems": [TEXT, {"type": "number"}]}, "[string, number]"),
        ({"type": "object", "additionalProperties": TEXT}, "object of string"),
        (
            {"type": "array", "items": {"anyOf": [TEXT, {"type": "null"}]}},
            "list of (string or null)",
        ),
        ({"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]}, "list of string or null"),
        ({"anyOf": [{"$ref": "#/$defs/Case"}, {"type": "null"}]}, "[Case](#case) or null"),
        ({"enum": ["", "c", None]}, "empty or `c` or null"),
        ({"enum": ["a", "b", None]}, "[Letter](#letter) or null"),
        ({"enum": list("abcdefghijklmn")}, "string"),
    ],
)
def test_types_are_in_words_of_json(declared: dict[str, Any], words: str) -> None:
    assert _kind(declared, {"Case": "Case"}, KNOWN) == words
