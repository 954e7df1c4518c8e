# SPDX-License-Identifier: Apache-2.0
"""The one exception for bad input: one clear line that says what to do, and exit status 2."""


class UserError(Exception):
    """Something the user can mend. The command line prints `nearpeak: MESSAGE` and exits with 2.

    The message is one line: what is wrong (naming the input), then what to do.
    """
