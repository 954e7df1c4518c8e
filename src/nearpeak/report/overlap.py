# SPDX-License-Identifier: Apache-2.0
"""Text about the overlap of communication and computation."""

from nearpeak.numbers import number, percent, spread, within
from nearpeak.results.results import Estimated, Overlap


def describe(overlap: Overlap) -> str:
    """`overlap 87.0 % [80.0, 92.0]: 10.1 µs of communication and 10.3 µs of computation took
    11.6 µs at once; the device's own work took 1.02 times as long meanwhile [1.01, 1.04]`."""
    hidden = overlap.hidden
    text = (
        f"overlap {percent(hidden.value)} % {spread(hidden.ci95, hidden.range, 100)}:"
        f" {number(overlap.communicate_us)} µs of communication and {number(overlap.compute_us)} µs"
        f" of computation took {number(overlap.both_us)} µs at once"
    )
    if slower := overlap.device_slowdown:
        text += (
            f"; the device's own work took {number(slower.value)} times as long meanwhile"
            f" {spread(slower.ci95, slower.range)}"
        )
    return text


def share(hidden: Estimated) -> str:
    """`overlap 87.0 % (80.0 to 92.0 %)`: in running text."""
    scaled = [_percent(bounds) for bounds in (hidden.ci95, hidden.range)]
    return f"overlap {percent(hidden.value)} % ({within(scaled[0], scaled[1])} %)"


def _percent(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if bounds is None else (100 * bounds[0], 100 * bounds[1])
