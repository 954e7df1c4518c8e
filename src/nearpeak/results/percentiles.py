# SPDX-License-Identifier: Apache-2.0
"""The percentiles of the times of single iterations, over launches."""

from collections.abc import Mapping

from nearpeak.observations.observed import Block
from nearpeak.results.blocks import estimated
from nearpeak.results.results import Estimated, TimePercentiles
from nearpeak.terms.percentiles import Percentiles

BEYOND = 5  # iterations of a launch that are longer than a percentile which it can tell
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def over_launches(launches: Mapping[Block, Percentiles]) -> TimePercentiles | None:
    """The medians over the launches; None without any."""
    if not launches:
        return None
    return TimePercentiles(
        iterations=sum(of.iterations for of in launches.values()),
        longest=max(of.longest for of in launches.values()),
        **{name: _median(launches, name) for name in SHARES},
    )


def _median(launches: Mapping[Block, Percentiles], name: str) -> Estimated | None:
    """The median of a percentile over the launches that have enough iterations beyond it."""
    beyond = 1 - SHARES[name]
    values = {
        block: float(getattr(of, name))
        for block, of in launches.items()
        if of.iterations * beyond >= BEYOND
    }
    return estimated(values) if values else None
