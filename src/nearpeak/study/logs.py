# SPDX-License-Identifier: Apache-2.0
"""What the output of a launch says about its end."""

import re
import signal
from pathlib import Path

from nearpeak.numbers import printable

OWN = "nearpeak-"  # how what our programs say begins


def crash_words(code: int | None, log: Path) -> str:
    """How a launch crashed: launchers name the signal in their output, or add 128 to it."""
    words = _lines(log)
    for line in words:
        if named := re.search(r"\bsignal:?\s+(\d+)", line, re.IGNORECASE):
            return f"ended by {_signal_name(int(named[1]))}: {line[:300]}"
    number = -code if code is not None and code < 0 else (code or 0) - 128
    how = f"ended by {_signal_name(number)}" if number > 0 else f"exit status {code}"
    return f"{how}: {last_words(log)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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
