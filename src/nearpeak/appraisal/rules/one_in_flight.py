# SPDX-License-Identifier: Apache-2.0
"""A rate worked out of latencies is that of one message in flight."""

from nearpeak.appraisal.figure import LARGE_BYTES
from nearpeak.appraisal.view import Reason, Rule, View, osu_buffers
from nearpeak.numbers import number, size


def find(view: View) -> Reason | None:
    """Works out the rate of the largest message."""
    figure = view.figure
    last = figure.points[-1]
    if not figure.of_time or figure.ranks != 2 or last.size_bytes < LARGE_BYTES:
        return None
    return Reason(
        f"{number(last.gbs)} GB/s at {size(last.size_bytes)} is of one message in flight",
        f"mpirun -n 2 osu_bw {osu_buffers(figure)}".rstrip(),
    )


RULE = Rule(8, find, "latencies of large messages, taken for a bandwidth")
