# SPDX-License-Identifier: Apache-2.0
"""The twelve rules are judged from the study: a good one meets them, a poor one is told so."""

from typing import Any

import numpy as np

from nearpeak.findings.build import build_results
from nearpeak.terms.identity import CEILING

MakeStudy = Any
MadeApplications = Any


def states(results: Any) -> dict[int, str]:
    assert [rule.number for rule in results.checklist] == list(range(1, 13))
    assert all(rule.rule and rule.how for rule in results.checklist)
    return {rule.number: rule.state for rule in results.checklist}


def test_a_good_study_meets_every_rule_that_applies(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    generator = np.random.default_rng(7)
    for block in range(6):
        study.ceiling(block, {("bw", "ring", size): 10.0 for size in (8, 1024)})
        for library in ("alpha", "beta"):
            noise = generator.normal(1, 0.01)
            study.launch(block, library, "bw", {8: 5.0 * noise, 1024: 6.0 * noise})
    found = states(study.results())
    assert found == {1: "not applicable"} | dict.fromkeys(range(2, 13), "met")


def test_a_poor_study_is_told_so(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for library in ("alpha", "beta"):
        study.launch(0, library, "bw", {8: 5.0})
    number = study.launch(1, "beta", "bw", {8: 5.0})
    study.records = [r for r in study.records if not (hasattr(r, "clock") and r.launch == number)]
    found = states(build_results(study.write(complete=False)))
    assert {number for number, state in found.items() if state == "not met"} == {
        2,  # not complete
        5,  # no interval
        7,  # nor one of the ratio
        9,  # nobody knows where the last launch ran
        11,  # no ceiling
    }
    assert found[4] == "not applicable"  # no fraction
    assert found[12] == "not applicable"  # one size


def test_nobody_knows_where_anything_ran_nor_by_which_clock(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 5.0})
    study.records = [r for r in study.records if not hasattr(r, "clock")]
    found = states(study.results())
    assert (found[9], found[10]) == ("not met", "not met")


def test_no_distribution_is_assumed(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(8):
        study.launch(block, "alpha", "bw", {1024: 1.0})
        study.launch(block, "beta", "bw", {1024: 2.0 if block % 2 else 1.0})
    (rule,) = [rule for rule in study.results().checklist if rule.number == 6]
    assert rule.state == "met"
    (rule,) = [rule for rule in study.results().checklist if rule.number == 8]
    assert "1 cell falls into two modes" in rule.how
    (rule,) = [rule for rule in study.results().checklist if rule.number == 7]
    assert "1 comparison of cells with two modes has no verdict" in rule.how


def test_student_s_interval_of_few_sessions_assumes_that_they_are_normal(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    for session, level in enumerate((1.0, 2.0, 3.0)):
        if session:
            assert states(study.results())[6] == "met"
            study.session()
        for block in range(4):
            study.launch(4 * session + block, "alpha", "bw", {1024: level + block / 100})
    results = study.results()
    assert states(results)[6] == "not met"
    assert "the interval of 1 cell, whose few sessions differ," in results.checklist[5].how


def test_one_library_has_nothing_to_compare(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 5.0})
    assert states(study.results())[7] == "not applicable"


def test_a_defect_of_the_ceiling_breaks_rule_11(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("bw", "ring", 1024): 10.0})
    study.launch(0, "alpha", "bw", {1024: 11.0})
    assert states(study.results())[11] == "not met"


def test_above_the_ceiling_by_chance_or_not(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block, rate in enumerate((9.0, 10.4, 10.4, 10.4, 10.4, 12.0)):
        study.ceiling(block, {("bw", "ring", size): 10.0 for size in (8, 1024)})
        study.launch(block, "alpha", "bw", {8: rate, 1024: 5.0})
        study.launch(block, "beta", "bw", {8: 5.0, 1024: 5.0})
    rule = study.results().checklist[10]
    assert rule.state == "met"
    assert rule.how.endswith("; 1 are above it, but their intervals reach down to it")
    for block in range(6, 12):
        study.ceiling(block, {("bw", "ring", size): 10.0 for size in (8, 1024)})
        study.launch(block, "alpha", "bw", {8: 10.4, 1024: 10.4})
    rule = study.results().checklist[10]
    assert rule.state == "not met"
    assert "there the ceiling is wrong" in rule.how


def test_a_study_of_applications_alone_is_judged_by_them(
    made_applications: MadeApplications,
) -> None:
    made = made_applications.Made()
    for where, us in ((made_applications.ONE, 900.0), (made_applications.TWO, 1000.0)):
        for overlap in ("no", "yes"):
            made.plane(where, us, overlap=overlap)
    results = made.results()
    assert not results.cells
    found = states(results)
    assert not [number for number, state in found.items() if state == "not met"]
    told = {rule.number: rule.how for rule in results.checklist}
    assert told[1].startswith("2 efficiencies against the fewest ranks and 2 speed-ups against")
    assert told[2].startswith("0 of 4 cells have no number")
    assert told[5] == "4 of 4 cells have a 95 % interval over at least 6 launches"
    assert told[7].startswith("2 of 2 speed-ups have a 95 % interval")
    assert told[8].startswith("5th and 95th percentile and minimum beside each of 4 medians")
    assert told[12].startswith("applications over the number of ranks with interval bands")


def test_rooflines_are_upper_bounds(made_applications: MadeApplications) -> None:
    made = made_applications.Made()
    made.add(made_applications.MEMORY, "copy", "copy", 20.0, 1 << 27, who=CEILING)
    made.plane(made_applications.ONE, 2500.0)
    rules = made.results().checklist
    assert (rules[3].state, rules[10].state) == ("met", "met")
    assert rules[3].how.startswith("each of 1 shares of a roofline stands beside its time")
    assert rules[10].how == "1 of 1 problems of applications have a roofline"
