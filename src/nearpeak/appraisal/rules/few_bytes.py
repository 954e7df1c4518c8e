# SPDX-License-Identifier: Apache-2.0
"""perftest at its default of 64 KiB, with one queue pair, on a fast port."""

from nearpeak.appraisal.view import Effect, Reason, Rule, View, again

DEFAULT_BYTES = 65536


def find(view: View) -> Reason | None:
    """Looks at the only size."""
    figure = view.figure
    single = [point.size_bytes for point in figure.points] == [DEFAULT_BYTES]
    if figure.clues.tool != "perftest" or figure.of_time or not single:
        return None
    return Reason(
        "64 KiB on few queue pairs do not fill fast ports: larger messages or -q 4 may",
        again(view, options="-s 8388608 -q 4"),
        effect=Effect.HIDES,
        missing="what it reaches at larger messages",
    )


RULE = Rule(3, find, "perftest at 64 KiB only")
