# SPDX-License-Identifier: Apache-2.0
"""Who is best on a path: at which size, among whom, and how sure that is."""
# Every figure in this file is written by hand, none was measured.

from collections.abc import Sequence
from statistics import median
from typing import Any

import pytest

from nearpeak.observations.observed import Block
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.headlines import find
from nearpeak.results.results import Cell, Comparison, Headline, Judging, Unjudged
from nearpeak.terms.identity import Case, Place, Who

PLACE = Place(path="host-host same-numa")
ALPHA, BETA, GAMMA = Who("alpha"), Who("beta"), Who("gamma")
MIB = 1 << 20


def make_cell(
    who: Who, values: Sequence[float], x: int = MIB, *, metric: str = "bw", **given: Any
) -> Cell:
    """A cell with these launch medians, one a block."""
    axes = {"calls": "nonblocking", "staging": given.pop("staging", "none")}
    fields: dict[str, Any] = {
        "place": PLACE,
        "case": Case(benchmark=metric, metric=metric, buffers="D,D", axes=axes, x=x),
        "unit": "us" if metric == "latency" else "GB/s",
        "better": "lower" if metric == "latency" else "higher",
        "window": 1,
        "median": median(values) if values else None,
        "ci95": None,
        "range": None,
        "launch_medians": list(values),
        "blocks": [Block(0, number) for number in range(len(values))],
        "p05": None,
        "p95": None,
        "minimum": None,
        "first_use_us": None,
        "launches": len(values),
        "ceiling": None,
        "fraction": None,
        "fraction_ci95": None,
        "status": "ok",
        "flags": [],
        "command": "",
    }
    return Cell(who=who, **(fields | given))


def verdict(first: Cell, second: Cell, word: str, blocks: int = 6) -> Comparison:
    return Comparison(
        first=first.who,
        second=second.who,
        place=PLACE,
        case=first.case,
        ratio=1.0,
        ci95=None,
        blocks=blocks,
        p_value=0.0,
        p_adjusted=0.0,
        verdict=word,
    )


def tell(*cells: Cell, verdicts: Sequence[Comparison] = (), native: Sequence[Who] = ()) -> Headline:
    (found,) = find(cells, verdicts, native, Ceilings([]))
    return found


def standing(*cells: Cell, **given: Any) -> tuple[Who | None, list[Who], str]:
    found = tell(*cells, **given)
    return found.best, found.tied, found.standing


STEADY = [10.0, 10.1, 9.9, 10.0, 10.2, 9.8]


def times(factor: float) -> list[float]:
    return [factor * value for value in STEADY]


def test_a_time_is_told_near_8_bytes_and_a_rate_at_the_largest_size() -> None:
    rates = [make_cell(who, STEADY, x) for who in (ALPHA, BETA) for x in (8, 1024, MIB)]
    assert tell(*rates).case.x == MIB
    sizes = (0, 4, 9, 1024)
    assert tell(*(make_cell(ALPHA, STEADY, x, metric="latency") for x in sizes)).case.x == 9


def test_all_are_told_at_one_size() -> None:
    cells = [make_cell(ALPHA, STEADY, x) for x in (8, 1024, MIB)]
    assert tell(*cells, make_cell(BETA, STEADY, 1024)).case.x == 1024


def test_a_size_that_was_left_out_for_a_reason_is_not_compared_at() -> None:
    cells = [make_cell(who, STEADY, 1024) for who in (ALPHA, BETA)]
    skipped = make_cell(BETA, [], status="skipped")
    assert tell(*cells, make_cell(ALPHA, STEADY), skipped).case.x == 1024


def test_a_curve_of_which_nothing_was_measured_has_a_case_and_nobody() -> None:
    assert standing(make_cell(ALPHA, [], status="crashed")) == (None, [], "unknown")


def test_first_is_who_is_first_beyond_doubt() -> None:
    alpha, beta = make_cell(ALPHA, times(1.2)), make_cell(BETA, STEADY)
    sure = [verdict(alpha, beta, "slower")]
    assert standing(beta, alpha, verdicts=sure) == (ALPHA, [], "first")
    # However often it is ahead.
    unsure = [verdict(alpha, beta, "undecided")]
    assert standing(beta, alpha, verdicts=unsure) == (ALPHA, [BETA], "undecided")


def test_of_whom_no_verdict_was_sought_is_told_apart() -> None:
    alpha, beta, gamma = (
        make_cell(who, times(factor)) for who, factor in ((ALPHA, 1.2), (BETA, 1), (GAMMA, 0.1))
    )
    left_out = [Unjudged(first=other, second=ALPHA) for other in (BETA, GAMMA)]
    judging = Judging(blocks=6, blocks_needed=7, pairs=3, left_out=left_out)
    for word, unjudged in (("undecided", [BETA, GAMMA]), ("equivalent", [GAMMA])):
        verdicts = [verdict(alpha, beta, word), verdict(alpha, gamma, "undecided")]
        (found,) = find([alpha, beta, gamma], verdicts, (), Ceilings([]), judging)
        assert (found.standing, found.tied) == ("undecided", [BETA, GAMMA])
        assert (found.unjudged, found.unjudged_blocks) == (unjudged, (6, 7))


def test_a_pair_with_fewer_blocks_than_others_is_not_judged() -> None:
    """All pairs are judged by eight blocks, and one lost two of them with its failed launches."""
    alpha, beta = (make_cell(who, [*times(1.2), 12.0, 12.0]) for who in (ALPHA, BETA))
    gamma = make_cell(GAMMA, times(0.1))
    verdicts = [verdict(alpha, beta, "undecided", 8), verdict(alpha, gamma, "undecided", 6)]
    judging = Judging(blocks=8, blocks_needed=8, pairs=6)
    (found,) = find([alpha, beta, gamma], verdicts, (), Ceilings([]), judging)
    assert (found.tied, found.unjudged) == ([BETA, GAMMA], [GAMMA])
    assert found.unjudged_blocks == (6, 8)


def test_of_times_the_least_is_best() -> None:
    cells = [
        make_cell(ALPHA, times(2), metric="latency"),
        make_cell(BETA, STEADY, metric="latency"),
    ]
    assert tell(*cells).best == BETA


def test_the_best_of_a_tie_has_the_best_median_in_the_tables() -> None:
    """However the blocks that all have in common fall."""
    alpha = make_cell(ALPHA, [*times(0.99), 12.0, 12.0, 12.0, 12.0, 12.0, 12.0])
    beta = make_cell(BETA, STEADY)
    assert (alpha.median or 0) > (beta.median or 0)
    found = tell(alpha, beta, verdicts=[verdict(alpha, beta, "equivalent")])
    assert (found.best, found.tied, found.standing) == (ALPHA, [BETA], "tie")


def test_blocks_that_disagree_tell_nobody_apart() -> None:
    alpha = make_cell(ALPHA, [10.0, 9.0, 10.0, 9.0, 10.0, 9.0])
    beta = make_cell(BETA, [9.0, 10.0, 9.0, 10.0, 9.1, 10.0])
    best, tied, how = standing(alpha, beta, verdicts=[verdict(alpha, beta, "slower")])
    assert ({best, *tied}, how) == ({ALPHA, BETA}, "undecided")


def test_a_failure_counts_against_who_failed() -> None:
    crashed = make_cell(ALPHA, [], status="crashed", failed=6)
    assert standing(crashed, make_cell(BETA, STEADY)) == (BETA, [], "first")
    # Faster where it does not crash, which is in less than half of its launches.
    often = make_cell(ALPHA, times(2)[:3], status="crashed", failed=3)
    assert tell(often, make_cell(BETA, STEADY)).best == BETA


def test_who_failed_once_still_ties_where_no_verdict_tells() -> None:
    alpha = make_cell(ALPHA, [*times(1.01), 10.2])
    beta = make_cell(BETA, STEADY, status="crashed", failed=1, launches=7)
    unsure = [verdict(alpha, beta, "undecided")]
    assert standing(alpha, beta, verdicts=unsure) == (ALPHA, [BETA], "undecided")
    few = [verdict(alpha, beta, "undecided", blocks=5)]
    assert standing(alpha, beta, verdicts=few) == (ALPHA, [], "first")


@pytest.mark.parametrize("launches", [1, 5])
def test_few_launches_have_no_order(launches: int) -> None:
    cells = [make_cell(ALPHA, STEADY[:launches]), make_cell(BETA, times(2)[:launches])]
    assert standing(*cells) == (BETA, [], "unknown")


def test_a_session_with_few_blocks_has_no_order() -> None:
    """Verdicts rest on one session: where they are undecided for want of blocks, nobody ties."""
    alpha, beta = make_cell(ALPHA, times(2)), make_cell(BETA, STEADY)
    few = [verdict(alpha, beta, "undecided", blocks=5)]
    assert standing(alpha, beta, verdicts=few) == (ALPHA, [], "unknown")


def test_one_alone_is_first_of_nobody() -> None:
    assert standing(make_cell(ALPHA, STEADY)) == (ALPHA, [], "alone")
    skipped = make_cell(BETA, [], status="skipped")
    assert standing(make_cell(ALPHA, STEADY), skipped) == (ALPHA, [], "alone")


def test_the_ceiling_in_the_place_of_a_library_is_in_no_ranking() -> None:
    cells = [make_cell(ALPHA, times(2)), make_cell(BETA, STEADY)]
    assert standing(*cells, native=[ALPHA]) == (BETA, [], "alone")


def test_what_the_benchmark_staged_is_no_merit_of_a_library() -> None:
    staged = make_cell(ALPHA, times(2), staging="pinned")
    found = tell(staged, make_cell(BETA, STEADY))
    assert (found.best, found.case.axes["staging"]) == (BETA, "none")
    assert standing(staged) == (None, [], "unknown")


def test_a_figure_above_its_ceiling_is_no_merit_and_leaves_nobody_first() -> None:
    above = make_cell(ALPHA, times(2), fraction=1.5, fraction_ci95=(1.4, 1.6))
    assert standing(above, make_cell(BETA, STEADY)) == (BETA, [], "unknown")
    slow = make_cell(ALPHA, times(0.5), fraction=1.5, fraction_ci95=(1.4, 1.6))
    assert standing(slow, make_cell(BETA, STEADY), make_cell(GAMMA, times(0.8)))[2] == "first"


def test_each_curve_has_its_own() -> None:
    cells = [make_cell(ALPHA, STEADY), make_cell(ALPHA, STEADY, metric="latency")]
    assert [headline.case.metric for headline in find(cells, [], [], Ceilings([]))] == [
        "bw",
        "latency",
    ]
