# SPDX-License-Identifier: Apache-2.0
"""A library that was built for debugging."""

from nearpeak.appraisal.view import Reason, Rule, View


def find(view: View) -> Reason | None:
    """Looks for the library's own remark."""
    if not view.figure.clues.debug:
        return None
    return Reason("the library was built for debugging, as it says", "ucx_info -v", certain=True)


RULE = Rule(0, find, "a library that says that it was built for debugging")
