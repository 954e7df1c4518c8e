# SPDX-License-Identifier: Apache-2.0
"""What can be required of a study: its plan and its results name the same."""

from pathlib import Path

import pytest

from nearpeak.planning.subjects import planned
from nearpeak.results.build import from_json
from nearpeak.results.subjects import measured
from nearpeak.study.folder import read_plan
from nearpeak.terms.identity import CEILING

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["h200x2-shipped", "h200x4", "h200x2-halo", "h200x4-scaling"])
def test_results_name_what_the_plan_named(name: str) -> None:
    plan = read_plan(EXAMPLES / name)
    results = from_json((EXAMPLES / name / "results.json").read_bytes())
    before = {(subject.who, subject.place, subject.curve): subject for subject in planned(plan)}
    after = {(subject.who, subject.place, subject.curve): subject for subject in measured(results)}
    assert after.keys() == before.keys()
    for key, subject in after.items():
        other = before[key]
        assert (subject.unit, subject.better, subject.x_unit) == (
            other.unit,
            other.better,
            other.x_unit,
        )
        assert (subject.has_ceiling, subject.theoretical_gbs) == (
            other.has_ceiling,
            other.theoretical_gbs,
        )
        assert set(subject.sizes) <= set(other.sizes), key
        if subject.who != CEILING:
            assert subject.sizes == other.sizes
