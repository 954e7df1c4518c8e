# SPDX-License-Identifier: Apache-2.0
"""Progress of a run: a bar on a terminal, lines elsewhere; failures are lines on both."""

import sys
from collections.abc import Callable

import rich.progress

from nearpeak.console import PlainConsole
from nearpeak.libraries.library import Contender
from nearpeak.numbers import printable
from nearpeak.terms.trials import Outcome

EVERY = 50  # cases between two lines, where output is no terminal


class Progress:
    """Counts cases; a context manager."""

    def __init__(self, total: int, describe: Callable[[Outcome], str]) -> None:
        """`total`: cases that are left; `describe`: returns a line about how one ended."""
        self._total = total
        self._describe = describe
        self._done = 0
        self._bar = rich.progress.Progress(
            rich.progress.BarColumn(bar_width=16),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TextColumn("{task.description}", markup=False),
            console=PlainConsole(),
            disable=not sys.stdout.isatty(),
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def tell(self, contender: Contender, outcome: Outcome) -> None:
        """Shows that a case has ended."""
        self._done += 1
        case = outcome.case
        label = f"{contender.label}: {case.operation} {case.buffers} {case.allocator}"
        self._bar.update(self._task, completed=self._done, description=printable(label))
        if outcome.bad:
            self._bar.console.print(f"{contender.label}: {self._describe(outcome)}")
        elif not sys.stdout.isatty() and self._done % EVERY == 0:
            print(printable(f"{self._done} of {self._total}: {label}"), flush=True)
