# SPDX-License-Identifier: Apache-2.0
"""What went wrong in a study, in a line."""

from typing import Any

from nearpeak.results.faults import effect, faults

MakeStudy = Any


def test_who_failed_how_and_whether_anything_is_left(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta", "gamma")
    for block in range(2):
        study.ceiling(block, {("bw", "ring", 8): 10.0})
        study.launch(block, "alpha", "bw", {8: 5.0})
        study.end(study.launch(block, "beta", "bw", status=None), "crashed")
        study.launch(block, "gamma", "bw", {8: 5.0}, status=["ok", "hung"][block])
    assert faults(study.results()) == [
        "beta crashed in 2 launches, and nothing was measured",
        "gamma hung in 1 launch, after its figures",
    ]


def test_launches_that_gave_all_their_figures_are_named_so(make_study: MakeStudy) -> None:
    study = make_study("alpha")
    for block in range(2):
        study.ceiling(block, {("bw", "ring", 8): 10.0})
        study.end(study.launch(block, "alpha", "bw", {8: 5.0}, status=None), "crashed")
    results = study.results()
    assert faults(results) == ["alpha crashed in 2 launches, after their figures"]
    assert effect(results) == "the report is complete, but "
    results.failures[0].lost = 1
    assert effect(results) == "the report lacks figures: "


def test_where_all_is_well_there_is_none(make_study: MakeStudy) -> None:
    study = make_study("alpha")
    for block in range(2):
        study.ceiling(block, {("bw", "ring", 8): 10.0})
        study.launch(block, "alpha", "bw", {8: 5.0})
    assert faults(study.results()) == []
