# SPDX-License-Identifier: Apache-2.0
"""What is told of applications, from observations made by hand."""

from typing import Any

import pytest

from nearpeak.report.applications import Growth, sections
from nearpeak.results.results import Results
from nearpeak.terms.identity import CEILING


@pytest.fixture
def grown(made_applications: Any) -> Results:
    """On one rank, and on two in two ways; twice as large with the default one alone."""
    made = made_applications.Made()
    made.add(made_applications.MEMORY, "copy", "copy", 20.0, 1 << 27, who=CEILING)
    made.plane(made_applications.ONE, 900.0)
    made.plane(made_applications.ONE, 890.0, overlap="yes")
    made.plane(made_applications.TWO, 1000.0)
    made.plane(made_applications.TWO, 950.0, overlap="yes")
    made.plane(made_applications.TWO, 600.0, scaling="strong")
    results: Results = made.results()
    return results


def percentages(growth: Growth) -> dict[str, dict[int, float]]:
    return {
        line.way: {ranks: round(value.value, 3) for ranks, value in line.points.items()}  # type: ignore[arg-type]
        for line in growth.lines
    }


def test_charts_over_ranks_where_several_were_measured(grown: Results) -> None:
    [section] = sections(grown)
    said = "Unless a row says otherwise: scaling=weak, overlap=no, mode=sync."
    assert section.table.caption == said
    found = {growth.measure: growth for growth in section.growths}
    assert list(found) == ["efficiency", "roofline", "not computing"]
    titles = {growth.title for growth in section.growths}
    assert titles == {"host (H,H), side 1000 cells, weak scaling"}
    assert percentages(found["efficiency"]) == {
        "": {1: 1.0, 2: 0.9},
        "overlap=yes": {1: 1.0, 2: 0.937},
    }
    assert percentages(found["roofline"])[""] == {1: 0.444, 2: 0.8}
    # Of the iteration, not of its parts, which are of the rank that is slowest in each.
    assert percentages(found["not computing"])[""] == {1: 0.111, 2: 0.2}
    assert found["efficiency"].ranks == [1, 2]


def test_one_number_of_ranks_is_no_chart(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, 1000.0)
    [section] = sections(made.results())
    assert section.growths == []


def test_two_paths_of_as_many_ranks_are_two_lines(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.ONE, 900.0)
    made.plane(made_applications.TWO, 1000.0)
    made.paths.append(far := made_applications.path("host-host cross-numa", 2))
    made.plane(far, 1800.0)
    [section] = sections(made.results())
    efficiency = next(growth for growth in section.growths if growth.measure == "efficiency")
    assert percentages(efficiency) == {
        "host-host same-numa": {1: 1.0, 2: 0.9},
        "host-host cross-numa": {1: 1.0, 2: 0.5},
    }
