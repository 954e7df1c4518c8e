# SPDX-License-Identifier: Apache-2.0
"""Verdicts: by known answers, and over a simulated study of one library under two names."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from nearpeak.study.records import AmendmentRecord
from nearpeak.terms.identity import Who

MakeStudy = Any


def test_second_against_first_in_the_same_blocks(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta", "gamma")
    noise = [1.0, 1.01, 0.99, 1.005, 0.995, 1.0, 1.0]
    for block in range(7):  # as many as three pairs need
        machine = 1.0 + block  # every block is another machine
        for library, factor in (("alpha", 1.0), ("beta", 1.5 * noise[block]), ("gamma", 1.001)):
            study.launch(block, library, "bw", {1024: machine * factor})
            study.launch(block, library, "latency", {1024: machine * factor})
    study.launch(7, "alpha", "bw", {1024: 100.0})  # a block without the others counts for none
    found = {
        (c.first.library, c.second.library, c.case.benchmark): (c.verdict, c)
        for c in study.results().comparisons
    }
    assert len(found) == 6
    assert found["alpha", "beta", "bw"][0] == "faster"
    assert found["alpha", "beta", "latency"][0] == "slower"  # it takes longer
    assert found["alpha", "gamma", "bw"][0] == "equivalent"
    assert found["beta", "gamma", "bw"][0] == "slower"
    bw = found["alpha", "beta", "bw"][1]
    assert bw.ratio == pytest.approx(1.5)
    assert bw.ci95 == pytest.approx((1.5 * 0.99, 1.5 * 1.01), rel=0.01)
    assert bw.blocks == 7
    assert found["alpha", "beta", "latency"][1].ratio == pytest.approx(1 / 1.5)
    assert bw.p_value == 1 / 64
    assert bw.p_adjusted == 3 / 64  # of three pairs


def test_six_blocks_judge_the_first_of_three_pairs_and_say_so(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta", "gamma")
    for block in range(6):
        for library, factor in (("alpha", 1.0), ("beta", 1.5), ("gamma", 2.0)):
            study.launch(block, library, "bw", {1024: factor * (1 + 0.01 * (block % 3))})
    results = study.results()
    found = [(c.first.library, c.second.library, c.verdict) for c in results.curves]
    assert found[0] == ("alpha", "beta", "faster")
    assert {verdict for *_, verdict in found[1:]} == {"undecided"}
    assert (results.judging.blocks, results.judging.blocks_needed) == (6, 7)
    left_out = [(pair.second.library, pair.first.library) for pair in results.judging.left_out]
    assert left_out == [("gamma", "alpha"), ("gamma", "beta")]
    [rule] = [check for check in results.checklist if check.number == 7]
    assert rule.state == "not met"
    assert rule.how.endswith("6 blocks judge 1 of 3 pairs, all pairs need 7")


def test_two_modes_have_no_verdict(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(8):
        study.launch(block, "alpha", "bw", {8: 1.0, 1024: 1.0 + 0.3 * (block % 2)})
        study.launch(block, "beta", "bw", {8: 1.5, 1024: 2.0})
    results = study.results()
    assert [c.verdict for c in results.comparisons] == ["faster", "two modes"]
    assert results.curves[0].verdict == "faster"


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_the_margin_itself_is_equivalent(make_study: MakeStudy, better: str) -> None:
    benchmark, margin = ("bw", 1.02) if better == "higher" else ("latency", 1.03)
    study = make_study("alpha", "beta")
    for block in range(6):
        study.launch(block, "alpha", benchmark, {1024: 1.0})
        study.launch(block, "beta", benchmark, {1024: margin})
    (comparison,) = study.results().comparisons
    ratio = margin if better == "higher" else 1 / margin
    assert comparison.ci95 == pytest.approx((ratio, ratio))
    assert comparison.verdict == "equivalent"


def test_few_launches_decide_nothing(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(5):
        study.launch(block, "alpha", "bw", {1024: 1.0})
        study.launch(block, "beta", "bw", {1024: 2.0})
    (comparison,) = study.results().comparisons
    assert (comparison.verdict, comparison.ci95) == ("undecided", None)
    assert comparison.ratio == pytest.approx(2)


def test_cells_without_believed_numbers_are_not_compared(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    study.launch(0, "alpha", "bw", {1024: 1.0})
    study.launch(0, "beta", "bw", status="crashed")
    assert study.results().comparisons == []


def test_a_curve_is_judged_as_one(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(6):
        noise = 1 + 0.01 * (block % 3 - 1)
        study.launch(block, "alpha", "bw", {8: 1.0, 1024: 1.0})
        study.launch(block, "beta", "bw", {8: 1.5 * noise, 1024: 1.6 * noise})
    results = study.results()
    (curve,) = results.curves
    assert (curve.first, curve.second) == (Who("alpha"), Who("beta"))
    assert curve.verdict == "faster"
    assert curve.ratio == pytest.approx((1.5 * 1.6) ** 0.5)
    assert [c.curve for c in results.curves] == [c.case.curve for c in results.comparisons[:1]]


@pytest.mark.parametrize(
    ("host", "blocks", "rests_on"),
    [("invented", 3, [True, True]), ("other", 2, [False, True])],
)
def test_verdicts_rest_on_sessions_of_one_machine(
    make_study: MakeStudy, host: str, blocks: int, rests_on: list[bool]
) -> None:
    study = make_study("alpha", "beta")
    study.launch(0, "alpha", "bw", {8: 1.0})
    study.launch(0, "beta", "bw", {8: 100.0})
    study.launch(1, "alpha", "bw", {8: 1.0})  # a block that the second session ends
    study.session(host)
    study.launch(1, "beta", "bw", {8: 100.0})
    for block in (2, 3):
        study.launch(block, "alpha", "bw", {8: 1.0})
        study.launch(block, "beta", "bw", {8: 2.0})
    results = study.results()
    (comparison,) = results.comparisons
    assert (comparison.blocks, comparison.ratio) == (blocks, pytest.approx(2.0))
    assert [session.blocks for session in results.sessions] == [2, 3]
    assert [session.verdicts for session in results.sessions] == rests_on


def test_a_library_that_was_added_changes_nothing_of_the_others(make_study: MakeStudy) -> None:
    """But one that is there must stay as it is."""
    study = make_study("alpha", "beta")
    study.launch(0, "alpha", "bw", {8: 1.0})
    for version, blocks in (("1", (1, 2)), ("2", (3,))):
        study.session(library={"beta version": version})
        for block in blocks:
            study.launch(block, "alpha", "bw", {8: 1.0})
            study.launch(block, "beta", "bw", {8: 2.0})
    results = study.results()
    assert [session.verdicts for session in results.sessions] == [True, True, False]
    assert [comparison.blocks for comparison in results.comparisons] == [2]


def test_a_session_that_added_blocks_says_to_what(make_study: MakeStudy) -> None:
    study = make_study("alpha")
    study.launch(0, "alpha", "bw", {8: 1.0})
    study.session()
    study.records.append(
        AmendmentRecord(
            reason="ended by SIGINT", budget_seconds=60.0, looks=[6], every=False, asked="--so"
        )
    )
    study.launch(1, "alpha", "bw", {8: 1.0})
    added = [session.added for session in study.results().sessions]
    assert added == ["", "ended by SIGINT; asked for: --so"]


@pytest.mark.parametrize("effect", [0.0, 0.1])
def test_one_library_under_two_names(make_study: MakeStudy, effect: float) -> None:
    """At most 5 % of cells are judged when there is no difference, most when there is one.

    Launches deviate by 3 %, in part all sizes of a launch together; blocks by 5 %.
    """
    generator = np.random.default_rng(6)
    study = make_study("alpha", "beta")
    sizes = [1 << power for power in range(20)]
    for block in range(9):
        machine = generator.lognormal(0, 0.05)
        for library in ("alpha", "beta"):
            for benchmark in ("latency", "bw"):
                launch = machine * generator.lognormal(0, 0.02)
                factor = 1 + effect if library == "beta" else 1.0
                study.launch(
                    block,
                    library,
                    benchmark,
                    {size: launch * factor * generator.lognormal(0, 0.022) for size in sizes},
                )
    verdicts = Counter(c.verdict for c in study.results().comparisons)
    judged = verdicts["faster"] + verdicts["slower"]
    assert sum(verdicts.values()) == 40
    if effect:
        assert verdicts["faster"] >= 15  # the rates
        assert verdicts["slower"] >= 15  # the times
    else:
        assert judged <= 2
