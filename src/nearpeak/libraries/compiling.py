# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a compilation: a terminal has a line that counts."""

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from nearpeak.terms.sizes import format_seconds
from nearpeak.watch import watched

LOOK_SECONDS = 0.5
TELL_SECONDS = 30.0  # between two lines, where there is no terminal
_STEPS = re.compile(rb"^\[(\d+)/(\d+)\]", re.MULTILINE)  # as ninja counts them
_TAIL = 1 << 16  # bytes of the log in which the last count stands


def run_shown(
    names: str, commands: Iterable[list[str]], environment: Mapping[str, str], log: Path
) -> int:
    """Runs commands one after the other into `log` until one fails; its exit status, else 0.

    Meanwhile stderr shows the `names` that are compiled, the time and the progress; then the total
    time.
    """
    from rich.text import Text

    from nearpeak.console import PlainConsole, harmless

    begin = reported = time.monotonic()
    console = PlainConsole(stderr=True, soft_wrap=True)
    title = harmless(f"Compiling {names}")
    status = 0
    print(f"{title}: needed once, and takes a minute or more", file=sys.stderr, flush=True)
    with (
        console.status(Text("")) as line,
        log.open("wb") as output,
        watched.launch() as (marks, _),  # else a compiler would outlive a nearpeak that is killed
    ):
        for command in commands:
            with subprocess.Popen(
                command,
                env={**environment, **marks},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            ) as running:
                while (ended := _wait(running)) is None:
                    now = time.monotonic()
                    far = f"{_progress(log)}{format_seconds(now - begin)}"
                    line.update(Text(far))  # the title stands above it
                    if not console.is_terminal and now - reported >= TELL_SECONDS:
                        reported = now
                        print(f"{title}: {far}", file=sys.stderr, flush=True)
            if status := ended:
                break
    if not status:
        took = format_seconds(time.monotonic() - begin)
        print(f"Compiled {harmless(names)} in {took}", file=sys.stderr, flush=True)
    return status


def _wait(running: "subprocess.Popen[bytes]") -> int | None:
    """The exit status, if it comes soon."""
    try:
        return running.wait(LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _progress(log: Path) -> str:
    """`12 of 48 steps, `; nothing before the first."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL))
        counts = _STEPS.findall(file.read())
    return "{} of {} steps, ".format(*map(int, counts[-1])) if counts else ""
