# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Percentiles of single iterations, over launches."""

from nearpeak.observations.observed import Block
from nearpeak.results.percentiles import over_launches
from nearpeak.results.results import TimePercentiles
from nearpeak.terms.percentiles import Percentiles


def launch(iterations: int, factor: float) -> Percentiles:
    """A launch whose times are this many times those of the first."""
    return Percentiles(
        iterations=iterations,
        p50=1.0 * factor,
        p90=2.0 * factor,
        p99=3.0 * factor,
        p999=9.0 * factor,
        longest=50.0 * factor,
    )


def over(*launches: Percentiles) -> TimePercentiles:
    """These over blocks of one session."""
    found = over_launches({Block(0, number): of for number, of in enumerate(launches)})
    assert found is not None
    return found


def values(found: TimePercentiles) -> list[float | None]:
    """The four medians, the highest percentile first."""
    shares = (found.p999, found.p99, found.p90, found.p50)
    return [share.value if share else None for share in shares]


def test_medians_over_the_launches() -> None:
    found = over(launch(9000, 1), launch(8000, 4), launch(7000, 2))
    assert (found.iterations, found.longest) == (24000, 200.0)
    assert values(found) == [18.0, 6.0, 4.0, 2.0]
    assert found.p50 is not None
    assert (found.p50.ci95, found.p50.range) == (None, (1.0, 4.0))


def test_a_launch_counts_where_it_has_enough_iterations() -> None:
    assert values(over(launch(5000, 1), launch(499, 2), launch(9, 3))) == [9.0, 3.0, 3.0, 1.5]
    assert values(over(launch(9, 1))) == [None] * 4


def test_without_launches_there_are_none() -> None:
    assert over_launches({}) is None
