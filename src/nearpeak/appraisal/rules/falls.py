# SPDX-License-Identifier: Apache-2.0
"""Rates that fall to less than half at larger messages."""

from nearpeak.appraisal.view import Effect, Reason, Rule, View, log
from nearpeak.numbers import number, size

LIMIT = 0.5  # of the best rate at smaller sizes
LEAST_GBS = 0.2


def find(view: View) -> Reason | None:
    """Compares the rate of the largest message with the best of all."""
    points = [] if view.figure.of_time or view.figure.matrix else view.figure.points
    if len(points) < 3:
        return None
    best, last = max(points, key=lambda point: point.gbs), points[-1]
    if best.gbs < LEAST_GBS or last.gbs >= LIMIT * best.gbs:
        return None
    first = next(
        point
        for point in points
        if point.size_bytes > best.size_bytes and point.gbs < LIMIT * best.gbs
    )
    # In one host, larger messages leave the caches.
    in_host = view.figure.on_hosts and not view.between
    why = "caches, or another protocol" if in_host else "another protocol, or loss"
    return Reason(
        f"falls from {number(best.gbs)} GB/s at {size(best.size_bytes)} to {number(first.gbs)} at"
        f" {size(first.size_bytes)}: {why}",
        log(view),
        effect=Effect.EXPLAINS if in_host else Effect.LOWERS,
    )


RULE = Rule(1, find, "rates that fall to less than half of their best at larger messages")
