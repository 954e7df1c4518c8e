# SPDX-License-Identifier: Apache-2.0
"""What the output of a launch says about its end."""

import re
import signal
from collections.abc import Iterable
from pathlib import Path

from nearpeak.numbers import printable

OWN = "nearpeak-"  # how what our programs say begins
SIGNALS = {int(one): one.name for one in signal.Signals}
# With which launchers end the other ranks: they tell nothing of what went wrong.
ENDING_OTHERS = (signal.SIGKILL, signal.SIGTERM)
FAULTS = (
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGSEGV,
)
_BY = "ended by "


def crash_words(code: int | None, log: Path) -> str:
    """How a launch crashed, by what its launcher says: the signal, else its exit status.

    A signal that the output names counts before the exit status, which may be that of another
    rank, but for the signals that launchers end the other ranks with.
    """
    named = _named(_lines(log))
    told = next((number for number in named if number not in ENDING_OTHERS), None)
    if told is None:
        # MPICH's launcher ends with the number itself, a shell and most launchers with 128 + it.
        said = {-number for number in SIGNALS} | {number + 128 for number in SIGNALS} | set(named)
        if code is None or code not in said:
            return f"exit status {code}: {last_words(log)}"
        told = abs(code) % 128
    words = last_words(log)
    return f"{_BY}{SIGNALS[told]}: {words if words.startswith(OWN) else named.get(told, words)}"


def cause(message: str) -> str:
    """What went wrong, of a message of `crash_words`: our program's own words, else the signal;
    "" where that is one with which launchers end ranks. Other messages are their own cause.

    Two launches of one fault differ in what their launchers say of it.
    """
    how, _, words = message.partition(": ")
    if words.startswith(OWN):
        return words
    if not how.startswith(_BY):
        return message
    name = how.removeprefix(_BY)
    return "" if name in [one.name for one in ENDING_OTHERS] else name


def without_addresses(message: str) -> str:
    """`buf=0x...`: what differs between any two launches of one fault."""
    return re.sub(r"\b0x[0-9a-fA-F]+", "0x...", message)


def fault(message: str) -> str:
    """A message without its numbers, the same for all that went wrong in one way: ranks, sizes,
    addresses and handles differ."""
    return re.sub(r"\b0x[0-9a-fA-F]+|\d+", "#", message)


def last_words(log: Path) -> str:
    """The line of a launch's output that tells most: our programs' own, else the last one."""
    words = _lines(log)
    own = [line for line in words if line.startswith(OWN)]
    return (own or words or ["it said nothing"])[-1][:300]


def _named(lines: Iterable[str]) -> dict[int, str]:
    """The signals that the output names, each with the line that does so first."""
    found: dict[int, str] = {}
    faults: dict[int, str] = {}
    for line in lines:
        for word in re.findall(r"\bsignal:?\s+(\d+)", line, re.IGNORECASE):
            if int(word) in SIGNALS:
                found.setdefault(int(word), line.lstrip("= ")[:300])
        # MPICH: how the process ended that was first to, by a signal if another is named at all.
        first = re.fullmatch(r"=\s+EXIT CODE:\s+(\d+)", line)
        if first and int(first[1]) % 128 in FAULTS:
            faults[int(first[1]) % 128] = line.lstrip("= ")
    return found | faults if found else {}


def _lines(log: Path) -> list[str]:
    """The lines with words at the end of a launch's output, without what steers a terminal."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 65536))
        lines = file.read().decode(errors="replace").splitlines()
    words = (printable(line.expandtabs().strip()) for line in lines)
    return [line for line in words if any(letter.isalnum() for letter in line)]
