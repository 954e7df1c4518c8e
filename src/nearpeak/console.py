# SPDX-License-Identifier: Apache-2.0
"""Text and tables on the terminal, with nothing in them that could steer it."""

from typing import Any

from rich.console import Console
from rich.text import Text

from nearpeak.numbers import printable


class PlainConsole(Console):
    """Takes every string for plain text: no markup, no control characters but line ends."""

    def __init__(self, **options: Any) -> None:
        """`options`: those of rich's Console."""
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """All that is printed as a string, and every string in a table, comes through here."""
        return super().render_str(harmless(text), **options)


def harmless(text: str) -> str:
    """`text` in its lines, each as `printable` makes it; a tab is blanks."""
    return "\n".join(printable(line) for line in text.expandtabs().split("\n"))
