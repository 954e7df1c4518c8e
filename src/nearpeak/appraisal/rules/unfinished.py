# SPDX-License-Identifier: Apache-2.0
"""A run that was cut off: larger sizes and the last check are missing."""

from nearpeak.appraisal.view import Reason, Rule, View, again


def find(view: View) -> Reason | None:
    """Looks for a program that crashed, or for an end that the output lacks."""
    if not view.figure.unfinished:
        return None
    return Reason("the run did not finish", again(view), certain=True)


RULE = Rule(9, find, "a run that did not finish")
