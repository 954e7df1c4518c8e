# SPDX-License-Identifier: Apache-2.0
"""The exceptions for bad input: one clear line that says what to do, and an exit status."""

import difflib
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


class UserError(Exception):
    """An error that the user can fix. The command line prints `nearpeak: MESSAGE` and exits with
    status 2.

    The message is one line: what is wrong (naming the input), then what to do.
    """


class RefusedError(Exception):
    """Bad input that a program of Nearpeak refused. The line about it is printed; the command line
    exits with the program's `status`."""

    def __init__(self, status: int) -> None:
        super().__init__(f"its program ended with status {status}")
        self.status = status


def parsed(option: str, parser: Callable[[str], T], text: str) -> T:
    """The option's value; a UserError about it names the option."""
    try:
        return parser(text)
    except UserError as error:
        raise UserError(f"{option}: {error}") from None


def closest(wrong: str, right: Iterable[str]) -> str:
    """The end of a message about a wrong name: `; did you mean 'x'?` if one of the right names is
    similar, else a list of them."""
    names = list(right)
    if alike := difflib.get_close_matches(wrong, names, n=1):
        return f"; did you mean {alike[0]!r}?"
    return f"; there are: {', '.join(names)}" if names else "; there are none"
