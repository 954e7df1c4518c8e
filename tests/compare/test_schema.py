# SPDX-License-Identifier: Apache-2.0
"""compare.json satisfies its schema."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from nearpeak.compare.build import compare, to_json
from nearpeak.compare.compared import SCHEMA
from nearpeak.compare.load import load_side
from nearpeak.compare.schema import schema

MakeSides = Callable[..., Path]


def test_a_comparison_satisfies_it(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", libraries=("alpha", "beta"))])
    new = load_side(
        [make_sides("new", day=2, libraries=("alpha", "beta"), crashed=("beta",), nvidia="1")]
    )
    plain = json.loads(to_json(compare(old, new, 0.05)))
    assert all(plain[name] for name in ("differences", "libraries", "ceilings", "failures"))
    jsonschema.validate(plain, schema())
    plain["schema"] = SCHEMA + 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, schema())
