# SPDX-License-Identifier: Apache-2.0
"""Results satisfy docs/results.schema.json."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearpeak.results.build import to_json
from nearpeak.results.results import SCHEMA

DOCS = Path(__file__).parents[2] / "docs"
MakeStudy = Any


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
