# SPDX-License-Identifier: Apache-2.0
"""A matrix whose pairs are unlike."""

from nearpeak.appraisal.figure import Figure
from nearpeak.appraisal.view import TOPOLOGY, Reason, Rule, View
from nearpeak.numbers import number

LIMIT = 0.75  # of the best pair


def lowest_is_far(figure: Figure) -> bool:
    """True if the lowest pair of a matrix is far behind its best."""
    return figure.matrix and figure.value < LIMIT * figure.best


def find(view: View) -> Reason | None:
    """Compares the lowest pair with the best."""
    figure = view.figure
    if not lowest_is_far(figure):
        return None
    return Reason(
        f"{' to '.join(figure.place.pair)} is the lowest pair, the best has"
        f" {number(figure.best)} GB/s: other links or sockets",
        TOPOLOGY,
    )


RULE = Rule(1, find, "a matrix whose lowest pair is below three quarters of its best")
