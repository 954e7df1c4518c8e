# SPDX-License-Identifier: Apache-2.0
"""A rate that falls at one size and recovers, or a time that jumps: the threshold of a protocol."""

from itertools import pairwise

from nearpeak.appraisal.view import Reason, Rule, View, log
from nearpeak.numbers import number, size

RATE, TIME = 0.75, 2.5  # of the rate before it; times the time before it, at twice the size
MOST_BYTES = 4 << 20
LEAST_BYTES, LEAST_GBS = 16 << 10, 0.2  # below both, and in small collectives, it is noise
LEAST_US = 2.0  # a jump below that is of the clock


def find(view: View) -> Reason | None:
    """Compares neighbouring sizes."""
    figure = view.figure
    if figure.matrix or len(figure.cells) < 4:
        return None
    if figure.of_time:
        pairs = [(a, b) for a, b in pairwise(figure.cells) if b.case.x <= 2 * a.case.x]
        jumps = [(b.median or 0.0) / (a.median or 1.0) for a, b in pairs]
        number_of = max(range(len(jumps)), key=lambda index: jumps[index], default=-1)
        if number_of < 0 or jumps[number_of] < TIME:
            return None
        a, b = pairs[number_of]
        if (b.median or 0) < LEAST_US or b.case.x > MOST_BYTES:
            return None
        return _threshold(
            view,
            f"{number(a.median)} µs at {size(a.case.x)} and {number(b.median)} at {size(b.case.x)}",
        )
    for one, other in pairwise(figure.points):
        steady = other.size_bytes >= LEAST_BYTES or (one.gbs >= LEAST_GBS and not figure.collective)
        falls = steady and other.gbs < RATE * one.gbs and other.size_bytes <= MOST_BYTES
        if falls and figure.points[-1].gbs > other.gbs / RATE:
            return _threshold(
                view,
                f"{number(one.gbs)} GB/s at {size(one.size_bytes)} and {number(other.gbs)} at"
                f" {size(other.size_bytes)}",
            )
    return None


def _threshold(view: View, text: str) -> Reason:
    return Reason(f"{text}: a protocol changes there", log(view))


RULE = Rule(6, find, "a dip of rates, or a jump of times, between neighbouring sizes")
