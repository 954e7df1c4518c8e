# SPDX-License-Identifier: Apache-2.0
"""The one exception for bad input: one clear line that says what to do, and exit status 2."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can mend. The command line prints `nearpeak: MESSAGE` and exits with 2.

    The message is one line: what is wrong (naming the input), then what to do.
    """


def closest(wrong: str, right: Iterable[str]) -> str:
    """What to write in the place of a wrong name: `; did you mean 'x'?` when there is something
    alike, else a list of what there is."""
    there = list(right)
    if alike := difflib.get_close_matches(wrong, there, n=1):
        return f"; did you mean {alike[0]!r}?"
    return f"; there are: {', '.join(there)}" if there else "; there are none"
