# SPDX-License-Identifier: Apache-2.0
"""A rate worked out of latencies is that of one message in flight."""

from nearpeak.appraisal.figure import LARGE_BYTES
from nearpeak.appraisal.references import FAR
from nearpeak.appraisal.view import Effect, Reason, Rule, View, several_in_flight
from nearpeak.numbers import number, size
from nearpeak.terms.ratings import GOOD

LEAST = 0.7  # of the path, by one message of 4 MiB in host memory


def find(view: View) -> Reason | None:
    """Works out the rate of the largest message."""
    figure = view.figure
    last = figure.points[-1]
    if figure.ping_pong:
        return _several(view)
    if not figure.of_time or figure.ranks != 2 or last.size_bytes < LARGE_BYTES:
        return None
    return Reason(
        f"{number(last.gbs)} GB/s at {size(last.size_bytes)} is of one message in flight",
        several_in_flight(figure),
    )


def _several(view: View) -> Reason | None:
    """Looks at the rate of IMB's PingPong: several in flight may be faster, of GPU memory far."""
    least = LEAST if view.figure.on_hosts else FAR
    if not view.shares or not least <= max(view.shares) < GOOD:
        return None
    return Reason(
        "one message was in flight: several may be faster",
        several_in_flight(view.figure),
        effect=Effect.HIDES,
        missing="what several in flight reach",
    )


RULE = Rule(8, find, "latencies of large messages, taken for a bandwidth")
