# SPDX-License-Identifier: Apache-2.0
"""What precision was reached, what more time brings, and how it is said."""

import numpy as np
import pytest

from nearpeak.statistics.intervals import expected_half_width, half_width
from nearpeak.study.forecast import forecast, imprecise, sentence


def cells(count: int, launches: int, deviation: float) -> list[list[float]]:
    generator = np.random.default_rng(1)
    return generator.lognormal(0, deviation, (count, launches)).tolist()


MORE = "nearpeak --more"


def test_the_cell_in_the_middle_now_and_later() -> None:
    medians = cells(101, 12, 0.1)
    found = forecast(medians, block_seconds=25.0, more_seconds=300.0)
    assert found is not None
    assert (found.cells, found.launches, found.more_launches) == (101, 12, 12)
    assert found.half_width == pytest.approx(np.median([half_width(median) for median in medians]))
    now, then = expected_half_width(1, 12), expected_half_width(1, 24)
    assert now is not None
    assert then is not None
    assert found.then == pytest.approx(found.half_width * then / now)
    assert sentence(found, MORE).endswith(
        " %. Another 5m00s would add 12 launches of each"
        " and narrow the median figure to about ± 4.90 %, if the session that adds them is like"
        " those before: nearpeak --more"
    )
    assert sentence(found, MORE).startswith(
        "101 figures with 12 launches each: the median figure has a 95 % interval of ± "
    )


def test_too_few_launches_for_an_interval_may_become_enough() -> None:
    medians = cells(101, 3, 0.1)
    few = forecast(medians, block_seconds=200.0)
    assert few is not None
    assert (few.half_width, few.more_launches, few.then) == (None, 1, None)
    assert sentence(few, MORE).endswith(
        "would add 1 launch of each, still too few for an interval: nearpeak --more"
    )
    enough = forecast(medians, block_seconds=30.0)
    assert enough is not None
    assert (enough.half_width, enough.then) == (None, None)
    said = sentence(enough, MORE)
    assert "have too few launches (3 launches) for an interval" in said
    assert said.endswith(
        "10 launches of each, enough for one; so few cannot predict its width: nearpeak --more"
    )


def test_a_block_that_takes_longer_than_the_time() -> None:
    found = forecast(cells(3, 6, 0.1), block_seconds=400.0)
    assert found is not None
    assert sentence(found, MORE).endswith("would not be enough for one more launch of each.")


def test_of_nothing_there_is_no_forecast() -> None:
    assert forecast([], 1.0) is None
    assert forecast([[]], 1.0) is None


def test_what_is_precise_gets_no_launch_more() -> None:
    medians = cells(101, 12, 0.1)
    found = forecast(medians, block_seconds=25.0, going=[False] * 101)
    assert found is not None
    assert found.then == found.half_width


def test_launches_are_told_as_they_are() -> None:
    found = forecast([*cells(6, 12, 0.1), *cells(6, 36, 0.1)], block_seconds=25.0)
    assert found is not None
    assert sentence(found, MORE).startswith("12 figures with 12 to 36 launches each: ")


APART = [1.0, 1.01, 0.99, 1.02, 1.2, 1.21, 1.19, 1.22]
ALIKE = [1.0, 1.01, 0.99, 1.02, 1.02, 0.99, 1.01, 1.0]
TWO = [0] * 4 + [1] * 4


def test_what_sessions_do_is_not_forecast() -> None:
    found = forecast([APART, ALIKE], 100.0, sessions=[TWO, TWO])
    others = forecast([ALIKE], 100.0, sessions=[TWO])
    assert found is not None
    assert others is not None
    assert (found.apart, others.apart) == (1, 0)
    assert found.then == others.then
    said = sentence(found, MORE)
    assert (
        " 1 of them differs between sessions by more than launches explain, which more launches do"
        " not narrow. Another 5m00s would add 3 launches of each and narrow the median figure of"
        " the others to about ± "
    ) in said


def test_where_all_differ_between_sessions_another_one_is_proposed() -> None:
    found = forecast([APART, APART], 100.0, sessions=[TWO, TWO])
    assert found is not None
    assert (found.apart, found.then) == (2, None)
    assert sentence(found, MORE).endswith(
        " 2 of them differ between sessions by more than launches explain, which more launches do"
        " not narrow. Another 5m00s would add 3 launches of each, as another session, which shows"
        " how far sessions scatter: nearpeak --more"
    )


def test_of_one_session_nothing_is_apart() -> None:
    found = forecast([APART], 100.0)
    assert found is not None
    assert found.apart == 0


def test_what_is_not_precise_is_counted() -> None:
    assert imprecise([True, False, False]) == (
        "2 of 3 figures are less precise than aimed at (2 % for rates, 3 % for times)"
    )
    assert imprecise([True]) == imprecise([]) == ""
