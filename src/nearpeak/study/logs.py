# SPDX-License-Identifier: Apache-2.0
"""What the output of a launch says about its end."""

import re
import signal
from pathlib import Path

from nearpeak.numbers import printable

OWN = "nearpeak-"  # how what our programs say begins
SIGNALS = {int(one): one.name for one in signal.Signals}
ENDING_OTHERS = (signal.SIGKILL, signal.SIGTERM)


def crash_words(code: int | None, log: Path) -> str:
    """How a launch crashed, by what its launcher says: the signal, else its exit status.

    A signal that the output names counts before the exit status, which may be that of another
    rank, but for the signals that launchers end the other ranks with.
    """
    named = [
        (number, line)
        for line in _lines(log)
        for word in re.findall(r"\bsignal:?\s+(\d+)", line, re.IGNORECASE)
        if (number := int(word)) in SIGNALS
    ]
    for number, line in named:
        if number not in ENDING_OTHERS:
            return f"ended by {SIGNALS[number]}: {line[:300]}"
    # MPICH's launcher ends with the number itself, a shell and most launchers with 128 + it.
    said = {-number for number in SIGNALS} | {number + 128 for number in SIGNALS}
    said |= {number for number, _ in named}
    if code is None or code not in said:
        return f"exit status {code}: {last_words(log)}"
    return f"ended by {SIGNALS[abs(code) % 128]}: {last_words(log)}"


def last_words(log: Path) -> str:
    """The line of a launch's output that tells most: our programs' own, else the last one."""
    words = _lines(log)
    own = [line for line in words if line.startswith(OWN)]
    return (own or words or ["it said nothing"])[-1][:300]


def _lines(log: Path) -> list[str]:
    """The lines with words at the end of a launch's output, without what steers a terminal."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 65536))
        lines = file.read().decode(errors="replace").splitlines()
    words = (printable(line.expandtabs().strip()) for line in lines)
    return [line for line in words if any(letter.isalnum() for letter in line)]
