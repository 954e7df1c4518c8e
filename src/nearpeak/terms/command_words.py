# SPDX-License-Identifier: Apache-2.0
"""Checks names from any source before they become words of a command line.

Launchers and remote shells take a word that begins with `-` as an option, and some execute a word
with a `/`.
"""

import re

from nearpeak.errors import UserError

_HOST = re.compile(r"[A-Za-z0-9_.:][A-Za-z0-9_.:-]*")  # with the colons of IPv6
NOTHING = "-"  # instead of a device
_AXIS = re.compile(r"[a-z][a-z0-9_-]*")
# Options of the measuring programs that name files.
FILES = frozenset({"cases", "jsonl", "library", "rounds", "solution"})
PART = "+"  # begins another command line, measured in the same launch


def is_host(name: str) -> bool:
    """True if a word can only be the name or the address of a host."""
    return _HOST.fullmatch(name) is not None


def check_host(name: str) -> str:
    """Return the name of a host. UserError if it is not one."""
    if not is_host(name):
        raise UserError(
            f"{name!r} is not a host name: give letters, digits, `.`, `_`, `-` and `:`, with no `-`"
            " in front"
        )
    return name


def check_word(word: str) -> str:
    """Return a value of an option, or a name of a benchmark.

    UserError if it would be an option itself, or would begin another command line.
    """
    if word == PART or (word.startswith("-") and word != NOTHING):
        raise UserError(f"{word!r} would be an option of the program: start anew with -o")
    return word


def check_option(axis: str, value: str) -> list[str]:
    """Return the option that gives a program the value of an axis. UserError for an axis that no
    benchmark can have; errors as check_word."""
    if _AXIS.fullmatch(axis) is None or axis in FILES:
        raise UserError(f"{axis!r} is not an axis of a benchmark: start anew with -o")
    return [f"--{axis}", check_word(value)]
