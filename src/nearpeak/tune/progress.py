# SPDX-License-Identifier: Apache-2.0
"""Progress of a search: a line for each value, and the share of the time that is left."""

import contextlib
import sys
from types import TracebackType

from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from nearpeak.console import PlainConsole
from nearpeak.numbers import printable


class Progress(contextlib.AbstractContextManager["Progress"]):
    """Lines on stderr; a bar on a terminal."""

    def __init__(self) -> None:
        console = PlainConsole(stderr=True)
        columns = (TextColumn("searching"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
        self._bar = Bar(*columns, console=console, disable=not sys.stderr.isatty())
        self._task = self._bar.add_task("", total=1.0)

    def tell(self, line: str) -> None:
        """Prints a line above the bar."""
        if self._bar.disable:
            print(printable(line), file=sys.stderr, flush=True)
        else:
            self._bar.console.print(printable(line))

    def tick(self, left: float) -> None:
        """Shows the share of the time that is left."""
        self._bar.update(self._task, completed=1.0 - max(0.0, left))

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
