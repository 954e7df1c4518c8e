# SPDX-License-Identifier: Apache-2.0
"""The one exception for bad input: one clear line that says what to do, and exit status 2."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """An error that the user can fix. The command line prints `nearpeak: MESSAGE` and exits with
    status 2.

    The message is one line: what is wrong (naming the input), then what to do.
    """


def closest(wrong: str, right: Iterable[str]) -> str:
    """The end of a message about a wrong name: `; did you mean 'x'?` if one of the right names is
    similar, else a list of them."""
    names = list(right)
    if alike := difflib.get_close_matches(wrong, names, n=1):
        return f"; did you mean {alike[0]!r}?"
    return f"; there are: {', '.join(names)}" if names else "; there are none"
