# SPDX-License-Identifier: Apache-2.0
"""Text and tables on the terminal, with nothing in them that could steer it."""

import os
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nearpeak.numbers import printable

WIDTH_OF_A_FILE = 200  # columns, where output is no terminal and no width is given
UNLIMITED = 10_000  # columns of a terminal in which nothing is folded


class PlainConsole(Console):
    """Takes every string for plain text: no markup, no control characters but line ends.

    In a file or a pipe no line is wrapped and no table is cut, however wide it is.
    """

    def __init__(self, **options: Any) -> None:
        """`options`: as for rich's Console."""
        super().__init__(markup=False, highlight=False, emoji=False, **options)
        width_given = options.get("width") is not None or "COLUMNS" in os.environ
        self._whole = not self.is_terminal and not width_given
        if self._whole:
            self.width = WIDTH_OF_A_FILE
            self.soft_wrap = True

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints like rich's console; where nothing is cut, tables are as wide as their content."""
        before = self.width
        tables = [item for item in objects if isinstance(item, Table)] if self._whole else []
        self.width = max([before, *map(self.whole_width, tables)])
        super().print(*objects, **options)
        self.width = before

    def whole_width(self, table: Table) -> int:
        """Columns of a table in which nothing is folded."""
        unlimited = self.options.update(width=UNLIMITED)
        return self.measure(table, options=unlimited).maximum

    def render_str(self, text: str, **options: Any) -> Text:
        """Renders a printed string, or one in a table, without control characters."""
        return super().render_str(harmless(text), **options)


def harmless(text: str) -> str:
    """`text` in its lines, each as `printable` makes it; a tab is blanks."""
    return "\n".join(printable(line) for line in text.expandtabs().split("\n"))
