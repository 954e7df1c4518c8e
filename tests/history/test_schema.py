# SPDX-License-Identifier: Apache-2.0
"""history.json satisfies its schema."""

import json
from pathlib import Path

import jsonschema
import pytest

from nearpeak.compare.load import load_side
from nearpeak.history.build import build, to_json
from nearpeak.history.courses import SCHEMA
from nearpeak.history.schema import schema


def test_a_history_satisfies_it(nightly: Path) -> None:
    plain = json.loads(to_json(build(load_side([nightly]), 0.05)))
    assert all(plain[name] for name in ("sessions", "facts", "libraries", "ceilings", "events"))
    jsonschema.validate(plain, schema())
    plain["schema"] = SCHEMA + 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, schema())
