# SPDX-License-Identifier: Apache-2.0
"""Rates that still rise at the largest size, or a table of small sizes only."""

from nearpeak.appraisal.figure import LARGE_BYTES
from nearpeak.appraisal.view import Effect, Reason, Rule, View, again
from nearpeak.numbers import size

LIMIT = 1.1  # times the rate at half the size
OPTIONS = {"osu": "-m 1:67108864", "imb": "-msglog 26", "ucx_perftest": "-s 67108864"}


def find(view: View) -> Reason | None:
    """Compares the largest size with one of a quarter to half of it."""
    figure = view.figure
    if figure.of_time or figure.matrix:
        return None
    last = figure.points[-1]
    nearby = range(last.size_bytes // 4, last.size_bytes // 2 + 1)
    earlier = [point for point in figure.points if point.size_bytes in nearby]
    small = figure.message_bytes < LARGE_BYTES
    if not small and not (earlier and last.gbs >= LIMIT * earlier[-1].gbs):
        return None
    largest = size(figure.message_bytes)
    text = f"{largest} is too small for" if small else f"it still rises at {largest}, short of"
    return Reason(
        f"{text} the rate of the path",
        again(view, options=OPTIONS.get(figure.clues.tool, "")),
        effect=Effect.HIDES,
        missing="what it reaches at larger messages",
    )


RULE = Rule(4, find, "rates that still rise at the largest size, or sizes below 1 MiB only")
