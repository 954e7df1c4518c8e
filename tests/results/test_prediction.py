# SPDX-License-Identifier: Apache-2.0
"""What messages should take, from cells made by hand (tests/observations/made_applications.py)."""

from typing import Any

import pytest

from nearpeak.results.prediction import Messages
from nearpeak.terms.work import Work

FRESH = {"reuse": "rotating", "touch": "sender"}


def predicted(made_applications: Any, made: Any, *messages: int) -> float | None:
    results = made.results()
    known = {benchmark.name: benchmark for benchmark in results.benchmarks}
    place = made_applications.TWO.place
    found: float | None = Messages(results.cells, known, results.paths).iteration_us(
        made_applications.ALPHA, place, "H,H", Work(messages=list(messages))
    )
    return found


def made_with(made_applications: Any, *cells: Any) -> Any:
    made = made_applications.Made()
    for name, value, axes in cells:
        made.add(made_applications.TWO, name, name, value, 8000, axes=axes)
    return made


def test_the_first_takes_its_latency_and_others_their_part_of_a_window(
    made_applications: Any,
) -> None:
    alone = ("latency", 10.0, {})
    window = ("bw", 2.0, {})  # 4 us a message
    made = made_with(made_applications, alone)
    assert predicted(made_applications, made) is None
    assert predicted(made_applications, made, 8000, 8000, 8000) == pytest.approx(30.0)
    made = made_with(made_applications, alone, window)
    assert predicted(made_applications, made, 8000, 8000, 8000) == pytest.approx(18.0)
    assert predicted(made_applications, made_with(made_applications, window), 8000) is None


def test_both_ways_at_once_take_as_much_longer_as_windows_do(made_applications: Any) -> None:
    cells = [("latency", 10.0, {}), ("bw", 2.0, {}), ("bibw", 2.5, {})]  # 6.4 us a message
    made = made_with(made_applications, *cells)
    assert predicted(made_applications, made, 8000, 8000) == pytest.approx(16.0 + 6.4)
    # A path that carries as much each way as one way alone.
    cells[-1] = ("bibw", 4.2, {})
    made = made_with(made_applications, *cells)
    assert predicted(made_applications, made, 8000, 8000) == pytest.approx(10.0 + 2 * 8 / 4.2)


def test_messages_that_were_just_written_count_where_they_were_measured(
    made_applications: Any,
) -> None:
    cells = [("latency", 10.0, {}), ("latency", 20.0, {"touch": "sender"})]
    cells.append(("latency", 15.0, {"reuse": "rotating"}))
    made = made_with(made_applications, *cells)
    assert predicted(made_applications, made, 8000) == pytest.approx(20.0)
    made = made_with(made_applications, *cells, ("latency", 25.0, FRESH))
    assert predicted(made_applications, made, 8000) == pytest.approx(25.0)
